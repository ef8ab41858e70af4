"""What can Dagster do besides materializing? `apply` what is missing, `promote` it, and extend prod day by day."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg
from pydantic import Field

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.app.check_texts import check_texts
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
from backfill_assets.plan.options import check_options
from backfill_assets.plan.rewritten import REMEDY
from backfill_assets.plan.stages import Request


class Asked(dg.Config):
    """What a run is about: the options of `backfill apply`. Nothing: all that is missing."""

    select: list[str] = Field(default=[], description="Names; +name: and upstream, name+: and downstream.")
    start: str | None = Field(default=None, description="First day of the range.")
    end: str | None = Field(default=None, description="Last day, included.")
    restate: list[str] = Field(
        default=[], description="Published days to compute again, beside them: model:2024-03-01..2024-03-04."
    )
    forward_only: str | None = Field(default=None, description="The day from which on changed models get new logic.")
    ignore_cron: bool = Field(default=False, description="Include the interval that is not over yet.")
    why: str | None = Field(default=None, description="What the change is for: kept with the plan, told to all.")

    def request(self) -> Request:
        """The request. Raises UsageError for what is no day, and for options that do not go together."""
        check_options("apply", _given(self), _key)
        return request_of(
            select=self.select,
            start=self.start,
            end=self.end,
            restate=self.restate,
            forward_only=self.forward_only,
            ignore_cron=self.ignore_cron,
            why=self.why,
            spell=_key,
        )


def _given(config: dg.Config) -> list[str]:
    """The options that a configuration gives, by the names that they have on the command line."""
    return [name.replace("_", "-") for name, value in config.model_dump().items() if value]


def _key(option: str) -> str:
    return option.replace("-", "_")


def apply_job(workspace: Workspace) -> dg.JobDefinition:
    """Plans, and builds and audits what the plan says. Nothing is promoted."""

    @dg.op(name="build_what_is_missing", out=dg.Out(dg.Nothing))
    def build_missing(context: dg.OpExecutionContext, config: Asked) -> None:
        place = acting(workspace, context.run)
        with short_failures():
            require_lasting(context.instance)
            plan = place.plan(config.request())
            if not plan.work:
                Log(context).info("nothing to do: all that can be built is complete; no Spark session was opened")
            for found in plan.rewired:
                Log(context).info(f"{found.model}: {found.text}")
            if opened := place.open_plan(plan):
                context.instance.add_run_tags(context.run_id, {PLAN_TAG: opened.plan.id})
            bench = place.bench(
                plan.sources,
                patches=plan.patches,
                run=run_name(context.run),
                listen=tell(Log(context).info, Log(context).warning),
            )
            outcomes = apply(bench, plan) if plan.work else {}
            texts = check_texts(place, plan)
            if opened and (candidate := place.show_candidate(opened.plan.id)):
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
        bad += [
            f"{c.model}: the loaded text differs from version {c.version}: {c.error or c.differ}\n  fix: {REMEDY}"
            for c in texts
            if not c.equal
        ]
        bad += [f"{b.model}: {b.intervals} waits for {b.upstream}: {b.needs}" for b in plan.blocked]
        if bad:
            raise dg.Failure(description="\n\n".join(bad), allow_retries=False)

    @dg.job(name="apply", description="Build and audit everything that is missing. Nothing is promoted.")
    def apply_everything() -> None:
        build_missing()

    return apply_everything


def routine_job(workspace: Workspace) -> dg.JobDefinition:
    """Extends what the environment shows, by the published versions, and publishes what is green."""
    environment = workspace.environment

    @dg.op(name=f"extend_{environment}", out=dg.Out(dg.Nothing))
    def extend(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            place = acting(workspace, context.run).published()
            plan = place.plan()
            bench = place.bench(
                plan.sources, run=run_name(context.run), listen=tell(Log(context).info, Log(context).warning)
            )
            outcomes = apply(bench, plan) if plan.work else {}
            _, _, held = place.promote_green()
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


class Chosen(dg.Config):
    """What is promoted. Nothing: all that is complete."""

    plan: str = Field(default="", description="What this plan built: its id, or the beginning of it.")
    select: list[str] = Field(default=[], description="Names; +name: and upstream, name+: and downstream.")


def promote_job(workspace: Workspace) -> dg.JobDefinition:
    """Moves the environment to what is complete, all models in one commit; fails when anything is in the way."""
    environment = workspace.environment

    @dg.op(name=f"point_{environment}", out=dg.Out(dg.Nothing))
    def point(context: dg.OpExecutionContext, config: Chosen) -> None:
        with short_failures():
            require_lasting(context.instance)
            check_options("promote", ["PLAN" if name == "plan" else name for name in _given(config)], _key)
            chosen = request_of(select=config.select, spell=_key)
            _, verdict = acting(workspace, context.run).promote(chosen, plan=config.plan)
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
