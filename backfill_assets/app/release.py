"""How does the environment move by a case, and which rules are recorded with it?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from backfill_assets.app.approver import acting_approver
from backfill_assets.app.context import Context
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.promote.gate import Case
from backfill_assets.promote.release import Released, Sealing, release_case
from backfill_assets.promote.rules_change import record_rules, rules_to_record
from backfill_assets.state.rules import RulesInForce

if TYPE_CHECKING:
    from backfill_assets.adapters.spark_views import SparkViews


def release_by_case(
    context: Context,
    look: Callable[[], Case],
    views: SparkViews | None,
    *,
    evidence: Callable[[Sealing], Mapping[str, str]],
    rules: Callable[[Case], Mapping[str, object]],
    **back: Any,
) -> Released:
    """Move the environment by a case that the gate judges, as the account that acts; `back` is for a rollback.

    `release_case` says what the others are, and what is raised.
    """
    return release_case(
        context.control,
        context.log,
        context.environment,
        views,
        look,
        by=context.user,
        evidence=evidence,
        rules=rules,
        **back,
    )


def rules_of(context: Context, case: Case) -> Mapping[str, object]:
    """The rules in force for a move that the gate lets through, with what it brings to them recorded."""
    return record_new_rules(context, case.facts, case.pointers, case.agreed).to_json()


def record_new_rules(
    context: Context, facts: Facts, pointers: Sequence[Pointer], changed: Collection[str]
) -> RulesInForce:
    """Record what a promotion that the gate lets through brings to the rules, before it moves anything.

    Killed in between, owners of models that were never shown are recorded: the next promotion records them again.
    """
    rules = context.rules(facts)
    once = facts.out_of_sight
    wanted = rules_to_record(rules, facts.environment, pointers, changed, out_of_sight=once) if pointers else None
    return record_rules(context.control, rules, wanted, acting_approver(context), now=datetime.now(UTC))


def rules_in_force(context: Context, case: Case) -> Mapping[str, object]:
    """The rules in force, as a release that brings nothing new to them records them."""
    return context.rules(case.facts).to_json()
