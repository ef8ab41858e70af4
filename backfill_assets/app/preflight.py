"""Whom does a plan affect, and what is missing before it begins?"""

from __future__ import annotations

from dataclasses import dataclass

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.contracts.impact import Impact, impacts
from backfill_assets.contracts.inventory import Sheet, inventory
from backfill_assets.contracts.preflight import Gap, Grounds, preflight
from backfill_assets.contracts.publish import read_contracts
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.pinned import pinned_consumers
from backfill_assets.state.tables import TableLog, known_head


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What is known of a plan before it begins."""

    plan: Plan
    sheets: tuple[Sheet, ...]
    findings: tuple[Gap, ...]


def read_preflight(context: Context, request: Request) -> Preflight:
    """A sheet of each model that a plan changes, and what is missing; also which days sources have."""
    facts = context.facts(every_version=request.all_versions)
    plan = plan_request(context, request, facts=facts)
    grounds = preflight_grounds(context, plan, facts.environment, extents=True)
    return Preflight(
        plan=plan,
        sheets=tuple(inventory(context.project, plan, grounds)),
        findings=preflight(context.project, plan, grounds),
    )


def plan_impacts(context: Context, plan: Plan, shown: Environment) -> tuple[Impact, ...]:
    """What the plan means for each consumer; `shown` is what they see now."""
    if not context.project.consumers:
        return ()
    contracts = read_contracts(context.project, context.control, shown)
    pins = pinned_consumers(context.control, shown.name, context.project.consumers)
    return impacts(plan, context.project.consumers.values(), shown, contracts, pins)


def preflight_grounds(
    context: Context, plan: Plan, shown: Environment, log: TableLog | None = None, *, extents: bool = False
) -> Grounds:
    """What preflight looks at, in `log` or anew; `extents`: also which days sources have, which takes longer."""
    log = log or context.log
    tables = {(n, s.version) for n, p in shown.pointers.items() if n in plan.models for s in p.segments}
    days = context.source_days(plan.sources) if extents else {}
    return Grounds(
        shown=shown,
        gone=frozenset(t for t in tables if known_head(log, *t) < 0),
        extents={name: there.span for name, there in days.items() if there.span},
    )


def find_blocking(context: Context, plan: Plan, facts: Facts) -> tuple[Gap, ...]:
    """Those of `find_gaps` that close the gate, where approvals are asked for."""
    if not context.rules(facts).rules.approvals.required:
        return ()
    found = find_gaps(context, plan, facts.environment, facts.tables.look(context.log))
    return tuple(gap for gap in found if gap.blocking)


def find_gaps(context: Context, plan: Plan, shown: Environment, log: TableLog | None = None) -> tuple[Gap, ...]:
    """What is missing before the plan's models may be promoted, as `log` or a new look says; which days sources have is
    not looked at."""
    return preflight(context.project, plan, preflight_grounds(context, plan, shown, log))
