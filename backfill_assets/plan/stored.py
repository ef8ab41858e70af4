"""What did a stored plan say? The plan itself, as it was printed and hashed when it was opened."""

from __future__ import annotations

from backfill_assets.core.errors import StateError
from backfill_assets.plan.frozen import Stored
from backfill_assets.plan.stages import Plan, Request, plan_from_json
from backfill_assets.state.control import Control
from backfill_assets.state.plans import PlanRecord


def stored_plan(control: Control, plan: str) -> Plan | None:
    """The plan of this id; None when nothing is recorded of it. Raises StateError when its record cannot be read."""
    said = control.plans.document(plan)
    if said is None:
        return None
    try:
        return plan_from_json(said)
    except ValueError as error:
        raise StateError(
            f"what plan {plan} said cannot be read",
            why=str(error),
            fix=f"end it with `backfill abandon {plan}` and plan again",
        ) from None


def as_stored(record: PlanRecord, plan: Plan) -> Stored:
    """What a stored plan froze."""
    return Stored(record=record, now=plan.now, sources=plan.sources, frozen=plan.continued.frozen)


def stored_request(control: Control, plan: str) -> Request:
    """What somebody asked for when a stored plan was made; everything, where nothing is recorded of it."""
    return Request.of_plain((control.plans.document(plan) or {}).get("request", {}))
