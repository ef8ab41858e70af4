"""What do consumers' queries say of a plan's candidate environment?"""

from __future__ import annotations

from datetime import UTC, datetime

from backfill_assets.app.candidate import show_candidate
from backfill_assets.app.context import Context
from backfill_assets.contracts.rerun import Reruns, concerned
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.lifecycle import find_plan


def rerun_consumers(context: Context, plan: str) -> Reruns:
    """Ask consumers' queries of an open plan's candidate environment, as it is now, and of prod.

    Opens a session. Raises PlanError for a plan that is unknown, or has ended.
    """
    from backfill_assets.adapters.consumer_queries import run_commands, run_queries

    record = find_plan(context.control, plan)
    candidate = show_candidate(context, record.id)
    if candidate is None:
        raise PlanError(
            f"plan {record.id} has no candidate environment",
            why=f"it is {record.status.value}",
            fix="apply it again, or name an open plan: backfill plans",
        )
    shown = context.control.environments.read(record.environment)
    asked = concerned(context.project.consumers.values(), candidate, shown)
    masks = {name: model.mask for name, model in context.project.models.items() if model.mask}
    queried = run_queries(context.spark, asked, candidate, shown, context.warehouse, masks) if asked else ()
    return Reruns(
        plan=record.id,
        at=datetime.now(UTC),
        pointers={name: pointer.id for name, pointer in candidate.pointers.items()},
        reruns=(*queried, *run_commands(asked, candidate, context.project.root)),
    )
