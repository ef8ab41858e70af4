"""What can Dagster do besides materializing? `apply` what is missing, `promote` it, and extend prod day by day."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

from collections.abc import Mapping
from typing import Any

import dagster as dg

from backfill_assets.app.candidate import open_plan, show_candidate
from backfill_assets.app.check_texts import check_texts, problems
from backfill_assets.app.context import Context
from backfill_assets.app.gate import obstacles_ahead
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import promote_green, published_context
from backfill_assets.build.apply import apply
from backfill_assets.defs.diff import log_proofs
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.report import done_text, failure_text, log_outcome
from backfill_assets.defs.runs import PLAN_TAG, run_name, tell
from backfill_assets.defs.texts import Log
from backfill_assets.plan.asked import request_of
from backfill_assets.plan.frozen_words import frozen_words
from backfill_assets.plan.options import check_options
from backfill_assets.plan.request_options import REQUEST_OPTIONS, WHY, Option
from backfill_assets.plan.stages import Request

_FIELDS = {str: dg.Noneable(str), bool: bool, list: dg.Array(str)}
_DEFAULTS = {str: None, bool: False, list: []}


def fields(*options: Option) -> dict[str, dg.Field]:
    """Options as the fields of a job's configuration: the same as those of the command."""
    return {
        option.key: dg.Field(_FIELDS[option.kind], default_value=_DEFAULTS[option.kind], description=option.help)
        for option in options
    }


def asked(command: str, config: Mapping[str, Any]) -> Request:
    """What a job's configuration asks for, as `command` reads it; what is empty is not given.

    Raises UsageError for what is no day, and for options that do not go together.
    """
    given = {key: value for key, value in config.items() if value not in (None, False, [], "")}
    check_options(command, [key.upper() if key == "plan" else key.replace("_", "-") for key in given], _key)
    return request_of(**{key: value for key, value in given.items() if key != "plan"}, spell=_key)


def _key(option: str) -> str:
    return option.replace("-", "_")


def apply_job(workspace: Context) -> dg.JobDefinition:
    """Plans, and builds and audits what the plan says. Nothing is promoted."""

    @dg.op(name="build_what_is_missing", out=dg.Out(dg.Nothing), config_schema=fields(*REQUEST_OPTIONS, WHY))
    def build_missing(context: dg.OpExecutionContext) -> None:
        place = acting(workspace, context.run)
        with short_failures():
            require_lasting(context.instance)
            plan = plan_request(place, asked("apply", context.op_config))
            if not plan.work:
                Log(context).info("nothing to do: all that can be built is complete; no Spark session was opened")
            for sentence in frozen_words(plan, place.project.models):
                Log(context).warning(sentence)
            for obstacle in obstacles_ahead(place, plan):
                Log(context).warning(f"this can be built, but not be shown then: {obstacle}")
            for found in plan.rewired:
                Log(context).info(f"{found.model}: {found.text}")
            if opened := open_plan(place, plan):
                context.instance.add_run_tags(context.run_id, {PLAN_TAG: opened.plan.id})
            bench = place.bench(
                plan.sources,
                patches=plan.patches,
                frozen=plan.continued.frozen,
                run=run_name(context.run),
                listen=tell(Log(context).info, Log(context).warning),
            )
            outcomes = apply(bench, plan) if plan.work else {}
            texts = check_texts(place, plan)
            if opened and (candidate := show_candidate(place, opened.plan.id)):
                Log(context).info(f"what is complete can be looked at in the environment {candidate.name}")
        for name, outcome in outcomes.items():
            model = workspace.project.models[name]
            if outcome.version == workspace.project.fingerprints[name]:
                log_outcome(workspace, context, model, outcome)
            elif outcome.ok:  # partitions are of the version itself, a restatement lies over it
                Log(context).info(f"{name}: {done_text(model, outcome)}, in {outcome.version}")
        if opened and all(o.ok for o in outcomes.values()):
            log_proofs(place, context, opened.plan.id, plan)
        bad = [failure_text(workspace.project.models[name], o) for name, o in outcomes.items() if not o.ok]
        bad += problems(texts)
        bad += [f"{b.model}: {b.intervals} waits for {b.upstream}: {b.needs}" for b in plan.blocked]
        if bad:
            raise dg.Failure(description="\n\n".join(bad), allow_retries=False)

    @dg.job(name="apply", description="Build and audit everything that is missing. Nothing is promoted.")
    def apply_everything() -> None:
        build_missing()

    return apply_everything


def routine_job(workspace: Context) -> dg.JobDefinition:
    """Extends what the environment shows, by the published versions, and publishes what is green."""
    environment = workspace.environment

    @dg.op(name=f"extend_{environment}", out=dg.Out(dg.Nothing))
    def extend(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            place = published_context(acting(workspace, context.run))
            plan = plan_request(place, resume=False)
            bench = place.bench(
                plan.sources, run=run_name(context.run), listen=tell(Log(context).info, Log(context).warning)
            )
            outcomes = apply(bench, plan) if plan.work else {}
            _, _, held = promote_green(place)
        for name, outcome in outcomes.items():
            if name in workspace.project.models and outcome.version == workspace.project.fingerprints[name]:
                log_outcome(workspace, context, workspace.project.models[name], outcome)
        for event in unreported_views(workspace, context.instance):
            context.log_event(event)
        if held:
            raise dg.Failure(description="\n\n".join(map(str, held)), allow_retries=False)

    @dg.job(name="routine", description=f"Extend what {environment} shows, by the published versions, and publish it.")
    def routine() -> None:
        extend()

    return routine


def routine_schedule(job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Every morning, once somebody turned it on: extending prod by itself is a decision."""
    return dg.ScheduleDefinition(
        job=job,
        cron_schedule="0 6 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Extend and publish what is shown, by the published versions. Off until somebody turns it on.",
    )


PLAN = Option(name="plan", help="What this plan built: its id, or the beginning of it.")


def promote_job(workspace: Context) -> dg.JobDefinition:
    """Moves the environment to what is complete, all models in one commit; fails when anything is in the way."""
    environment = workspace.environment

    @dg.op(name=f"point_{environment}", out=dg.Out(dg.Nothing), config_schema=fields(PLAN, *REQUEST_OPTIONS))
    def point(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            request, plan = asked("promote", context.op_config), context.op_config["plan"] or ""
            _, verdict = promote_plan(acting(workspace, context.run), request, plan=plan)
        if not verdict.open:
            listed = "\n".join(map(str, verdict.obstacles))
            raise dg.Failure(
                description=f"{environment} was not moved; in the way:\n{listed}",
                metadata={"obstacles": len(verdict.obstacles)},
                allow_retries=False,
            )
        if not verdict.pointers:
            Log(context).info(f"{environment} shows everything already; nothing was moved")
        for event in unreported_views(workspace, context.instance):
            context.log_event(event)

    @dg.job(name="promote", description=f"Make {environment} show what is complete, all models in one commit.")
    def promote_everything() -> None:
        point()

    return promote_everything
