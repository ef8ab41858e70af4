"""What can be done with the rules of an environment: look at them, propose a change, approve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from backfill_assets.adapters.signatures import not_genuine
from backfill_assets.app.approver import acting_approver, acting_host
from backfill_assets.app.context import Context
from backfill_assets.core.errors import ConflictError, PlanError, StateError
from backfill_assets.promote import rules_change
from backfill_assets.promote.rules_change import RulesChange
from backfill_assets.state.approvals import Approval
from backfill_assets.state.rules import PREFIX, RulesRecord


def is_change(name: str) -> bool:
    """Whether a name is one of a change of the rules, and not of a plan."""
    return name.startswith(PREFIX)


def waiting_changes(context: Context) -> list[RulesChange]:
    """The proposed changes of the rules in force that wait for approvals, the newest first."""
    rules, records = context.rules(), context.control.rules.of(context.environment)
    done = {r.id for r in records if r.number <= rules.number}
    waiting = [r for r in reversed(records) if r.parent == rules.id and r.id not in done and r.number > rules.number]
    return [_look(context, record) for record in waiting if rules.number]


def propose_rules(context: Context, *, reason: str = "") -> RulesChange:
    """Propose what the project's files say. Raises PlanError when that is in force, StateError for a lost race."""
    shown = context.control.environments.read(context.environment)
    try:
        return rules_change.propose_rules(
            context.control, context.rules(), shown, acting_approver(context), now=datetime.now(UTC), reason=reason
        )
    except ConflictError as error:
        raise _busy(error) from None


def change_statements(
    context: Context, name: str, *, by: str = "", owners: Sequence[str] = (), signs: bool = False, reason: str = ""
) -> list[Approval]:
    """What the account that acts states when approving a proposed change. Raises PlanError, StateError."""
    record = rules_change.find_change(context.control.rules.of(context.environment), name)
    who, now = acting_approver(context, by, signs=signs), datetime.now(UTC)
    shown = context.control.environments.read(context.environment).pointers
    return rules_change.change_statements(context.rules(), record, shown, who, owners=owners, reason=reason, now=now)


def approve_change(context: Context, given: Sequence[Approval]) -> RulesChange:
    """Record approvals of a proposed change; it takes effect when nothing is missing any more.

    Raises PlanError when one of them does not count, StateError when other rules are in force by now.
    """
    now, rules = datetime.now(UTC), context.rules()
    record = rules_change.find_change(context.control.rules.of(context.environment), given[0].plan)
    genuine = partial(not_genuine, rules.rules.signers)
    for one in given:
        recorded = replace(one, account=context.user, host=acting_host(context), recorded=now)
        problem = rules_change.change_objection(recorded, rules.rules, record, now=now, genuine=genuine)
        if problem:
            raise PlanError(
                f"the approval of {one.by} is refused",
                why=problem,
                fix="see whom the rules in force ask: backfill rules",
            )
        context.control.approvals.put(recorded)
    return _look(context, record, settle=True)


def _look(context: Context, record: RulesRecord, *, settle: bool = False) -> RulesChange:
    rules, now = context.rules(), datetime.now(UTC)
    genuine = partial(not_genuine, rules.rules.signers)
    shown = context.control.environments.read(context.environment).pointers
    if settle:
        try:
            return rules_change.settle(
                context.control, rules, record, shown, acting_approver(context), now=now, genuine=genuine
            )
        except ConflictError as error:
            raise _busy(error) from None
    approvals = context.control.approvals.of([record.id])
    missing, counted = rules_change.missing_approvals(rules.rules, record, approvals, shown, now=now, genuine=genuine)
    differences = replace(rules, edited=record.rules).differences
    return RulesChange(record=record, differences=differences, missing=missing, approvals=counted)


def _busy(error: ConflictError) -> StateError:
    return StateError("the rules are being changed by somebody else", why=error.what, fix="run this again")
