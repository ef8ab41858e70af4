"""What happened to which interval? An append-only record, and what it adds up to: which intervals are good."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, cast

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.state.changes import Changes
from backfill_assets.state.entries import DECIDING, Entry, Kind, Origin
from backfill_assets.state.ledger_rows import COLUMNS, AllRows, KnownRows, LedgerRows
from backfill_assets.state.pieces import BuiltEntries, Source
from backfill_assets.state.rows import to_row
from backfill_assets.state.store import Filter, Keep, Records, Row, Store, TableSpec, commit_of

if TYPE_CHECKING:
    from backfill_assets.state.columns import Columns

_LASTING = DECIDING | {Kind.FAILED}

LEDGER = TableSpec(
    name="ledger",
    columns={
        "id": "text",
        "at": "time",
        "kind": "text",
        "model": "text",
        "version": "text",
        "start": "time",
        "end": "time",
        "table_commit": "int",
        "batch": "text",
        "attempt": "int",
        "run": "text",
        "audits": "text",
        "inputs": "text",
        "rows": "int",
        "bytes": "int",
        "seconds": "float",
        "reason": "text",
        "through": "time",
        "changes": "text",
        "origin": "text",
        "sequence": "int",
    },
    sequence="sequence",
    grows=True,
)


class Ledger(Records):
    """The append-only table of entries. What was read of all models is kept until something is appended: a command
    asks several times, and there are hundreds of thousands after some years."""

    spec = LEDGER

    def __init__(self, store: Store, known: KnownRows | None = None) -> None:
        """`known`: what remembers rows that nobody writes again."""
        super().__init__(store)
        self._known = known
        self._older: tuple[str, LedgerRows] | None = None
        self._kept: tuple[str, list[Entry]] = ("", [])
        """The state of the table, and every entry of it but those that say that a batch began."""
        self._of_models: tuple[str, Mapping[tuple[str, bool], Sequence[Entry]]] = ("", {})
        """The same of some models, verdicts of audits apart: whoever asks what was built needs none."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Record what happened, all in one commit."""
        if entries:
            self._table.append([_to_row(entry) for entry in entries])

    def entries(self, models: Collection[str] | None = None, *, kinds: Collection[Kind] | None = None) -> list[Entry]:
        """What was recorded for these models, of these kinds (None: all), oldest first."""
        wanted = frozenset(Kind if kinds is None else kinds)
        state, (seen, known) = self._table.state(), self._kept
        if not wanted - {Kind.STARTED}:
            return self._read(models, wanted)
        if state != seen and models is not None:
            known = self._of(models, state, wanted)
        elif state != seen:
            self._kept = "", []  # two at once would be much
            known = self._read(None, _LASTING)
            self._kept = state, known
        found = [e for e in known if e.kind in wanted and (models is None or e.model in models)]
        if Kind.STARTED not in wanted:
            return found
        began = self._read(models, {Kind.STARTED})  # after the rest: who ended in between seems to work still
        return sorted([*found, *began], key=_ORDER)

    def _of(self, models: Collection[str], state: str, kinds: Collection[Kind]) -> list[Entry]:
        """Those of some models, of these kinds at least: a command asks for the same ones again."""
        seen, known = self._of_models
        if not state or state != seen:
            known = {}
        parts = {True: {Kind.AUDITED}, False: _LASTING - {Kind.AUDITED}}
        asked = {(name, part) for part, of in parts.items() if of & {*kinds} for name in models}
        if missing := asked - known.keys():
            read: dict[tuple[str, bool], list[Entry]] = {key: [] for key in missing}
            for part, of in parts.items():
                if names := {name for name, each in missing if each is part}:
                    for entry in self._read(names, of):
                        read[entry.model, part].append(entry)
            known = {**known, **read}
            self._of_models = state, known
        return sorted((e for key in asked for e in known[key]), key=_ORDER)

    def _read(self, models: Collection[str] | None, kinds: Collection[Kind]) -> list[Entry]:
        where: dict[str, Collection[str]] = {"kind": [kind.value for kind in kinds]}
        if models is not None:
            where["model"] = list(models)
        times: dict[tuple[object, object], Interval] = {}
        return sorted((_from_row(row, times) for row in self._table.stream(where)), key=_ORDER)

    def columns(self, names: Collection[str], where: Filter | None = None) -> Columns:
        """Columns of the table, of all entries that match."""
        return self._table.columns(names, where)

    def rows(self) -> AllRows:
        """What is recorded of every version, in columns. What nobody writes again is read once, and then remembered."""
        sealed = self._table.sealed() if self._known else None
        if sealed is None or self._known is None:
            return AllRows(parts=[LedgerRows.of(self.columns(COLUMNS))])
        if self._older is None or self._older[0] != sealed.name:
            if (older := self._known.read(sealed.name)) is None:
                older = LedgerRows.of(self.columns(COLUMNS)).until(sealed.last)
                self._known.keep(sealed.name, older)
            self._older = sealed.name, older
        older = self._older[1]
        newer = LedgerRows.of(self._table.columns(COLUMNS, after=sealed.last), older.audits)
        return AllRows(parts=[older, newer])

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> list[Entry]:
        """The entries that are wanted by these columns of them, oldest first; of those after a number."""
        times: dict[tuple[object, object], Interval] = {}
        return sorted((_from_row(row, times) for row in self._table.chosen(names, keep, after=after)), key=_ORDER)

    def marks(self) -> dict[str, tuple[int, int, int]]:
        """Model → how many entries there are of it, the number of its newest one, and the sum of their times: others
        after any append, and where another ledger was put in its place."""
        import numpy as np

        found = self.columns(["model", "sequence", "at"])
        models = found.texts["model"]
        size = len(models.values)
        newest, times = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.maximum.at(newest, models.codes, found.numbers["sequence"])
        np.add.at(times, models.codes, found.numbers["at"])  # may overflow, to the same number each time
        counts = np.bincount(models.codes, minlength=size)
        return {name: (int(counts[at]), int(newest[at]), int(times[at])) for at, name in enumerate(models.values)}

    def since(self, revision: int, models: Collection[str], *, kinds: Collection[Kind]) -> list[Entry]:
        """What was recorded of these models and kinds by commits after a revision."""
        return [e for e in self.entries(models, kinds=kinds) if commit_of(e.sequence) > revision]


EntriesByVersion = Mapping[tuple[str, str], Sequence[Entry]]
"""By model and version."""


def by_version(entries: Iterable[Entry]) -> Mapping[tuple[str, str], list[Entry]]:
    """Entries by (model, version), in the order given."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.model, entry.version].append(entry)
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Dirt:
    """A data commit that no BUILT entry speaks for: whoever made it died, or is not this system. None = everywhere."""

    table_commit: int
    interval: Interval | None
    batch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What one version's table amounts to. The first three are disjoint; what is in none of them is missing.

    `green` is built and audited, `unaudited` is built and waits for (newer) audits, `empty` is declared complete. What
    is missing is `lapsed` where the newest build is partial, of an interval that is over since.
    `sources` says which BUILT entry computed each part of `green` and `unaudited`. `shown_apart` is what is shown of
    the version at a commit of its own, because its table has other rows there by now: whoever reads these intervals
    reads them there.
    """

    green: Ranges = NOTHING
    unaudited: Ranges = NOTHING
    empty: Ranges = NOTHING
    lapsed: Ranges = NOTHING
    refused: tuple[tuple[Interval, str], ...] = ()
    """What is missing because it was invalidated, and the reason that was given: an audit that failed, for one."""
    sources: Sequence[Source] = ()
    shown_apart: Segments = NO_ROWS

    @property
    def built(self) -> Ranges:
        return self.green | self.unaudited

    @property
    def complete(self) -> Ranges:
        """What may be built upon."""
        return self.green | self.empty

    @property
    def partial(self) -> Ranges:
        """What of `green` and `unaudited` was computed of an interval that is still open."""
        return Ranges.of(part for part, entry in BuiltEntries.of(self.sources).single if entry.through)

    @property
    def hollow(self) -> bool:
        """Whether something was computed, and no row came of it anywhere."""
        sources = BuiltEntries.of(self.sources)
        return bool(sources) and sources.hollow

    def without(self, ranges: Ranges) -> Coverage:
        """The same with these missing."""
        return Coverage(
            green=self.green - ranges,
            unaudited=self.unaudited - ranges,
            empty=self.empty - ranges,
            lapsed=self.lapsed,
            refused=self.refused,
            sources=BuiltEntries.of(self.sources).without(ranges),
            shown_apart=self.shown_apart.without(ranges),
        )

    def batches(self, ranges: Ranges) -> list[tuple[Interval, Entry]]:
        """Which BUILT entries computed these ranges, cut to them."""
        return list(BuiltEntries.of(self.sources).within(ranges))

    def newest(self, ranges: Ranges) -> int:
        """The newest table commit that computed any of these ranges; -1 where none did."""
        return BuiltEntries.of(self.sources).within(ranges).newest


def coverage(
    entries: Sequence[Entry],
    *,
    audits: str,
    over: datetime | None = None,
    dirt: Iterable[Dirt] = (),
    commit: int | None = None,
) -> Coverage:
    """What the entries of one version add up to, looking at its table at `commit` (None: now).

    The newest entry of an interval decides, newest by table commit first: two writers may record in another order
    than they committed. What is said of a commit that nobody speaks for was said after it. `audits` is the
    digest of the model's audits; results for other digests do not count. What is partial counts
    if its interval ends after `over`, where the last one ends that is over (None: it never does).
    """
    painted: list[tuple[tuple[int, int, datetime, str], Interval | None, Entry | None]] = []
    audited: dict[str, list[Interval]] = defaultdict(list)
    for entry in entries:
        if commit is not None and entry.table_commit > commit:
            continue
        if entry.kind is Kind.AUDITED:
            if entry.audits == audits:
                audited[entry.batch].append(entry.interval)
        elif entry.kind is not Kind.STARTED and entry.kind is not Kind.FAILED:
            painted.append(((entry.table_commit, *entry.order), entry.interval, entry))
    painted.extend(
        ((spot.table_commit, -1, _EPOCH, ""), spot.interval, None)
        for spot in dirt
        if commit is None or spot.table_commit <= commit
    )
    painted.sort(key=lambda p: p[0], reverse=True)

    seen = Ranges()
    built: list[tuple[Interval, Entry]] = []
    empty: list[Interval] = []
    lapsed: list[Interval] = []
    refused: list[tuple[Interval, str]] = []
    for _, interval, entry in painted:
        if interval is None:  # foreign data anywhere: nothing older than it counts
            break
        fresh = Ranges((interval,)) - seen
        seen = seen | fresh
        if entry is None:
            continue
        if entry.through and (over is None or entry.interval.end <= over):
            lapsed.extend(fresh)
        elif entry.kind is Kind.BUILT:
            built.extend((part, entry) for part in fresh)
        elif entry.kind is Kind.EMPTY:
            empty.extend(fresh)
        elif entry.kind is Kind.INVALIDATED:
            refused.extend((part, entry.reason) for part in fresh)
    green: list[Interval] = []
    unaudited: list[Interval] = []
    for part, entry in built:
        verdicts = audited.get(entry.batch, ())
        if any(part in whole for whole in verdicts):  # the usual case: a batch is audited as a whole
            green.append(part)
            continue
        passed = Ranges((part,)) & Ranges.of(verdicts)
        green.extend(passed)
        unaudited.extend(Ranges((part,)) - passed)
    return Coverage(
        green=Ranges.of(green),
        unaudited=Ranges.of(unaudited),
        empty=Ranges.of(empty),
        lapsed=Ranges.of(lapsed),
        refused=tuple(refused),
        sources=tuple(sorted(built, key=lambda b: b[0])),
    )


def models_read(entry: Entry) -> dict[str, str]:
    """The models that a BUILT entry's rows were computed from, by the names of that time, with their versions."""
    read = cast(Mapping[str, Mapping[str, str]], entry.inputs or {})
    return {name: said["version"] for name, said in read.items() if "version" in said}


def read_version(entry: Entry, upstream: str) -> str | None:
    """The version of one of them; None where it was not read."""
    return models_read(entry).get(upstream)


def new_id() -> str:
    """A random name for a batch, a run or an entry."""
    return uuid.uuid4().hex[:16]


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _to_row(entry: Entry) -> Row:
    return to_row(
        LEDGER,
        entry,
        id=entry.id or new_id(),
        inputs=json.dumps(entry.inputs or {}, sort_keys=True),
        through=entry.through or _EPOCH,
        changes=json.dumps(to_plain(entry.changes)) if entry.changes else "",
        origin=json.dumps(to_plain(entry.origin)) if entry.origin else "",
    )


def _from_row(row: Row, times: dict[tuple[object, object], Interval]) -> Entry:
    # Field by field: there are many, and `from_row` looks each field up. What many say is there once (`times`: the
    # intervals so far): a day of all models, a batch of all that happened to it.
    said: Any = row
    inputs, changes, origin = said["inputs"], said["changes"], said["origin"]
    if (interval := times.get(ends := (said["start"], said["end"]))) is None:
        interval = times[ends] = Interval(*ends)
    return Entry(
        kind=_KINDS.get(said["kind"]) or Kind(said["kind"]),
        model=intern(said["model"]),
        version=intern(said["version"]),
        interval=interval,
        table_commit=said["table_commit"],
        batch=intern(said["batch"]),
        attempt=said["attempt"],
        run=intern(said["run"]),
        audits=intern(said["audits"]),
        inputs=_decoded(inputs)[0] if inputs != "{}" else {},
        rows=said["rows"],
        bytes=said["bytes"],
        changes=from_plain(Changes, json.loads(changes)) if changes else None,
        seconds=said["seconds"],
        reason=said["reason"],
        through=None if said["through"] == _EPOCH else said["through"],
        at=said["at"],
        id=said["id"],
        origin=from_plain(Origin, json.loads(origin)) if origin else None,
        sequence=said["sequence"],
    )


_KINDS = {kind.value: kind for kind in Kind}
_decoded = json.JSONDecoder().raw_decode
"""Without looking for blanks around the text, which takes as long: `json.dumps` wrote it."""
_ORDER = attrgetter("sequence", "at", "id")
"""Of an entry: its `order`."""
