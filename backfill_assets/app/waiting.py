"""Whose approval do open plans and changes of the rules lack? What waits for one person, or for anybody."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backfill_assets.app.amendment import amend_stored
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.app.plan import plan_by_now
from backfill_assets.app.preflight import plan_impacts
from backfill_assets.app.rules import waiting_changes
from backfill_assets.contracts.impact import Impact
from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.commands import accept_option
from backfill_assets.plan.facts import Facts
from backfill_assets.promote.case import Case
from backfill_assets.promote.cases import Cases
from backfill_assets.promote.consent import unaccepted, unapproved
from backfill_assets.promote.gate import judge_rows
from backfill_assets.promote.rules_change import RulesChange, may_approve
from backfill_assets.state.approval_validity import is_barred_author, speaks_for
from backfill_assets.state.people import same_person
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.required_approvals import OWNER, merged_roles, titled
from backfill_assets.state.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """An approval that a plan lacks."""

    owner: str
    """Whose; "": anybody's but the author's."""
    roles: tuple[str, ...]
    parts: Mapping[str, Ranges]
    """Model → the published intervals that it has to cover; none are named before the rows are there."""
    findings: tuple[str, ...] = ()
    """What they have to accept by its name."""
    command: str

    @property
    def text(self) -> str:
        """Who has to approve what."""
        what = ", ".join(f"{model} {part}" if part else model for model, part in self.parts.items())
        accepting = f", accepting {', '.join(self.findings)}" if self.findings else ""
        return f"needs approval by {titled(self.owner, self.roles)} of {what}{accepting}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPlan:
    """An open plan that lacks approvals. `built`: whether they can be given by now."""

    plan: PlanRecord
    why: str
    built: bool
    lacking: tuple[Lacking, ...]
    amendment: Amendment
    """What became of the world since it was stored."""
    notices: tuple[Impact, ...]
    """The consumers that it affects."""

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "plan": self.plan.id,
            "by": self.plan.by,
            "created": self.plan.created.isoformat(),
            "why": self.why,
            "built": self.built,
            "amendment": to_plain(self.amendment),
            "lacking": [
                {
                    "owner": one.owner,
                    "roles": list(one.roles),
                    "models": {model: part.to_plain() for model, part in one.parts.items()},
                    "findings": list(one.findings),
                    "command": one.command,
                }
                for one in self.lacking
            ],
            "notices": [notice.to_json() for notice in self.notices],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Plans, the newest first, and changes of the rules."""

    plans: tuple[WaitingPlan, ...]
    changes: tuple[RulesChange, ...]
    other_code: tuple[PlanRecord, ...]
    """Open plans of other code than the loaded one: what they lack cannot be told here."""
    overtaken: tuple[PlanRecord, ...] = ()
    """Open restatements of what is not shown any more: nobody promotes them."""


def read_waiting(context: Context, who: str = "") -> Waiting:
    """What lacks the approval of `who`, by any of their names, or affects a consumer of theirs; "": of anybody."""
    facts = context.facts()
    rules, cases = facts.rules_for(context.project), cases_of(context, facts)
    live = [r for r in reversed(context.control.plans.all()) if r.live and r.environment == context.environment]
    ours = [record for record in live if cases.is_ours(facts, record)]
    moving = [record for record in ours if cases.may_move(facts, record)]
    plans = [_waiting(context, facts, cases, record, who, rules) for record in moving if cases.required]
    waiting = [
        change
        for change in waiting_changes(context)
        if not who or any(may_approve(who, o, rules, change.record) for o in change.missing)
    ]
    return Waiting(
        plans=tuple(found for found in plans if found.lacking or (who and found.notices)),
        changes=tuple(waiting),
        other_code=tuple(record for record in live if record not in ours),
        overtaken=tuple(record for record in ours if record not in moving),
    )


def _waiting(context: Context, facts: Facts, cases: Cases, record: PlanRecord, who: str, rules: Rules) -> WaitingPlan:
    made = plan_by_now(context, facts, record)
    notices = [i for i in plan_impacts(context, made, facts.environment) if i.affected]
    shows = {p.model: p.covers for p in cases.proposal(facts, record).pointers}
    built = record.status is PlanStatus.APPLIED and judge_rows(cases.of_rows(facts, record)).open
    case = cases.promotion(cases.request(record), facts, made, stored=record) if built else None
    lacking = lacking_approvals(cases, case, record) if case else _to_come(cases, record)
    theirs = not who or not is_barred_author(who, rules, record.authors)
    return WaitingPlan(
        plan=record,
        why=context.control.plans.why(record.id),
        built=built,
        amendment=amend_stored(context, record, facts, shows),
        lacking=tuple(one for one in lacking if theirs and (not who or speaks_for(who, one.owner, rules))),
        notices=tuple(i for i in notices if not who or same_person(rules.people, who, i.consumer.owner)),
    )


def lacking_approvals(cases: Cases, case: Case, record: PlanRecord) -> Iterator[Lacking]:
    """By the gate: of the rows of a plan's case as they are, after all approvals that count."""
    parts = unapproved(case)
    findings: dict[str, dict[str, str]] = {}
    for review, _, finding, owners in unaccepted(case):
        for owner in owners if review.record.id == record.id else ():
            findings.setdefault(owner, {})[finding.name] = finding.model
    for owner in dict.fromkeys((*parts, *findings)):
        named = findings.get(owner, {})
        about = {**dict.fromkeys(named.values(), NOTHING), **parts.get(owner, {})}
        accept = "".join(f" {accept_option(name)}" for name in named)
        yield Lacking(
            owner=owner,
            roles=merged_roles((owner, cases.owners(name).get(owner, (OWNER,))) for name in about)[owner],
            parts=about,
            findings=tuple(named),
            command=f"backfill approve {record.id}{f' --for {shlex.quote(owner)}' if owner else ''}{accept}",
        )


def _to_come(cases: Cases, record: PlanRecord) -> Iterator[Lacking]:
    """Whom the plan will ask when its rows are there."""
    stored = cases.stored(record)
    for one in stored.asked if stored else ():
        command = f"backfill approve {record.id}{f' --for {shlex.quote(one.owner)}' if one.owner else ''}"
        yield Lacking(owner=one.owner, roles=one.roles, parts=dict.fromkeys(one.models, NOTHING), command=command)
