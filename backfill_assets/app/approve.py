"""How does an owner approve a plan: what is stated, what is recorded, what counts?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from backfill_assets.adapters.account import host
from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.core.errors import PlanError
from backfill_assets.plan.plan import Facts
from backfill_assets.promote.approval import PlanReview, why_not
from backfill_assets.promote.approve import Approver, complete, statements
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.approvals import Approval


def approval_statements(
    context: Context, plan: str, *, by: str = "", owners: Sequence[str] = (), signs: bool = False, **said: Any
) -> list[Approval]:
    """What the account that acts states when approving a plan; `said` are a reason and accepted findings.

    `by` is who it claims to be; with `signs`, a signature will prove it.
    """
    record, facts = find_plan(context.control, plan), context.facts()
    cases = cases_of(context, facts)
    complete(record, cases.complete(facts, record))
    case, now = cases.review(facts, record), datetime.now(UTC)
    return statements(
        context.project, facts, case, giver_of(context, by, signs=signs), owners=tuple(owners), now=now, **said
    )


def approve_plan(context: Context, approval: Approval) -> Approval:
    """Record an approval as given by the account that acts, now. Raises PlanError when it could not count."""
    given = replace(approval, account=context.user, host=host(), recorded=datetime.now(UTC))
    record, facts = find_plan(context.control, given.plan), context.facts()
    case = cases_of(context, facts).review(facts, record)
    if problem := why_not_counted(context, facts, case, given):
        raise PlanError(
            f"the approval of {given.by} is refused",
            why=problem,
            fix=f"see whose approval plan {record.id} needs, and how: backfill promote {record.id}, backfill rules",
        )
    context.control.approvals.put(given)
    return given


def why_not_counted(context: Context, facts: Facts, case: PlanReview, approval: Approval) -> str:
    """Why an approval does not count for the rows as they are; "" when it does."""
    genuine = partial(not_genuine, facts.rules_for(context.project).signers)
    return why_not(context.project, facts, case, approval, now=datetime.now(UTC), genuine=genuine)


def giver_of(context: Context, by: str = "", *, signs: bool = False) -> Approver:
    """Who acts here, and whom they claim to be."""
    return Approver(account=context.user, host=host(), by=by, signs=signs)
