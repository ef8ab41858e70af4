"""Whom does a plan affect, and what is missing before it begins?"""

from __future__ import annotations

from backfill_assets.app.context import Context
from backfill_assets.contracts.impact import Impact, impacts
from backfill_assets.contracts.preflight import Gap, Grounds, preflight
from backfill_assets.contracts.publish import read_contracts
from backfill_assets.plan.stages import Plan


def plan_impacts(context: Context, plan: Plan) -> tuple[Impact, ...]:
    """What the plan means for each consumer."""
    if not context.project.consumers:
        return ()
    shown = context.control.environments.read(plan.environment)
    contracts = read_contracts(context.project, context.control, shown)
    return impacts(plan, context.project.consumers.values(), shown, contracts)


def preflight_grounds(context: Context, plan: Plan, *, extents: bool = False) -> Grounds:
    """What preflight looks at; `extents`: also which days sources have, which takes longer."""
    shown = context.control.environments.read(plan.environment)
    tables = {(n, s.version) for n, p in shown.pointers.items() if n in plan.models for s in p.segments}
    days = context.source_days(plan.sources) if extents else {}
    return Grounds(
        shown=shown,
        gone=frozenset(t for t in tables if context.log.head(*t) < 0),
        extents={name: there.span for name, there in days.items() if there.span},
    )


def find_gaps(context: Context, plan: Plan) -> tuple[Gap, ...]:
    """What is missing before the plan's models may be promoted; which days sources have is not looked at."""
    return preflight(context.project, plan, preflight_grounds(context, plan))
