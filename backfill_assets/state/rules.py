"""By which rules is an environment changed? Those that the warehouse records, not those that somebody has just edited.

Append-only and numbered: the first promotion records the project's rules; from then on a change of them is proposed,
approved under the rules in force, and only then takes effect.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, cast, overload

from backfill_assets.core.codec import to_fields, to_plain
from backfill_assets.core.errors import StateError
from backfill_assets.core.model import Project
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.core.settling import settling_windows
from backfill_assets.core.wording import span_of_time
from backfill_assets.state.kept import Kept
from backfill_assets.state.ledger import new_id
from backfill_assets.state.people import People
from backfill_assets.state.rows import from_row, to_row
from backfill_assets.state.signers import changed_keys, described_keys, signer_lines
from backfill_assets.state.store import Records, Row, Store, TableSpec

PREFIX = "rules-"
"""How the id of a proposed change begins: no plan's id does."""
GENERAL = ("required", "self", "days", "signatures", "consumers")
"""The fields of `ApprovalRules` that are about every owner."""
_LATER = ("validation", "consumers", "settle")
"""Which fields of `Rules` earlier releases did not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRule:
    """A consumer that has a say in what it reads: whose it is, and which models those are."""

    owner: str
    reads: tuple[str, ...]

    def about(self, models: Collection[str]) -> ConsumerRule | None:
        """As far as it reads these models; None: it reads none of them."""
        reads = tuple(name for name in self.reads if name in models)
        return replace(self, reads=reads) if reads else None

    def __str__(self) -> str:
        return f"{self.owner} about {', '.join(self.reads)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Everything that decides whose approval counts."""

    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    people: People = field(default_factory=dict[str, tuple[str, ...]])
    signers: str = ""
    """The text of `allowed_signers`."""
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → its owner."""
    validation: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → its validation owner; of those that name one."""
    consumers: Mapping[str, ConsumerRule] = field(default_factory=dict[str, ConsumerRule])
    """The consumers whose owners are asked, by name; none where `approvals.consumers` asks none."""
    settle: Mapping[str, float] = field(default_factory=dict[str, float])
    """Model → seconds for which its intervals may change after they are over, without anybody's approval. The owner
    in force has consented to that by these rules; see `settling.py`."""

    def to_plain(self) -> dict[str, object]:
        """As plain values. What earlier releases did not know is left out where it says nothing, so that their records
        keep their hashes."""
        said: dict[str, Any] = to_fields(self)
        if self.approvals.consumers == ApprovalRules().consumers:
            del said["approvals"]["consumers"]
        return {name: value for name, value in said.items() if value or name not in _LATER}

    def with_those_of(self, files: Rules, models: Collection[str]) -> Rules:
        """The same rules, with whom the files name for these models: owners as they are there, all others added.

        Nobody but an owner loses a say by that; who validated a model is followed by whom its file names. Models that
        these rules do not know come with their settling window.
        """
        consumers = dict(self.consumers)
        for name, reader in files.consumers.items():
            known = consumers.get(name, replace(reader, reads=()))
            if known.owner == reader.owner and (more := reader.about(models)):
                consumers[name] = replace(known, reads=tuple(sorted({*known.reads, *more.reads})))
        new = {m: files.settle[m] for m in models if m in files.settle and m not in self.owners}
        return replace(
            self,
            owners={**self.owners, **{m: files.owners[m] for m in models if m in files.owners}},
            validation={**self.validation, **{m: files.validation[m] for m in models if m in files.validation}},
            settle={**self.settle, **new},
            consumers=consumers,
        )


def declared_rules(project: Project, signers: str = "", *, beside: Rules | None = None) -> Rules:
    """What a project's files say; `signers` is the text of its `allowed_signers`. `beside` rules that ask consumers,
    whom the files name is asked, whatever they say of that."""
    settings = project.settings
    critical = {said.consumers for said in (settings.approvals, *([beside.approvals] if beside else []))}
    asked = (c for c in project.consumers.values() if c.criticality in critical and c.owner)
    windows = settling_windows(project.models, project.sources)
    return Rules(
        approvals=settings.approvals,
        people=settings.people,
        signers=signers,
        owners={name: model.owner for name, model in project.models.items()},
        validation={name: who for name, model in project.models.items() if (who := model.terms.validation_owner)},
        consumers={c.name: ConsumerRule(owner=c.owner, reads=tuple(sorted(c.reads))) for c in asked},
        settle={name: window.total_seconds() for name, window in windows.items()},
    )


class RulesKind(StrEnum):
    """What a record says of its rules."""

    RECORDED = "recorded"
    """They are in force: the first, or with owners that a promotion brought."""
    PROPOSED = "proposed"
    """Somebody wants them instead of those in force."""
    CHANGED = "changed"
    """A proposal took effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesRecord:
    """One record of an environment's rules. `at` is of the real clock; `number` alone says what is newer."""

    environment: str
    number: int
    kind: RulesKind
    parent: str
    """The id of the record that was in force."""
    rules: Rules
    account: str
    host: str
    at: datetime
    reason: str = ""

    @property
    def id(self) -> str:
        """A hash of the rules, and of those that they replace. A proposal has the id of what it becomes."""
        return _id(self.environment, self.parent, json.dumps(to_plain(self.rules), sort_keys=True))


def _id(environment: str, parent: str, rules: str) -> str:
    """`rules`: as JSON, keys in order, as they are written down."""
    content = f"[{json.dumps(environment.casefold())}, {json.dumps(parent)}, {rules}]"
    return PREFIX + hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesInForce:
    """What counts for an environment, beside what the project's files say."""

    environment: str
    rules: Rules
    edited: Rules
    """What the project's files say."""
    number: int = 0
    """Which record they are; 0: none yet, so what the files say counts."""
    id: str = ""

    @property
    def effective(self) -> Rules:
        """What the gate judges by: the recorded rules. Approvals that only the files require are required as well."""
        required = self.rules.approvals.required or self.edited.approvals.required
        return replace(self.rules, approvals=replace(self.rules.approvals, required=required))

    @property
    def differences(self) -> tuple[str, ...]:
        """Where the project's files say something else, in a sentence each."""
        return edited_rules(self.rules, self.edited)

    def to_json(self) -> dict[str, object]:
        """Which rules they are, for a release's record."""
        return {"number": self.number, "id": self.id, "required": self.effective.approvals.required}

    @property
    def notes(self) -> tuple[str, ...]:
        """What every page about this environment has to say of its rules."""
        off = f"Approvals are off for {self.environment} (approvals.required: false): nobody has to approve what moves"
        return (*((off,) if not self.effective.approvals.required else ()), *self.differences)


def edited_rules(rules: Rules, edited: Rules, *, standing: str = "in force") -> tuple[str, ...]:
    """What is edited and not in force. A model that nothing is recorded of has no owner in force yet."""
    found: list[str] = []
    for name in GENERAL:
        now, then = getattr(rules.approvals, name), getattr(edited.approvals, name)
        if now != then:
            found.append(f"backfill.yml says approvals.{name}: {_text(then)}; {standing}: {_text(now)}")
    for title, old, new in (
        ("approvals.owners", rules.approvals.owners, edited.approvals.owners),
        ("people", rules.people, edited.people),
    ):
        found += [
            f"backfill.yml says {title}.{name}: {_names(new.get(name))}; {standing}: {_names(old.get(name))}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
    if signer_lines(rules.signers) != signer_lines(edited.signers):
        changed = changed_keys(rules.signers, edited.signers) or "another order, or other comments"
        in_force = ", ".join(described_keys(rules.signers)) or "no key"
        found.append(f"allowed_signers is edited: {changed}; {standing}: {in_force}")
    for model, owner in sorted(rules.owners.items()):
        if model in edited.owners and edited.owners[model] != owner:
            found.append(f"{model} says owner: {edited.owners[model] or 'nobody'}; {standing}: {owner or 'nobody'}")
        now, then = rules.validation.get(model, ""), edited.validation.get(model, "")
        if model in edited.owners and now != then:
            found.append(f"{model} says validation_owner: {then or 'nobody'}; {standing}: {now or 'nobody'}")
        now, then = (said.settle.get(model, 0) for said in (rules, edited))
        if model in edited.owners and now != then:
            found.append(f"{model} settles {_window(then)} by the files; {standing}: {_window(now)}")
    known = rules.owners.keys() & edited.owners.keys()
    for name in sorted({*rules.consumers, *edited.consumers}) if _consumers_ask_alike(rules, edited) else ():
        now, then = (said.consumers[name].about(known) if name in said.consumers else None for said in (rules, edited))
        if now != then:
            found.append(f"consumers.yml: approval for {name} by {then or 'nobody'}; {standing}: {now or 'nobody'}")
    return tuple(found)


def _consumers_ask_alike(rules: Rules, edited: Rules) -> bool:
    """Where the setting is another one, that is the difference."""
    return rules.approvals.consumers == edited.approvals.consumers


RULES = TableSpec(
    name="rules",
    columns={
        "entry": "text",
        "environment": "text",
        "number": "int",
        "kind": "text",
        "id": "text",
        "parent": "text",
        "rules": "text",
        "account": "text",
        "host": "text",
        "at": "time",
        "reason": "text",
    },
)


class RulesRecords(Records):
    """The append-only table of rules, of every environment."""

    spec = RULES

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._kept: dict[str, Kept[Sequence[RulesRecord]]] = {}
        """By environment."""

    def of(self, environment: str) -> Sequence[RulesRecord]:
        """Every record of an environment, oldest first. Raises StateError when one is not what it was."""
        return self._kept.setdefault(environment, Kept(())).of(self._table, lambda: self._read(environment)[0])

    def in_force(self, environment: str, edited: Rules) -> RulesInForce:
        """What counts: the newest record that is no proposal, or what the files say where there is none."""
        return in_force(self.of(environment), environment, edited)

    def put(self, record: RulesRecord, *, seen: str) -> RulesRecord:
        """Append a record with the next number, if the one in force still has the id `seen`.

        The same again is no second record. Raises ConflictError when somebody else wrote meanwhile, StateError when
        other rules are in force by now.
        """
        known, revision = self._read(record.environment)
        current = newest_rules(known)
        if current is not None and current.id == record.id and record.kind is not RulesKind.PROPOSED:
            return current
        if (current.id if current else "") != seen:
            raise StateError(
                f"the rules of {record.environment} were changed meanwhile",
                why=f"record {current.number if current else 0} is in force now",
                fix="look at them (backfill rules), and propose the change again",
            )
        if again := next((r for r in known if r.id == record.id and r.kind is record.kind), None):
            return again
        numbered = replace(record, number=max((r.number for r in known), default=0) + 1)
        entry = new_id()
        self._table.replace(
            [to_row(RULES, numbered, entry=entry)],
            where={"entry": [entry]},
            revision=revision,
            note={"rules": record.id},
        )
        return numbered

    def _read(self, environment: str) -> tuple[Sequence[RulesRecord], int]:
        rows, revision = self._table.read_at()
        mine = [row for row in rows if cast(str, row["environment"]).casefold() == environment.casefold()]
        return _Written(environment, sorted(mine, key=lambda row: cast(int, row["number"]))), revision


class _Written(Sequence[RulesRecord]):
    """The records of an environment, oldest first. Each is made when somebody looks at it: there is one for each
    promotion of a new model, and it has the owners of all."""

    def __init__(self, environment: str, rows: Sequence[Row]) -> None:
        """Raises StateError when one is not what was written."""
        self._environment, self._rows = environment, rows
        self._made: dict[int, RulesRecord] = {}
        self._check_chain()

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> RulesRecord: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[RulesRecord]: ...
    def __getitem__(self, at: int | slice) -> RulesRecord | Sequence[RulesRecord]:
        if isinstance(at, slice):
            return [self[each] for each in range(len(self))[at]]
        place = range(len(self))[at]
        if place not in self._made:
            self._made[place] = self._make(self._rows[place])
        return self._made[place]

    def _make(self, row: Row) -> RulesRecord:
        try:
            return from_row(RulesRecord, row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _altered(self._environment, "a record", f"it cannot be read: {error}") from None

    def _check_chain(self) -> None:
        """Each record names the one before it, and its own content; the newest also as this release understands it."""
        parent, in_force = "", -1
        for place, row in enumerate(self._rows):
            names, follows = cast(str, row["id"]), cast(str, row["parent"])
            written = _id(cast(str, row["environment"]), follows, cast(str, row["rules"]))
            if row["number"] != place + 1 or follows != parent or (names != written and names != self[place].id):
                raise self._is_altered(place)
            if row["kind"] != RulesKind.PROPOSED:
                parent, in_force = names, place
        if in_force >= 0 and self[in_force].id != parent:
            raise self._is_altered(in_force)

    def _is_altered(self, place: int) -> StateError:
        why = "its number, its id or the record that it follows was altered in the control table"
        return _altered(self._environment, f"record {place + 1}", why)


def in_force(records: Sequence[RulesRecord], environment: str, edited: Rules) -> RulesInForce:
    """What counts by these records."""
    current = newest_rules(records)
    if current is None:
        return RulesInForce(environment=environment, rules=edited, edited=edited)
    return RulesInForce(
        environment=environment, rules=current.rules, edited=edited, number=current.number, id=current.id
    )


def newest_rules(records: Sequence[RulesRecord]) -> RulesRecord | None:
    """The newest record that is no proposal."""
    return next((r for r in reversed(records) if r.kind is not RulesKind.PROPOSED), None)


def _altered(environment: str, what: str, why: str) -> StateError:
    fix = "restore _control/rules from a backup; nothing can be promoted before"
    return StateError(f"{what} of the rules of {environment} is not what was written", why=why, fix=fix)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _window(seconds: float) -> str:
    return f"{span_of_time(seconds)} after an interval" if seconds else "at once"


def _names(names: Sequence[str] | None) -> str:
    return "nothing" if names is None else ", ".join(names) or "nobody"
