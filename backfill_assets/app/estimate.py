"""How long does a plan take, and how long did it take?"""

from __future__ import annotations

from datetime import datetime

from backfill_assets.app.batches import shapes_of
from backfill_assets.app.context import Context
from backfill_assets.build.apply import MODELS_AT_ONCE
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.plan.actual import TIMED, Actual, actual_of_run
from backfill_assets.plan.batch_times import USEFUL
from backfill_assets.plan.estimate import PlanEstimate, estimate
from backfill_assets.plan.maintenance import Maintenance, maintenance
from backfill_assets.plan.stages import Plan
from backfill_assets.state.ledger import by_version
from backfill_assets.state.versions import cadences_of


def estimate_plan(context: Context, plan: Plan) -> PlanEstimate:
    """How long the plan will take and what it costs, from what the ledger knows."""
    known = context.control.ledger.entries(kinds=USEFUL) if plan.work or plan.whole else []
    entries = [e for e in known if not e.through]  # a part of an interval says little of a whole one
    price = context.project.settings.cost
    return estimate(
        plan.work,
        entries,
        context.project.models,
        at_once=MODELS_AT_ONCE,
        price=price,
        whole=plan.whole,
        smaller=plan.smaller,
        copies=plan.copies,
        shapes=shapes_of(context, plan, by_version(entries)),
        cadences=cadences_of(context.control.versions.all()) if entries else {},
    )


def plan_maintenance(context: Context, plan: Plan, estimate: PlanEstimate) -> Maintenance | None:
    """In which windows the plan is built when it is begun now, and whom that concerns; None without windows."""
    project = context.project
    consumers = project.consumers.values()
    return maintenance(project.settings.windows, plan, project.models, consumers, estimate, context.clock())


def measure_run(context: Context, plan: Plan, run: str, began: datetime, waited: Ranges = NOTHING) -> Actual:
    """What a run that began then has taken until now, without the time in which it `waited`."""
    entries = [e for e in context.control.ledger.entries(kinds=TIMED) if e.run == run] if run else []
    price = context.project.settings.cost
    return actual_of_run(entries, plan.work, context.project.models, began=began, waited=waited, price=price)
