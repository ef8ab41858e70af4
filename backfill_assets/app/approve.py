"""How does an owner approve a plan, or a change of the rules: what is stated, signed, recorded?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backfill_assets.adapters.signatures import ALLOWED, fingerprint, sign
from backfill_assets.app.approver import acting_approver, acting_host
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of, why_not_counted
from backfill_assets.app.preflight import find_blocking
from backfill_assets.app.rules import approve_change, change_statements, is_change
from backfill_assets.app.waiting import lacking_approvals
from backfill_assets.app.warned import warned_of
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.errors import PlanError, SettingsError, UsageError
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.plan import by_now
from backfill_assets.plan.request_parsing import name_and_value
from backfill_assets.plan.scope_text import scopes
from backfill_assets.plan.stored import stored_plan
from backfill_assets.promote.approval import subject
from backfill_assets.promote.approve import compared, complete, find_approvable, statements
from backfill_assets.promote.case import Case
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.consent import unaccepted
from backfill_assets.promote.gate import judge_rows
from backfill_assets.promote.lifecycle import end_killed, find_plan
from backfill_assets.promote.planned import refuse_dual_run
from backfill_assets.promote.rules_change import RulesChange
from backfill_assets.state.approvals import Approval, approval_of
from backfill_assets.state.people import same_person
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.required_approvals import titled
from backfill_assets.state.rules import Rules
from backfill_assets.state.signers import holders, may_sign
from backfill_assets.state.warned import Warned


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A statement that was prepared here, and its signature, made elsewhere; `names` are what its user calls both."""

    statement: str
    signature: str
    names: tuple[str, str] = ("the statement", "its signature")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What somebody approves: `plan` is the id of one, or of a change of the rules, or the beginning of it."""

    plan: str
    by: str = ""
    """Whom they claim to be."""
    owners: tuple[str, ...] = ()
    """Whose models; none: all that they may approve for."""
    reason: str = ""
    accepted: Mapping[str, str] = field(default_factory=dict[str, str])
    """Finding → why it may be so."""
    key: Path | None = None
    """Sign with this SSH key, or its agent."""
    prepared: Prepared | None = None
    """Instead of all else: a statement that was signed elsewhere."""
    seen: str = ""
    """What they looked at: an approval of another content is refused. Empty: they say nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """The approvals that were recorded, and what there is to say about them."""

    approvals: tuple[Approval, ...]
    change: RulesChange | None = None
    """The change of the rules that they are about; None: a plan."""
    rules: Rules
    """The rules by which they count."""
    authors: Collection[str] = ()
    """Who made the plan."""
    why: str = ""
    """What the plan's author said that it is for."""
    scopes: Mapping[str, str] = field(default_factory=dict[str, str])
    """By model: which rows of its days are computed again, where not all are."""
    gaps: tuple[Gap, ...] = ()
    """What is missing, beside approvals, before the plan may be promoted."""
    unaccepted: tuple[str, ...] = ()
    """The findings of the plan that no approval accepts yet."""
    missing: tuple[str, ...] = ()
    """Whose approval it lacks beside these, and of which models."""
    warned: tuple[Warned, ...] = ()
    """The audits that only warn, and did."""


def approve(context: Context, request: ApprovalRequest) -> Approved:
    """Record what a request states. Raises PlanError when it could not count, SettingsError for a statement that is
    none, StateError when other rules are in force by now."""
    if request.prepared:
        given = [_read(request.plan, request.prepared)]
    else:
        given = [_signed(one, request.key) for one in prepare(context, request, signs=request.key is not None)]
    if request.seen and any(one.digest != request.seen for one in given):
        raise PlanError(
            f"plan {given[0].plan} is not what was looked at any more",
            why="rows, what they replace, audits or comparisons are others by now, or the statement is of others",
            fix="look at it again, and approve what is there then",
        )
    if is_change(given[0].plan):
        change = approve_change(context, given)
        return Approved(approvals=tuple(given), change=change, rules=context.rules().rules)
    facts = context.facts()
    given = [approve_plan(context, one, facts) for one in given]
    record, cases = find_plan(context.control, given[0].plan), cases_of(context, facts)
    plan, case = stored_plan(context.control, record.id), _case(context, cases, facts, record)
    return Approved(
        approvals=tuple(given),
        rules=context.rules().rules,
        authors=record.authors,
        why=context.control.plans.why(record.id),
        scopes=scopes(plan) if plan else {},
        gaps=find_blocking(context, by_now(context.project, facts, plan), facts) if plan else (),
        unaccepted=_unaccepted(case, given) if case else (),
        missing=_missing(cases, case, record) if case else (),
        warned=warned_of(context, {(t.model, t.version): t.intervals for t in record.targets}),
    )


def unaccepted_findings(context: Context, given: Sequence[Approval]) -> tuple[str, ...]:
    """The findings of the plan that these approvals are of which somebody has to accept beside what they accept."""
    if is_change(given[0].plan):
        return ()
    facts = context.facts()
    case = _case(context, cases_of(context, facts), facts, find_plan(context.control, given[0].plan))
    return _unaccepted(case, given) if case else ()


def _unaccepted(case: Case, given: Sequence[Approval]) -> tuple[str, ...]:
    said = {(one.owner, name) for one in given for name in one.accepted}
    return tuple(
        finding.name
        for review, _, finding, owners in unaccepted(case)
        if review.record.id == given[0].plan and any((owner, finding.name) not in said for owner in owners)
    )


def _missing(cases: Cases, case: Case, record: PlanRecord) -> tuple[str, ...]:
    return tuple(
        f"{titled(one.owner, one.roles)} of {', '.join(models)}"
        for one in lacking_approvals(cases, case, record)
        if (models := [model for model, part in one.parts.items() if part])
    )


def _case(context: Context, cases: Cases, facts: Facts, record: PlanRecord) -> Case | None:
    """A plan as the gate would judge it now; None where it is not stored."""
    if (stored := stored_plan(context.control, record.id)) is None:
        return None
    return cases.promotion(cases.request(record), facts, by_now(context.project, facts, stored), stored=record)


def prepare(context: Context, request: ApprovalRequest, *, signs: bool = True) -> list[Approval]:
    """What a request states, unsigned; with `signs`, a signature will prove who states it. Nothing is recorded.

    Raises PlanError when the account that acts may not state it, UsageError where a key is of several people.
    """
    said: dict[str, Any] = {
        "by": request.by or _principal(context, request.key),
        "owners": request.owners,
        "signs": signs,
        "reason": request.reason,
    }
    if is_change(request.plan):
        return change_statements(context, request.plan, **said)
    return approval_statements(context, request.plan, accepted=request.accepted, **said)


def shown_digest(context: Context, plan: str) -> str:
    """What an approval of a plan would be of by now; "" where none is asked for, or the code is another one's."""
    record, facts = find_plan(context.control, plan), context.facts()
    cases = cases_of(context, facts)
    if not record.live or not cases.may_move(facts, record):
        return ""
    about = subject(context.project, facts, cases.review(facts, record))
    return about.digest if about.scope else ""


def accepted_findings(texts: Sequence[str], option: str = "--accept") -> dict[str, str]:
    """`["roi.drift=expected"]` → finding → reason. Raises UsageError for a text without `=`, and for two reasons."""
    why = "a difference is accepted by its name, with a reason"
    said = [name_and_value(option, text, why=why, value='"why it may be so"') for text in texts]
    found = dict(said)
    if len(found) < len(said):
        twice = ", ".join(sorted(name for name in found if sum(name == other for other, _ in said) > 1))
        raise UsageError(f"{option} names {twice} twice", why=why, fix="say it once")
    return found


def approval_statements(
    context: Context, plan: str, *, by: str = "", owners: Sequence[str] = (), signs: bool = False, **said: Any
) -> list[Approval]:
    """What the account that acts states when approving a plan; `said` are a reason and accepted findings.

    `by` is who it claims to be; with `signs`, a signature will prove it.
    """
    record, facts = _approvable(context, plan), context.facts()
    cases = cases_of(context, facts)
    refuse_dual_run(record, cases.stored(record))
    complete(record, judge_rows(cases.of_rows(facts, record)))
    case, now = cases.review(facts, record), datetime.now(UTC)
    compared(record, subject(context.project, facts, case), cases.request(record))
    return statements(
        context.project, facts, case, acting_approver(context, by, signs=signs), owners=tuple(owners), now=now, **said
    )


def _approvable(context: Context, plan: str) -> PlanRecord:
    """A plan of the project's environment: by the rules of that, who acts is looked at (`acting_for`)."""
    if find_plan(context.control, plan).live:  # also one whose promotion was killed
        end_killed(context.control, context.environment, by=context.user, views=context.shared_views)
    record = find_approvable(context.control, plan)
    if record.environment != context.environment:
        raise PlanError(
            f"plan {record.id} is of {record.environment}, and this project's environment is {context.environment}",
            why="the rules of its own environment say who may approve it",
            fix=f"approve it in a project with `environment: {record.environment}` in backfill.yml",
        )
    return record


def approve_plan(context: Context, approval: Approval, facts: Facts | None = None) -> Approval:
    """Record an approval as given by the account that acts, now, by `facts` or as they are read here.

    Raises PlanError when it could not count.
    """
    given = replace(approval, account=context.user, host=acting_host(context), recorded=datetime.now(UTC))
    record, facts = _approvable(context, given.plan), facts or context.facts()
    case = cases_of(context, facts).review(facts, record)
    if problem := why_not_counted(context, facts, case, given):
        raise PlanError(
            f"the approval of {given.by} is refused",
            why=problem,
            fix=f"see whose approval plan {record.id} needs, and how: backfill promote {record.id}, backfill rules",
        )
    context.control.approvals.put(given)
    return given


def _principal(context: Context, key: Path | None) -> str:
    """Whom the signers in force list a key for; "" where there are none, and of several where the account's person is
    one of them. Raises UsageError for a key of nobody, and of several others; SettingsError for what is no key."""
    if key is None:
        return ""
    rules, mine = context.rules().rules, fingerprint(key.expanduser())
    if not mine:
        sign("", key.expanduser())  # says what is wrong with the file
    names = holders(rules.signers, mine)
    if rules.signers.strip() and not may_sign(rules.signers, mine):
        raise UsageError(
            f"{key} is the key of nobody who may sign",
            why=f"no line of {ALLOWED} that is in force has {mine}",
            fix="name the key that is listed for you; or add a line, and have it approved: "
            'backfill rules change --reason "why"',
        )
    if len(names) < 2 or any(same_person(rules.people, context.user, name) for name in names):
        return names[0] if len(names) == 1 else ""
    raise UsageError(
        f"{key} does not say who approves",
        why=f"allowed_signers lists it for {', '.join(names)}",
        fix=f"say whose approval it is: --by {names[0]}",
    )


def _signed(approval: Approval, key: Path | None) -> Approval:
    return replace(approval, signature=sign(approval.statement, key.expanduser())) if key else approval


def _read(plan: str, prepared: Prepared) -> Approval:
    statement, signature = prepared.names
    try:
        approval = approval_of(prepared.statement, prepared.signature)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{statement} and {signature} are no statement with its signature",
            why=f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error),
            fix=f"make one with: backfill approve {plan} --prepare > said.json; one statement a file",
        ) from None
    if not approval.plan.startswith(plan.removeprefix("plan-")):
        raise PlanError(
            f"the statement is about plan {approval.plan}, not {plan}",
            why="an approval is about one plan",
            fix=f"approve {approval.plan} with {statement}, or state it of {plan}: backfill approve {plan} --prepare",
        )
    return approval
