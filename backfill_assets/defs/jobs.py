"""What can Dagster do besides materializing? `apply` what is missing, `promote` it, and extend prod day by day."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg

from backfill_assets.app.apply import Started, build_started, check_built, promote_applied, start_apply
from backfill_assets.app.check_texts import problems
from backfill_assets.app.context import Context
from backfill_assets.app.entity_sample import Sampled, sample_entities
from backfill_assets.app.estimate import estimate_plan
from backfill_assets.app.ledger_edits import declare_empty
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import Promoted, promote_plan
from backfill_assets.app.routine import extend
from backfill_assets.compare.diff_text import row_line
from backfill_assets.core.wording import amount
from backfill_assets.defs.config import asked, config_fields, key_of
from backfill_assets.defs.diff import log_checked
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.report import done_text, failure_text, held_text, log_outcome
from backfill_assets.defs.runs import PLAN_TAG, following, run_name
from backfill_assets.defs.safe_log import Log
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.entities import EntitySample, sample_of
from backfill_assets.plan.estimate_text import comparison, duration, saving
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.request_parsing import reason_of
from backfill_assets.plan.scope_text import scope_words
from backfill_assets.plan.smallest_text import smallest_command, smallest_words


def apply_job(workspace: Context) -> dg.JobDefinition:
    """Plans, and builds and audits what the plan says. Nothing is promoted, unless its configuration says so."""

    @dg.op(name="build_what_is_missing", out=dg.Out(dg.Nothing), config_schema=config_fields("apply"))
    def build_missing(context: dg.OpExecutionContext) -> None:
        place, config = acting(workspace, context.run), context.op_config
        with short_failures():
            require_lasting(context.instance)
            request, reason = asked("apply", config), reason_of(config["outside_windows"], "outside_windows")
            if config["empty"]:
                for name, ranges in declare_empty(place, request).items():
                    Log(context).info(f"{name}: {ranges} declared complete without rows")
                return
            size = sample_of(config["sample"], config["by"], key_of)
            hold = place.hold(regardless=reason, waits=not config["no_wait"])
            if isinstance(size, EntitySample):
                _log_sampled(context, sample_entities(place, request, size, hold=hold))
                return
            started = start_apply(place, request, sample=size)
            _log_started(context, place, started)
            built = build_started(place, started, run=run_name(context.run), follow=following(context), hold=hold)
            if built.candidate:
                Log(context).info(f"what is complete can be looked at in the environment {built.candidate.name}")
        for name, outcome in built.carried.outcomes.items():
            model = workspace.project.models[name]
            if outcome.version == workspace.project.fingerprints[name]:
                log_outcome(workspace, context, model, outcome)
            elif outcome.ok:  # partitions are of the version itself, a restatement lies over it
                Log(context).info(f"{name}: {done_text(model, outcome)}, in {outcome.version}")
        with short_failures():
            checked = check_built(place, built)
        log_checked(context, checked)
        if built.carried.outcomes:
            Log(context).info(comparison(started.estimate, built.actual))
            if built.complete and not started.sample and (less := saving(started.estimate, built.actual)):
                Log(context).info(less)
        bad = [held_text(built.held, goes_on=built.goes_on)] if built.held else []
        bad += [failure_text(workspace.project.models[n], o) for n, o in built.carried.outcomes.items() if not o.ok]
        bad += problems(checked.texts)
        bad += [f"{b.model}: {b.intervals} waits for {b.upstream}: {b.needs}" for b in started.plan.blocked]
        if bad:
            raise dg.Failure(description="\n\n".join(bad), allow_retries=False)
        if started.sample:
            with short_failures():
                rest = estimate_plan(place, plan_request(place, request, facts=built.facts))
            for stage in rest.stages:
                takes = stage.takes.seconds
                time = duration(takes.low, takes.high) if takes else "nobody knows how long"
                Log(context).info(f"{stage.model}: the other {amount(stage.count, stage.cadence)}: {time}")
        if config["promote"]:
            with short_failures():
                done = promote_applied(place, started)
            _log_promoted(context, workspace, done)

    @dg.job(name="apply", description="Build and audit everything that is missing. Nothing is promoted.")
    def apply_everything() -> None:
        build_missing()

    return apply_everything


def routine_job(workspace: Context) -> dg.JobDefinition:
    """Extends what the environment shows, by the published versions, and publishes what is green."""
    environment = workspace.environment

    @dg.op(name=f"extend_{environment}", out=dg.Out(dg.Nothing))
    def extend_environment(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            done = extend(acting(workspace, context.run), run=run_name(context.run), follow=following(context))
        for name, outcome in done.carried.outcomes.items():
            if name in workspace.project.models and outcome.version == workspace.project.fingerprints[name]:
                log_outcome(workspace, context, workspace.project.models[name], outcome)
        for name, part in done.settled.replaced.items():
            Log(context).info(f"{name}: {part} is provisional and was built again, as its sources changed")
        for event in unreported_views(workspace, context.instance):
            context.log_event(event)
        if held := done.held:
            raise dg.Failure(description="\n\n".join(map(str, held)), allow_retries=False)

    @dg.job(
        name="routine",
        description=f"Extend what {environment} shows, by the published versions, and publish it.",
        tags={"dagster/priority": "1"} if workspace.project.settings.windows else {},  # of queued runs it goes first
    )
    def routine() -> None:
        extend_environment()

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


def promote_job(workspace: Context) -> dg.JobDefinition:
    """Moves the environment to what is complete, all models in one commit; fails when anything is in the way."""
    environment = workspace.environment

    @dg.op(name=f"point_{environment}", out=dg.Out(dg.Nothing), config_schema=config_fields("promote"))
    def point(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            request, plan = asked("promote", context.op_config), context.op_config["plan"] or ""
            done = promote_plan(acting(workspace, context.run), request, plan=plan)
        _log_promoted(context, workspace, done)

    @dg.job(name="promote", description=f"Make {environment} show what is complete, all models in one commit.")
    def promote_everything() -> None:
        point()

    return promote_everything


def _log_sampled(context: dg.OpExecutionContext, done: Sampled) -> None:
    log, diff = Log(context), done.compared.diff
    for sentence in done.words:
        log.warning(sentence)
    for model in diff.models:
        log.info(f"{model.model}, {diff.old} → {diff.new}: {row_line(model)}")


def _log_started(context: dg.OpExecutionContext, place: Context, started: Started) -> None:
    """What is known before anything is built; the run is tagged with the stored plan."""
    plan, log = started.whole, Log(context)
    if not plan.work:
        log.info("nothing to do: all that can be built is complete; no Spark session was opened")
    _log_amendment(log, started.amendment)
    for sentence in (*scope_words(started.plan), *copied_words(started.plan, place.project.models)):
        log.info(sentence)
    for sentence in frozen_words(plan, place.project.models):
        log.warning(sentence)
    for obstacle in started.ahead:
        log.warning(f"this can be built, but not be shown then: {obstacle}")
    for sentence in smallest_words(plan, place.project.models, started.estimate):
        log.info(sentence)
    if started.maintenance:
        log.info(started.maintenance.sentence)
    if command := smallest_command(plan):
        log.info(f"instead: {command}")
    if less := saving(started.estimate):
        log.info(less)
    for found in plan.rewired:
        log.info(f"{found.model}: {found.text}")
    if started.stored:
        context.instance.add_run_tags(context.run_id, {PLAN_TAG: started.stored})


def _log_amendment(log: Log, amendment: Amendment | None) -> None:
    for sentence in amendment.words if amendment else ():
        log.warning(sentence)


def _log_promoted(context: dg.OpExecutionContext, workspace: Context, done: Promoted) -> None:
    """What moved, to Dagster; fails with everything that is in the way."""
    _log_amendment(Log(context), done.amendment)
    if not done.verdict.open:
        listed = "\n".join(map(str, done.verdict.obstacles))
        raise dg.Failure(
            description=f"{workspace.environment} was not moved; in the way:\n{listed}",
            metadata={"obstacles": len(done.verdict.obstacles)},
            allow_retries=False,
        )
    if not done.verdict.pointers:
        Log(context).info(f"{workspace.environment} shows everything already; nothing was moved")
    for event in unreported_views(workspace, context.instance):
        context.log_event(event)
