"""What can Dagster do besides materializing? `apply` what is missing, `promote` it, and extend prod day by day."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from backfill_assets.app.apply import Checked, Started, build_plan, check_plan, left_of_plan, not_promoted, start_apply
from backfill_assets.app.check_texts import problems
from backfill_assets.app.entity_sample import Sampled, sample_entities
from backfill_assets.app.estimate import estimate_plan
from backfill_assets.app.ledger_edits import declare_empty
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import Promoted, promote_plan
from backfill_assets.app.routine import extend
from backfill_assets.build.outcome import Outcome
from backfill_assets.compare.diff_text import old_side, row_line
from backfill_assets.core.wording import amount
from backfill_assets.defs.config import key_of
from backfill_assets.defs.diff import log_checked
from backfill_assets.defs.job import Launched, job, not_moved
from backfill_assets.defs.links import link_run
from backfill_assets.defs.names import run_tag
from backfill_assets.defs.next_words import promote_words, what_comes_next
from backfill_assets.defs.report import done_text, failure_text, held_text, log_outcome
from backfill_assets.defs.safe_log import Log, log_warnings
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.copied_text import copied_words
from backfill_assets.plan.entities import EntitySample, sample_of
from backfill_assets.plan.estimate_text import comparison, duration, saving
from backfill_assets.plan.faults import Fault
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.other_ways import other_ways
from backfill_assets.plan.request_parsing import days_of, reason_of
from backfill_assets.plan.scope_text import scope_words
from backfill_assets.plan.smallest_text import smallest_command, smallest_words
from backfill_assets.plan.stage_reasons import noted_of_complete
from backfill_assets.plan.stages import Promote
from backfill_assets.project.dagster_names import APPLY_STEP
from backfill_assets.promote.lifecycle import find_plan


@job(
    "apply",
    step=APPLY_STEP,
    description="Build and audit everything that is missing. Nothing is promoted.",
    tells=True,
)
def apply_job(run: Launched) -> None:
    """Plans, and builds and audits what the plan says. Nothing is promoted, unless its configuration says so."""
    context, config, request = run.context, run.config, run.request
    reason = reason_of(config["outside_windows"], "outside_windows")
    if config["empty"]:
        for name, ranges in declare_empty(context, request).items():
            run.log.info(f"{name}: {ranges} declared complete without rows")
        return
    size = sample_of(config["sample"], config["by"], key_of)
    hold = context.hold(regardless=reason, waits=not config["no_wait"])
    if isinstance(size, EntitySample):
        _log_sampled(run, sample_entities(context, request, size, hold=hold, follow=run.follow))
        return
    only = [days_of(text, "only: ") for text in config["only"]]
    started = start_apply(context, request, sample=size, only=only)
    _log_started(run, started)
    built = build_plan(context, started, run=run.name, follow=run.follow, hold=hold)
    if built.candidate:
        run.log.info(f"what is complete can be looked at in the environment {built.candidate.name}")
    for name, outcome in built.carried.outcomes.items():
        if _is_loaded(run, name, outcome):
            log_outcome(context, run.step, context.project.models[name], outcome)
        elif outcome.ok:  # partitions are of the version itself, a restatement lies over it
            run.log.info(
                f"{name}: {done_text(context.project, context.project.models[name], outcome)}, in {outcome.version}"
            )
    checked = check_plan(context, built)
    log_checked(context.project, run.step, checked)
    if built.carried.outcomes:
        run.log.info(comparison(started.estimate, built.actual))
        if built.all_green and not started.sample and (less := saving(started.estimate, built.actual)):
            run.log.info(less)
    bad = [held_text(built.held, goes_on=built.goes_on)] if built.held else []
    bad += [
        failure_text(context.project, context.project.models[n], o)
        for n, o in built.carried.outcomes.items()
        if not o.ok
    ]
    bad += problems(checked.texts, context.project)
    waits = [f"{b.model}: {b.intervals} waits for {b.upstream}: {b.needs}" for b in started.plan.blocked]
    if not bad:
        _log_next(run, started, checked)
    if bad or waits:
        unmoved = [not_promoted(built, checked)] if config["promote"] else []
        raise dg.Failure(description="\n\n".join([*bad, *waits, *unmoved]), allow_retries=False)
    if started.sample:
        rest = estimate_plan(context, plan_request(context, request, facts=built.facts))
        for stage in rest.stages:
            takes = stage.takes.seconds
            time = duration(takes.low, takes.high) if takes else "nobody knows how long"
            run.log.info(f"{stage.model}: the other {amount(stage.count, stage.cadence)}: {time}")
    if config["promote"]:
        _log_promoted(run, promote_plan(context, started.to_promote, plan=started.by_plan))


def _log_next(run: Launched, started: Started, checked: Checked) -> None:
    """What comes after a run that built all it could; nothing where it promotes by itself."""
    if command := left_of_plan(run.context, started):
        run.log.info(f"more of the plan is missing: launch this without only, or {command}")
    elif started.stored and not run.config["promote"] and any(isinstance(s, Promote) for s in started.plan.stages):
        record = find_plan(run.context.control, started.stored)
        run.log.info(f"plan {record.id}: {what_comes_next(run.context, record, checked.proved.in_the_way)}")


@job(
    "routine",
    step="extend_{environment}",
    description="Extend what {environment} shows, by the published versions, and publish it.",
    # of queued runs it goes first, where there are windows
    tags=lambda context: {"dagster/priority": "1"} if context.project.settings.windows else {},
    tells=True,
)
def routine_job(run: Launched) -> None:
    """Extends what the environment shows, by the published versions, and publishes what is green."""
    done = extend(run.context, run=run.name, follow=run.follow)
    for name, outcome in done.carried.outcomes.items():
        if _is_loaded(run, name, outcome):
            log_outcome(run.context, run.step, run.context.project.models[name], outcome)
    for name, part in done.settled.replaced.items():
        run.log.info(f"{name}: {part} is provisional and was built again, as its sources changed")
    for cut in done.carried.plan.cut_off:
        run.log.info(cut.words)
    log_warnings(run.log, done.odd)
    _log_faults(run.log, done.promoted.stale)
    run.report_views()
    if held := done.held:
        raise dg.Failure(description="\n\n".join(map(str, held)), allow_retries=False)


def routine_schedule(job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Every morning, once somebody turned it on: extending prod by itself is a decision."""
    return dg.ScheduleDefinition(
        job=job,
        cron_schedule="0 6 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Extend and publish what is shown, by the published versions. Off until somebody turns it on.",
    )


@job(
    "promote",
    step="point_{environment}",
    description="Make {environment} show what is complete, all models in one commit.",
    tells=True,
)
def promote_job(run: Launched) -> None:
    """Moves the environment to what is complete, all models in one commit; fails when anything is in the way."""
    _log_promoted(run, promote_plan(run.context, run.request, plan=run.said.get("plan", "")))


def _is_loaded(run: Launched, name: str, outcome: Outcome) -> bool:
    """Whether what was built is of the version that the files are of, whose partitions Dagster shows."""
    return name in run.context.project.models and outcome.version == run.context.project.fingerprints[name]


def _log_sampled(run: Launched, done: Sampled) -> None:
    log, diff = run.log, done.compared.diff
    for sentence in done.words:
        log.warning(sentence)
    for model in diff.models:
        log.info(f"{model.model}, {old_side(model, diff.old)} → {diff.new}: {row_line(model)}")


def _log_faults(log: Log, faults: Sequence[Fault]) -> None:
    for fault in faults:
        log.warning(str(fault))


def _log_started(run: Launched, started: Started) -> None:
    """What is known before anything is built; the run is tagged with the stored plan."""
    plan, log, models = started.whole, run.log, run.context.project.models
    if not plan.work:
        log.info("nothing to do: all that can be built is complete; no Spark session was opened")
        for said in noted_of_complete(plan.kept):
            log.info(said)
    _log_amendment(log, started.amendment)
    for sentence in (*scope_words(started.plan), *copied_words(started.plan, models)):
        log.info(sentence)
    for sentence in frozen_words(plan):
        log.warning(sentence)
    for obstacle in (*started.ahead, *started.gaps):
        log.warning(f"this can be built, but not be shown then: {obstacle}")
    log_warnings(log, plan.warnings)
    for sentence in started.notes:
        log.warning(sentence)
    for sentence in smallest_words(plan, models, started.estimate):
        log.info(sentence)
    if started.maintenance:
        log.info(started.maintenance.sentence)
    if command := smallest_command(plan):
        log.info(f"instead: {command}")
    for other in other_ways(plan, models):
        log.info(f"{other.words} {other.command}")
    if less := saving(started.estimate):
        log.info(less)
    for found in plan.rewired:
        log.info(f"{found.model}: {found.text}")
    if started.stored:
        instance = run.step.instance
        instance.add_run_tags(run.step.run_id, {run_tag(run.context.project, "plan"): started.stored})
        link_run(instance, run.step.run, f"plan {started.stored} on the reviewer's page", "plan", started.stored)


def _log_amendment(log: Log, amendment: Amendment | None) -> None:
    for sentence in amendment.words if amendment else ():
        log.warning(sentence)


def _log_promoted(run: Launched, done: Promoted) -> None:
    """What moved, to Dagster; fails with everything that is in the way."""
    _log_amendment(run.log, done.amendment)
    if not done.verdict.open:
        raise not_moved(run.context, done.verdict.obstacles)
    if not done.verdict.pointers:
        run.log.info(f"{run.context.environment} shows everything already; nothing was moved")
    for one in done.waiting:
        run.log.info(one.waits(promote_words(run.context, one.plan)))
    _log_faults(run.log, done.stale)
    for sentence in (*done.left_words, *map(str, done.late), *(f"audits: {warned}" for warned in done.warned)):
        run.log.warning(sentence)
    run.report_views()
