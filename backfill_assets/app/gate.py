"""May a plan be shown, now or when all of it is built?"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.app.context import Context
from backfill_assets.app.preflight import find_gaps
from backfill_assets.core.errors import StateError
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.older_sources import told_once
from backfill_assets.plan.stages import Plan, Promote, Request
from backfill_assets.promote.approval import PlanReview, not_counted, why_not
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.gate import Verdict, gate
from backfill_assets.promote.gate_forecast import forecast_obstacles
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.approvals import Approval
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.required_approvals import needed_from
from backfill_assets.state.rules import declared_rules


def judge_plan(context: Context, request: Request, facts: Facts, plan: Plan) -> Verdict:
    """Whether the plan's models may be promoted as they are now."""
    return gate(promotion_case(context, request, facts, plan))


def obstacles_ahead(context: Context, plan: Plan, facts: Facts) -> tuple[Obstacle, ...]:
    """What the gate will refuse a plan for when all of it is built and green; nothing where it moves nothing.

    What preflight misses is not among it (`preflight`).
    """
    if not (plan.work or plan.blocked) or not any(isinstance(s, Promote) for s in plan.stages):
        return ()
    with suppress(StateError):  # what cannot be read is the gate's to say, when somebody promotes
        cases = cases_of(context, facts)
        return forecast_obstacles(cases.promotion(plan.request, facts, plan), plan, cases.older_reads)
    return ()


def promotion_case(
    context: Context,
    request: Request,
    facts: Facts,
    plan: Plan,
    stored: PlanRecord | None = None,
    *,
    purpose: Purpose = Purpose.PROMOTION,
) -> Case:
    """What the gate is asked: about what a plan moves by now, or about a stored one."""
    cases = cases_of(context, facts)
    gaps = find_gaps(context, plan, facts.environment) if cases.required else ()
    return cases.promotion(request, facts, plan, stored=stored, gaps=gaps, purpose=purpose)


def cases_of(context: Context, facts: Facts) -> Cases:
    """How cases of this project are made: by which rules approvals count."""
    rules = facts.rules_for(context.project)
    files = declared_rules(context.project, beside=rules)
    genuine = partial(not_genuine, rules.signers)
    return Cases(
        project=context.project,
        control=context.control,
        log=context.log,
        required=rules.approvals.required,
        owners=lambda name: needed_from(rules, files, name),
        not_counted=lambda record, approval: not_counted(
            context.project, facts, record, approval, now=datetime.now(UTC), genuine=genuine
        ),
        history=told_once(context.source_changes.history),
    )


def why_not_counted(context: Context, facts: Facts, case: PlanReview, approval: Approval) -> str:
    """Why an approval does not count for the rows as they are; "" when it does."""
    genuine = partial(not_genuine, facts.rules_for(context.project).signers)
    return why_not(context.project, facts, case, approval, now=datetime.now(UTC), genuine=genuine)
