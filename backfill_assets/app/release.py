"""How does the environment move by a case, and which rules are recorded with it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from backfill_assets.app.approver import acting_approver
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.release import A, Released, Sealing, release_case
from backfill_assets.promote.rules_change import record_rules, rules_to_record


def release_by_case(
    context: Context,
    look: Callable[[], A],
    *,
    evidence: Callable[[Sealing[A]], Mapping[str, str]] | None = None,
    back_to: str = "",
    at_once: bool = False,
) -> Released[A]:
    """Move the environment by what `look` finds and the gate lets through, as the account that acts.

    `evidence` None: the release's own packet alone. `release_case` says what the others are, and what is raised.
    """
    return release_case(
        context.control,
        context.log,
        context.environment,
        context.shared_views(),
        look,
        by=context.user,
        evidence=evidence or partial(seal_release, context),
        rules=partial(_rules, context),
        back_to=back_to,
        at_once=at_once,
    )


def _rules(context: Context, case: Case) -> Mapping[str, object]:
    """The rules in force for a move that the gate lets through. What a promotion brings to them is recorded, before
    anything moves; a rollback, and copies that are joined, bring nothing.

    Killed in between, owners of models that were never shown are recorded: the next promotion records them again.
    """
    rules, moving, once = context.rules(case.facts), case.pointers, case.facts.out_of_sight
    if case.purpose in (Purpose.ROLLBACK, Purpose.JOIN) or not moving:
        wanted = None
    else:
        wanted = rules_to_record(rules, case.environment, moving, case.agreed, out_of_sight=once)
    return record_rules(context.control, rules, wanted, acting_approver(context), now=datetime.now(UTC)).to_json()
