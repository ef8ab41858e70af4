"""What does somebody state who approves a plan? One statement for each owner, about the rows as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.commands import accept_option, apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Request
from backfill_assets.plan.stored import stored_request
from backfill_assets.promote.approval import EVERY_PROOF, ApprovalSubject, PlanReview, rules_of, subject
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.lifecycle import find_plan, newer_plan
from backfill_assets.promote.lone_authors import WAY_OUT, lone
from backfill_assets.promote.undone import rolled_back_plans
from backfill_assets.state.approval_validity import approver, objection, unsigned, who_may
from backfill_assets.state.approvals import FORMATTED, TO_COME, Approval
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.people import person_of
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.required_approvals import titled
from backfill_assets.state.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """Who approves: the account that acts, as the system asserts it, where, and who that claims to be."""

    account: str
    host: str
    by: str = ""
    """Empty: the person that the account is of."""
    signs: bool = False
    """Whether a signature will prove that it is `by`, whatever account brings it."""


def statements(
    project: Project,
    facts: Facts,
    case: PlanReview,
    who: Approver,
    *,
    owners: tuple[str, ...] = (),
    reason: str = "",
    accepted: Mapping[str, str] | None = None,
    now: datetime,
) -> list[Approval]:
    """The approvals, unsigned, for these owners (none: all whom `who` may approve for). `now` is of the real clock.

    Raises PlanError when the plan changes no published history, the owner is none of its, or `who` may not approve.
    """
    rules, accepted = rules_of(project, facts), accepted or {}
    about = subject(project, facts, case)
    _check(case.record, about, owners, accepted)
    made = [
        Approval(
            plan=case.record.id,
            environment=case.record.environment,
            digest=about.digest,
            scope=about.scope,
            owner=owner,
            by=who.by or person_of(rules.people, who.account),
            at=now,
            reason=reason,
            accepted={f.name: accepted[f.name] for f in about.findings if f.name in accepted},
            onward=onward(facts.environment, about.scope),
            more=FORMATTED,
            signature=TO_COME if who.signs else "",
            account=who.account,
            host=who.host,
            recorded=now,
        )
        for owner in owners or tuple(about.owners)
    ]
    problems = {a.owner: objection(a, rules, authors=case.record.authors, now=now) for a in made}
    refused = [a for a in made if problems[a.owner]]
    if refused and (owners or len(refused) == len(made)):
        first = refused[0]
        raise PlanError(
            f"{approver(first)} may not approve plan {case.record.id} for {first.owner or 'models without an owner'}",
            why=problems[first.owner],
            fix=_ways(about, rules, case.record, _SIGN.format(case.record.id) if unsigned(first, rules) else _ALONE),
        )
    return [replace(a, signature="") for a in made if not problems[a.owner]]


def _ways(about: ApprovalSubject, rules: Rules, record: PlanRecord, otherwise: str) -> str:
    """Whom to ask, and what to do where nobody is left but the authors; of several owners a line for each."""
    may = {owner: who_may(owner, rules, record.authors) for owner in about.owners}
    asked = [f"{titled(o, about.roles[o], 'models without an owner')}: {who}" for o, who in may.items() if who]
    stuck = ", ".join(owner for owner, who in may.items() if not who)
    said = [*([f"{lone(stuck)}: {WAY_OUT.format(stuck)}"] if stuck else []), otherwise]
    if len(may) > 1:
        return "\n  ".join(["ask, for each whose approval it needs:", *asked, *said])
    return "; ".join([*(f"ask those whose approval it needs ({one})" for one in asked), *said])


_SIGN = "sign it with a key: backfill approve {0} --key FILE, or elsewhere what backfill approve {0} --prepare says"
_ALONE = "a team of one says so in the rules: `approvals: {self: true}` in backfill.yml, then `backfill rules change`"


def onward(shown: Environment, scope: Mapping[str, Ranges]) -> dict[str, datetime]:
    """Where a scope goes to the end of what is shown of a model, from when on what it gains is covered as well."""
    ends = {n: p.covers.span.end for n, p in shown.pointers.items() if p.covers.span}
    spans = {name: part.span for name, part in scope.items()}
    return {n: ends[n] for n, span in spans.items() if span and n in ends and span.end == ends[n]}


def find_approvable(control: Control, plan: str) -> PlanRecord:
    """The plan of that id. Raises PlanError for one that is not open any more: no approval of it counts."""
    record = find_plan(control, plan)
    if record.live:
        return record
    at, again = f"at {record.since:%Y-%m-%d %H:%M} UTC", apply_command(stored_request(control, record.id))
    match record.status:
        case PlanStatus.ABANDONED:
            raise PlanError(
                f"plan {record.id} was abandoned",
                why=f"that was {at}; approvals of it do not count, and what it built is not promoted",
                fix=f"make it again, and approve it then: {again}",
            )
        case PlanStatus.SUPERSEDED:
            newer = newer_plan(control, record)
            raise PlanError(
                f"plan {record.id} was superseded",
                why=f"a newer plan of the same person took its place {at}; approvals of the older one do not count",
                fix=f"backfill approve {newer.id}" if newer else f"make it again, and approve it then: {again}",
            )
        case PlanStatus.PROMOTED if back := rolled_back_plans(control, [record]).get(record.id):
            raise PlanError(
                f"plan {record.id} was promoted, and "
                + (f"rolled back in release {back.release}" if back.release else str(back)),
                why="approvals of it do not count any more",
                fix=f"make it again, and approve it then: {again}",
            )
        case _:
            named = [r.id for r in control.releases.all(record.environment) if record.id in r.evidence]
            raise PlanError(
                f"plan {record.id} was promoted already{f', in release {named[-1]}' if named else ''}",
                why=f"that was {at}: nothing of it waits for an approval",
                fix="nothing is left to do; to undo it: backfill rollback",
            )


def complete(record: PlanRecord, verdict: Verdict) -> None:
    """Raises PlanError when there is something of the plan that nobody can approve yet."""
    if verdict.open:
        return
    listed = "; ".join(o.text for o in verdict.obstacles)
    raise PlanError(
        f"plan {record.id} cannot be approved yet",
        why=f"an approval is about rows that are there and audited ({listed})",
        fix="; ".join(dict.fromkeys(o.remedy for o in verdict.obstacles)),
    )


def compared(record: PlanRecord, about: ApprovalSubject, request: Request) -> None:
    """Raises PlanError when nobody knows yet what these rows are against those that are shown: an approval is of that
    as well, so that one from before it counts for nothing."""
    if about.scope and not about.proved >= EVERY_PROOF:
        raise PlanError(
            f"plan {record.id} cannot be approved yet",
            why=f"its rows, and what consumers ask of them, were not compared with what {record.environment} shows by "
            "now: an approval is of what that finds, too",
            fix=f"{apply_command(request)}, which compares them",
        )


def _check(record: PlanRecord, about: ApprovalSubject, owners: tuple[str, ...], accepted: Mapping[str, str]) -> None:
    if not about.scope:
        raise PlanError(
            f"plan {record.id} needs nobody's approval",
            why=f"it changes no rows that {record.environment} shows; green audits are enough",
            fix="promote it: backfill promote",
        )
    named = [f"{titled(o, about.roles[o], '(nobody)')} of {', '.join(models)}" for o, models in about.owners.items()]
    for owner in owners:
        if owner not in about.owners:
            raise PlanError(
                f"{owner or 'somebody for models without an owner'} is not asked about what plan {record.id} changes",
                why=f"asked are: {'; '.join(named)}",
                fix="name one of these with --for",
            )
    known = [f.name for f in about.findings]
    for name, reason in accepted.items():
        if name not in known:
            raise PlanError(
                f"there is no finding {name} to accept",
                why=f"found was: {', '.join(known) or 'nothing'}",
                fix=f"backfill approve {record.id} --prepare says what is asked; where nothing is compared yet with "
                "what is shown by now, backfill apply does that",
            )
        if not reason.strip():
            raise PlanError(
                f"finding {name} cannot be accepted without a reason",
                why="the evidence says why each difference may be so",
                fix=accept_option(name, "the reason"),
            )
