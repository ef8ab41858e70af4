"""Who moves the environment, and which rules are recorded with it?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

from backfill_assets.app.approver import acting_approver
from backfill_assets.app.context import Context
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.release import Mover
from backfill_assets.promote.rules_change import record_rules, rules_to_record


def mover(context: Context) -> Mover:
    """The account that acts, and what it moves. What a promotion brings to the rules is recorded as it moves."""
    return Mover(
        control=context.control,
        log=context.log,
        environment=context.environment,
        views=context.shared_views(),
        by=context.user,
        rules=partial(_rules, context),
    )


def _rules(context: Context, case: Case) -> Mapping[str, object]:
    """The rules in force for a move that the gate lets through. What a promotion brings to them is recorded, before
    anything moves; a rollback, and copies that are joined, bring nothing.

    Killed in between, owners of models that were never shown are recorded: the next promotion records them again.
    """
    rules, moving, once = context.rules(case.facts), case.pointers, case.facts.past.out_of_sight
    if case.purpose in (Purpose.ROLLBACK, Purpose.JOIN) or not moving:
        wanted = None
    else:
        wanted = rules_to_record(rules, case.environment, moving, case.agreed, out_of_sight=once)
    return record_rules(context.control, rules, wanted, acting_approver(context), now=datetime.now(UTC)).to_json()
