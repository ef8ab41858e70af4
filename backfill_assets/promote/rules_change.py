"""How do the rules of an environment change? A promotion records them; after that a change waits for its approvals.

Whoever's rights a change touches is asked, under the rules in force. Who proposed it is its author.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.promote.approve import Approver
from backfill_assets.state.approval_validity import (
    Genuine,
    approver,
    is_barred_author,
    listed_for,
    objection,
    somebody_may,
    speaks_for,
    trusted,
    who_may,
)
from backfill_assets.state.approvals import FORMATTED, TO_COME, Approval
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.people import perhaps_same, person_of, same_person
from backfill_assets.state.required_approvals import everybody
from backfill_assets.state.rules import (
    GENERAL,
    PREFIX,
    Rules,
    RulesInForce,
    RulesKind,
    RulesRecord,
    edited_rules,
    in_force,
)
from backfill_assets.state.signers import changed_signers


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesChange:
    """A proposed change, and how far it is."""

    record: RulesRecord
    differences: tuple[str, ...]
    missing: Mapping[str, str]
    """Owner whose approval is missing → why those that were given do not count; "" when there is none."""
    approvals: tuple[Approval, ...]
    """Those that count."""
    took_effect: bool = False


def asked_for(rules: Rules, wanted: Rules, shown: Collection[str]) -> tuple[str, ...]:
    """The owners whose approval counts otherwise afterwards; of the models in `shown`, and of those that are out of
    sight and have owners in force. None, where none is required."""
    if not rules.approvals.required:
        return ()
    owners, shown = rules.owners, {*shown, *rules.owners}
    asked = everybody(rules, shown)
    names = changed_signers(rules.signers, wanted.signers)
    new = {wanted.owners[m] for m, o in owners.items() if wanted.owners.get(m, o) not in (o, "")}
    new |= _whose_say(rules, wanted, shown)
    if any(getattr(rules.approvals, n) != getattr(wanted.approvals, n) for n in GENERAL):
        return tuple(sorted(asked | new))
    if any(mark in name for name in names for mark in "*?!"):
        return tuple(sorted(asked | new))
    people = {p for p in {*rules.people, *wanted.people} if rules.people.get(p) != wanted.people.get(p)}
    touched = {*names, *people, *(a for p in people for a in (*rules.people.get(p, ()), *wanted.people.get(p, ())))}
    found = new | {o for m, o in owners.items() if wanted.owners.get(m, o) != o}
    found |= everybody(rules, {m for m in owners if rules.settle.get(m, 0) != wanted.settle.get(m, 0)})
    for owner in asked:
        may = [(owner,) if (listed := listed_for(owner, r)) is None else listed for r in (rules, wanted)]
        theirs = {*may[0], *may[1]}
        if may[0] != may[1] or any(
            same_person(r.people, t, o) for r in (rules, wanted) for t in touched for o in theirs
        ):
            found.add(owner)
    return tuple(sorted(found))


def _whose_say(rules: Rules, wanted: Rules, shown: Collection[str]) -> set[str]:
    """The validation owners, and the owners of consumers, who are asked otherwise afterwards: old ones and new ones."""
    found: set[str] = set()
    for model in shown:
        found |= {rules.validation.get(model, "")} ^ {wanted.validation.get(model, "")}
    for name in {*rules.consumers, *wanted.consumers}:
        found |= {r.owner for r in {rules.consumers.get(name)} ^ {wanted.consumers.get(name)} if r and r.about(shown)}
    return found - {""}


def missing_approvals(
    rules: Rules, record: RulesRecord, approvals: Sequence[Approval], shown: Collection[str],
    *, now: datetime, genuine: Genuine = trusted,
) -> tuple[dict[str, str], tuple[Approval, ...]]:  # fmt: skip
    """Owner whose approval of a change is missing → why those given do not count; and those that count.

    Who proposes to become an owner agrees to it by that.
    """
    missing: dict[str, str] = {}
    counted: list[Approval] = []
    for owner in asked_for(rules, record.rules, shown):
        if owner not in everybody(rules, rules.owners) and same_person(rules.people, record.account, owner):
            continue
        given = [a for a in approvals if a.owner == owner]
        problems = [(a, change_objection(a, rules, record, now=now, genuine=genuine)) for a in reversed(given)]
        if good := next((a for a, problem in problems if not problem), None):
            counted.append(good)
        else:
            missing[owner] = problems[0][1] if problems else ""
    return missing, tuple(counted)


def change_objection(
    approval: Approval, rules: Rules, record: RulesRecord, *, now: datetime, genuine: Genuine = trusted
) -> str:
    """Why an approval of a change of the rules does not count under the rules in force; "" when it does.

    For an owner for whom the rules name neither an account nor a key, any account but the proposer's counts: there is
    nobody else to ask, and two accounts have looked at it.
    """
    if (approval.plan, approval.environment, approval.digest) != (record.id, record.environment, record.id):
        return "it is about another change"
    problem = objection(approval, rules, authors=(record.account,), now=now, genuine=genuine)
    if not problem or somebody_may(approval.owner, rules) or not approval.account or approval.signature:
        return problem
    itself = same_person(rules.people, approval.account, approval.by)
    return "" if itself and not perhaps_same(rules.people, approver(approval), record.account) else problem


def may_approve(who: str, owner: str, rules: Rules, record: RulesRecord) -> bool:
    """Whether somebody, by any of their names, may approve a change for an owner, as `change_objection` judges it."""
    if speaks_for(who, owner, rules) and not is_barred_author(who, rules, (record.account,)):
        return True
    return not somebody_may(owner, rules) and not perhaps_same(rules.people, who, record.account)


def rules_to_record(
    rules: RulesInForce, shown: Environment, pointers: Sequence[Pointer], changed: Collection[str] = (),
    *, out_of_sight: Collection[str] = (),
) -> Rules | None:  # fmt: skip
    """What a promotion of these pointers, which the gate let through, records of the rules; None: nothing is new.
    `changed` are the models whose published rows change, `out_of_sight` those that a rollback has removed.

    The first one records all that the project's files say. Later ones only add whom they name: for models that were
    never shown, and for those whose published rows change, as all of them have approved. The settling window comes with
    a model's first rows, as the files of the promotion that shows them say it; after that only a change of the rules
    changes it.
    """
    if not rules.number:
        return _about(rules.edited, {*shown.pointers, *(p.model for p in pointers)})
    known = rules.rules.owners
    moving = {p.model for p in pointers}
    never = moving - {*shown.pointers, *out_of_sight}
    new = {name for name in moving if name not in known or name in never or name in changed}
    found = rules.rules.with_those_of(rules.edited, new)
    windows = {m: w for m, w in found.settle.items() if m not in never}
    windows |= {m: w for m, w in rules.edited.settle.items() if m in never}
    found = replace(found, settle=windows)
    return None if found == rules.rules else found


def record_rules(
    control: Control, rules: RulesInForce, wanted: Rules | None, who: Approver, *, now: datetime, reason: str = ""
) -> RulesInForce:
    """Record rules that need no approval; returns what is in force then. Raises StateError, ConflictError."""
    if wanted is None:
        return rules
    made = _record(rules, wanted, RulesKind.RECORDED, who, now, reason)
    control.rules.put(made, seen=rules.id)
    return control.rules.in_force(rules.environment, rules.edited)


def propose_rules(
    control: Control, rules: RulesInForce, shown: Environment, who: Approver, *, now: datetime, reason: str = ""
) -> RulesChange:
    """Propose what the project's files say as the rules; where nobody has to be asked it takes effect at once.

    Raises PlanError when they say what is in force.
    """
    models = set(shown.pointers)
    if not rules.number:
        wanted = _about(rules.edited, models)
        record_rules(control, rules, wanted, who, now=now, reason=reason)
        record = control.rules.of(rules.environment)[-1]
        return RulesChange(record=record, differences=(), missing={}, approvals=(), took_effect=True)
    known = _about(rules.edited, rules.rules.owners)
    kept = {m: v for m, v in rules.rules.validation.items() if m not in known.owners}
    left = {m: w for m, w in rules.rules.settle.items() if m not in known.owners}
    wanted = replace(
        known,
        owners={**rules.rules.owners, **known.owners},
        validation={**kept, **known.validation},
        settle={**left, **known.settle},
    )
    if not rules.differences:
        raise PlanError(
            f"the rules of {rules.environment} are what the project's files say",
            why="there is nothing to change",
            fix="edit backfill.yml, allowed_signers or a model's owner first; `backfill rules` shows what is in force",
        )
    made = _record(rules, wanted, RulesKind.PROPOSED, who, now, reason)
    return settle(control, rules, control.rules.put(made, seen=rules.id), models, who, now=now)


def _about(files: Rules, models: Collection[str]) -> Rules:
    """What the files say, with whom they name for these models, and how long these settle."""
    nobody = replace(files, owners={}, validation={}, consumers={}, settle={})
    return nobody.with_those_of(files, models)


def settle(
    control: Control, rules: RulesInForce, record: RulesRecord, shown: Collection[str], who: Approver,
    *, now: datetime, genuine: Genuine = trusted,
) -> RulesChange:  # fmt: skip
    """Let a proposed change take effect if nothing is missing; how far it is."""
    given = control.approvals.of([record.id])
    missing, counted = missing_approvals(rules.rules, record, given, shown, now=now, genuine=genuine)
    if not missing:
        took = replace(record, kind=RulesKind.CHANGED, account=who.account, host=who.host, at=now)
        control.rules.put(took, seen=rules.id)
    told = edited_rules(rules.rules, record.rules, standing="in force" if missing else "until now")
    return RulesChange(record=record, differences=told, missing=missing, approvals=counted, took_effect=not missing)


def find_change(records: Sequence[RulesRecord], name: str) -> RulesRecord:
    """The proposed change that somebody means, by its id or the beginning of it. Raises PlanError, StateError."""
    proposed = [r for r in records if r.kind is RulesKind.PROPOSED]
    meant = [r for r in proposed if r.id.startswith(name if name.startswith(PREFIX) else PREFIX + name)]
    if len(meant) != 1:
        raise PlanError(
            f"{'several changes' if meant else 'no change'} of the rules {'are' if meant else 'is'} called {name}",
            why="proposed are: " + (", ".join(r.id for r in proposed[-3:]) or "none"),
            fix="propose one with `backfill rules change`",
        )
    record = meant[0]
    current = in_force(records, record.environment, record.rules)
    if current.id != record.parent:
        done = any(r.id == record.id and r.kind is RulesKind.CHANGED for r in records)
        raise StateError(
            f"{record.id} {'took effect already' if done else 'was proposed for rules that are in force no more'}",
            why=f"record {current.number} of {record.environment} is in force",
            fix="look at it with `backfill rules`; propose what is still to change with `backfill rules change`",
        )
    return record


def change_statements(
    rules: RulesInForce, record: RulesRecord, shown: Collection[str], who: Approver,
    *, owners: Sequence[str] = (), reason: str = "", now: datetime,
) -> list[Approval]:  # fmt: skip
    """The approvals of a change of the rules, unsigned, for these owners (none: all whom `who` may approve for).

    Raises PlanError when `who` may not.
    """
    asked = asked_for(rules.rules, record.rules, shown)
    made = [
        Approval(
            plan=record.id, environment=record.environment, digest=record.id, scope={}, owner=owner,
            more=FORMATTED,
            by=who.by or person_of(rules.rules.people, who.account), at=now, reason=reason,
            account=who.account, host=who.host, recorded=now, signature=TO_COME if who.signs else "",
        )
        for owner in owners or asked
    ]  # fmt: skip
    problems = {a.owner: change_objection(a, rules.rules, record, now=now) for a in made}
    problems |= {o: "the change does not touch what it may approve" for o in owners if o not in asked}
    good = [replace(a, signature="") for a in made if not problems[a.owner]]
    if not good or (owners and len(good) < len(made)):
        first = next(a for a in made if problems[a.owner])
        raise PlanError(
            f"{approver(first)} may not approve {record.id} for {first.owner or 'models without an owner'}",
            why=problems[first.owner],
            fix="; ".join(_way_on(o, rules.rules, record.account) for o in asked),
        )
    return good


def _way_on(owner: str, rules: Rules, proposer: str) -> str:
    """Who may approve a change for an owner, which its proposer may not."""
    if may := who_may(owner, rules, (proposer,)):
        return f"ask {may}"
    if not somebody_may(owner, rules):
        return f"ask any account but {proposer}, as none is listed for {owner}"
    return f"nobody but {proposer}, who proposed it, may approve for {owner}: let another account propose it"


def _record(
    rules: RulesInForce, wanted: Rules, kind: RulesKind, who: Approver, now: datetime, reason: str
) -> RulesRecord:
    return RulesRecord(
        environment=rules.environment, number=0, kind=kind, parent=rules.id, rules=wanted,
        account=who.account, host=who.host, at=now, reason=reason,
    )  # fmt: skip
