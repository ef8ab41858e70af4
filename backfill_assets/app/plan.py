"""What would be done, and what is open already? A plan of what has to be done now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backfill_assets.adapters.resuming import as_restated, how_read, resumed
from backfill_assets.app.batches import with_measured_batches
from backfill_assets.app.context import Context
from backfill_assets.compare.expect import expectations
from backfill_assets.compare.filling import expected_filling
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pin import Pins
from backfill_assets.plan.away import refuse_away
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faulty import refuse_faulty
from backfill_assets.plan.frozen import Continued
from backfill_assets.plan.leases import Again, Claim, ParallelPlan
from backfill_assets.plan.odd_files import odd_files
from backfill_assets.plan.offered import with_smallest
from backfill_assets.plan.plan import by_now, make_plan
from backfill_assets.plan.stages import Build, Plan, PlanWarning, Request
from backfill_assets.plan.stored import stored_plan, stored_request
from backfill_assets.plan.uncovered import Uncovered, uncovered
from backfill_assets.plan.unknown_days import unknown_days
from backfill_assets.promote.lifecycle import find_plan, read_claim
from backfill_assets.promote.overtaken import refuse_overtaken
from backfill_assets.promote.planned import refuse_other_code
from backfill_assets.state.plans import PlanRecord


def plan_request(
    context: Context, request: Request | None = None, *, facts: Facts | None = None, resume: bool = True
) -> Plan:
    """What has to be done now, by `facts` or as they are read here; what is left of open plans reads sources as these
    froze them, if `resume`.

    Raises PlanError when a source cannot be read so any more, UsageError for an expectation of what nobody knows,
    ProjectError for models that cannot be computed as their sources are by now.
    """
    request = request or Request()
    refuse_faulty(context.project, request)
    expectations(context.project.column_names, request.expect_moved, request.expect_unmoved)
    expected_filling(request.expect_filled, context.project.column_names)
    facts, found = facts or context.facts(every_version=request.all_versions), Continued()
    if resume and request.restate:
        facts, found = as_restated(context.project, context.control, context.pins, facts, request)
    plan = replace(make_plan(context.project, facts, request), continued=found)
    refuse_away(plan, facts)
    plan = with_smallest(context.project, facts, plan) if resume else plan
    if not plan.work:
        return plan
    claim = claim_of(context, plan) if resume else Claim()
    if resume and not request.restate:
        plan = resumed(context.project, context.control, context.pins, plan, claim)
    unknown = unknown_days(context.project, plan, context.source_days(plan.sources))
    plan = replace(plan, warnings=(*plan.warnings, *find_odd_files(context, plan), *unknown))
    return with_measured_batches(context, facts, plan, claim)


def plan_by_now(context: Context, facts: Facts, record: PlanRecord) -> Plan:
    """A stored plan, against what is shown by now. The first release did not say which models it was about: what its
    request would do now. Raises PlanError when the loaded code is not the plan's."""
    refuse_other_code(context.project, facts, record)
    stored = stored_plan(context.control, record.id)
    refuse_overtaken(facts.environment, record, stored)
    if stored and stored.models:
        return by_now(context.project, facts, stored)
    return make_plan(context.project, facts, stored_request(context.control, record.id))


def continued_reads(context: Context, plan: str, model: str, intervals: Ranges, pins: Pins) -> Continued:
    """How these intervals of a model are read, which are built for a stored plan. `pins`: the sources otherwise."""
    record = find_plan(context.control, plan)
    left = {model: (context.project.fingerprints[model], intervals)}
    return how_read(context.project, context.control, context.pins, [record] if record.live else [], left, pins)


def find_uncovered(context: Context, plan: Plan) -> tuple[Uncovered, ...]:
    """Where sources have no rows for what the plan builds, as far as files say."""
    return uncovered(context.project, plan, context.source_days(plan.sources))


def find_odd_files(context: Context, plan: Plan) -> tuple[PlanWarning, ...]:
    """Columns that files lack, or have as another type, of what the plan's builds read."""
    building = {stage.model for stage in plan.stages if isinstance(stage, Build)}
    read = {u.name for name in building for u in context.project.models[name].upstreams}
    pins = {name: pin for name, pin in plan.sources.items() if name in read}
    return odd_files(context.project, plan, context.file_columns(pins))


def claim_of(context: Context, plan: Plan) -> Claim:
    """How the plan stands to those that are open: which it continues, replaces or collides with."""
    return read_claim(context.control, plan, by=context.user, code=context.project.fingerprints)


def with_again(context: Context, beside: Sequence[ParallelPlan], facts: Facts) -> tuple[ParallelPlan, ...]:
    """The plans that are open beside one, with what the request of each gives by the loaded code."""
    return tuple(one if one.moves else replace(one, again=_again(context, one, facts)) for one in beside)


def _again(context: Context, beside: ParallelPlan, facts: Facts) -> Again:
    try:
        if beside.request.restate:
            facts, _ = as_restated(context.project, context.control, context.pins, facts, beside.request)
        claim = claim_of(context, make_plan(context.project, facts, beside.request))
    except BackfillError:  # such as a model that the code does not have any more
        return Again.ANOTHER
    if claim.continues and claim.continues.id == beside.plan.id:
        return Again.CONTINUES
    return Again.REPLACES if any(old.id == beside.plan.id for old in claim.supersedes) else Again.ANOTHER


def worded(context: Context, plan: Plan, claim: Claim) -> Plan:
    """The plan with what its author said that it is for: now, or when the plan that it continues was opened."""
    if plan.request.why or not claim.continues:
        return plan
    return replace(plan, request=replace(plan.request, why=context.control.plans.why(claim.continues.id)))
