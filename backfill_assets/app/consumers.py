"""What do consumers' queries say of a plan's candidate environment?"""

from __future__ import annotations

from datetime import UTC, datetime

from backfill_assets.app.candidate import show_candidate
from backfill_assets.app.context import Context
from backfill_assets.compare.questions import ever_masked
from backfill_assets.contracts.rerun import Reruns, concerned
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.environment import Environment


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
    masks = _masks(context, candidate, shown)
    queried = run_queries(context.spark, asked, candidate, shown, context.warehouse, masks) if asked else ()
    return Reruns(
        plan=record.id,
        at=datetime.now(UTC),
        pointers={name: pointer.id for name, pointer in candidate.pointers.items()},
        reruns=(*queried, *run_commands(asked, candidate, context.project.root)),
    )


def _masks(context: Context, *environments: Environment) -> dict[str, frozenset[str]]:
    """What of each model that one of them shows was ever masked."""
    models, versions = context.project.models, context.control.versions.all()
    names = dict.fromkeys(name for e in environments for name in e.pointers)
    return {
        name: ever_masked(
            models[name].mask if name in models else (),
            [e.pointers[name] for e in environments if name in e.pointers],
            versions,
        )
        for name in names
    }
