"""What has become of what an environment shows of a model? By which batch each part was built, and what is known since.

What is shown is never written again: it stays at the commit that its pointer names, whatever happens to the table
later. An audit that fails on it, or somebody's commit over it, is a finding, until a restatement shows other rows
beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from backfill_assets.core.errors import DamagedLogError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.lazy_sequence import LazySequence
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.state.history import VersionHistory
from backfill_assets.state.ledger import Coverage, Dirt, EntriesByVersion, Entry, Kind
from backfill_assets.state.pieces import BuiltEntries, Pieces
from backfill_assets.state.tables import TableLog, compare_log, known_head


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """A part of a segment that one batch built. `entry` is None where the ledger knows no batch of these rows."""

    segment: Segment
    """Cut to the part."""
    entry: Entry | None

    @property
    def interval(self) -> Interval:
        return self.segment.interval


@dataclass(slots=True, eq=False)
class ShownParts(LazySequence[ShownPart]):
    """The parts of what is shown: those that were looked at one by one, and pieces of segments whose entries are read
    when somebody looks at them."""

    single: Sequence[ShownPart]
    pieces: Sequence[tuple[Segment, Pieces]]
    _all: tuple[ShownPart, ...] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, parts: Sequence[ShownPart]) -> ShownParts:
        """Of any parts."""
        return parts if isinstance(parts, ShownParts) else cls(parts, ())

    def __len__(self) -> int:
        return len(self.single) + sum(len(p) for _, p in self.pieces)

    def _listed(self) -> Sequence[ShownPart]:
        if self._all is None:
            read = (
                ShownPart(segment=replace(segment, interval=part), entry=entry)
                for segment, pieces in self.pieces
                for part, entry in pieces.sources()
            )
            self._all = (*self.single, *read)
        return self._all


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownState:
    """What is shown of a model, part by part, and what is known of it."""

    parts: Sequence[ShownPart] = ()
    partial: Ranges = NOTHING
    """Built while it was open: such rows are replaced once the interval is over."""
    unaudited: Ranges = NOTHING
    """The present audits have no verdict."""
    red: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Reason → what was invalidated since it was shown, as by an audit that fails."""
    foreign: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """What was written to the table → the shown intervals that it is about. What is shown stays as it was."""
    unknown: Ranges = NOTHING
    """The ledger knows no batch of these rows, or their table does not have that commit."""

    @property
    def failed(self) -> Ranges:
        """What is `red`, for whichever reason."""
        return Ranges.of(part for found in self.red.values() for part in found)

    def of(self, version: str) -> tuple[ShownPart, ...]:
        """The parts that are of a version's logic."""
        return tuple(p for p in self.parts if p.segment.logic == version)


def shown_state(pointer: Pointer, groups: EntriesByVersion, log: TableLog, *, audits: str | None) -> ShownState:
    """What is known of all that a pointer shows. `audits` is the digest of the present audits (None: of whichever)."""
    parts: list[ShownPart] = []
    pieces: list[tuple[Segment, Pieces]] = []
    partial: list[Interval] = []
    unaudited: list[Interval] = []
    unknown: list[Interval] = []
    red: dict[str, list[Interval]] = defaultdict(list)
    foreign: dict[str, list[Interval]] = defaultdict(list)
    for segment in pointer.segments:
        entries = groups.get((pointer.model, segment.version), ())
        head = known_head(log, pointer.model, segment.version)
        left = Ranges((segment.interval,))
        if (plain := _plain(entries, segment, head)) is not None:
            history, mine = plain
            pieces.append((segment, mine))
            unaudited.extend(mine.where(~history.passed(mine, audits, or_any=True)).covers)
            known, spots, left = history.others, (), left - mine.covers
        else:
            known, spots = _told(entries, log, pointer.model, segment.version, head)
        verdicts = _verdicts(known, audits)
        for part, entry in _built(known if head >= segment.commit else (), segment.commit, left):
            parts.append(ShownPart(segment=replace(segment, interval=part), entry=entry))
            if entry is None:
                unknown.append(part)
                continue
            if entry.through:
                partial.append(part)
            found = verdicts.get(entry.batch, ())
            for each in found:
                if each.kind is Kind.INVALIDATED:
                    red[each.reason].extend(Ranges((part,)) & Ranges((each.interval,)))
            if not any(part in e.interval for e in found):  # the usual case: a batch has one verdict
                unaudited.extend(Ranges((part,)) - Ranges.of(e.interval for e in found))
        for spot in spots:
            if spot.table_commit > segment.commit:
                hit = Ranges((segment.interval,)) & Ranges((spot.interval or segment.interval,))
                foreign[_who(spot)].extend(hit)
    return ShownState(
        parts=ShownParts(parts, pieces),
        partial=Ranges.of(partial),
        unaudited=Ranges.of(unaudited),
        red={reason: Ranges.of(found) for reason, found in red.items() if found},
        foreign={what: Ranges.of(found) for what, found in foreign.items() if found},
        unknown=Ranges.of(unknown),
    )


def _told(
    entries: Sequence[Entry], log: TableLog, model: str, version: str, head: int
) -> tuple[Sequence[Entry], Sequence[Dirt]]:
    """What is known of a version's table, and the commits that nobody knows; nothing where its log cannot be read."""
    if head >= 0:
        with suppress(DamagedLogError):
            return compare_log(entries, log, model, version, head)
    return (), ()


def _plain(entries: Sequence[Entry], segment: Segment, head: int) -> tuple[VersionHistory, Pieces] | None:
    """What of a segment the newest builds of plain intervals made; None where its table's log has to be looked at, or
    what is shown of one is an older build."""
    if not isinstance(entries, VersionHistory) or not entries.is_whole(head) or head < segment.commit:
        return None
    pieces = entries.shown(segment)
    return None if pieces is None else (entries, pieces)


def as_shown(head: Coverage, version: str, pointer: Pointer | None, shown: ShownState | None) -> Coverage:
    """What there is of a version, where an environment shows parts of it: those count as they are shown.

    `head` is what the newest commit of the version's table has. What is shown is complete, and stays at its commit,
    where the table has other rows by now (or rows that count for nothing); corrections stay as well. What was built
    while it was open is replaced as any other.
    """
    if pointer is None or shown is None:
        return head

    def mine(segment: Segment) -> bool:
        return segment.logic == version and version in (segment.version, pointer.version)

    parts, newest = ShownParts.of(shown.parts), _Newest(head)
    own = ShownParts(
        [p for p in parts.single if mine(p.segment)],
        [(s, p) for s, p in parts.pieces if mine(s) and s.version == version and not newest.has_all(p)],
    )
    stays = [p for p in own if not (p.entry and p.entry.through) and not newest.has(p, version)]
    stays.sort(key=lambda p: p.interval)
    pieces = [(s, p) for s, p in parts.pieces if mine(s) and s.version != version]
    held = Ranges.of([*(p.interval for p in stays), *(part for _, p in pieces for part in p.covers)])
    if not held:
        return head
    kept = head.without(held)
    return Coverage(
        green=kept.green | (held - shown.unaudited),
        unaudited=kept.unaudited | (held & shown.unaudited),
        empty=kept.empty,
        lapsed=kept.lapsed - held,
        sources=BuiltEntries.of(kept.sources).beside(
            ((p.interval, p.entry) for p in stays if p.entry), (p for _, p in pieces)
        ),
        shown_apart=Segments(p.segment for p in stays if p.segment.version == version),
    )


def _verdicts(entries: Iterable[Entry], audits: str | None) -> Mapping[str, Sequence[Entry]]:
    """What these audits (None: whichever) said of each batch; and what was invalidated by none."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind in (Kind.INVALIDATED, Kind.AUDITED) and (audits in (None, entry.audits) or not entry.audits):
            found[entry.batch].append(entry)
    return found


def _built(entries: Sequence[Entry], commit: int, left: Ranges) -> list[tuple[Interval, Entry | None]]:
    """By which batch each part of these ranges was built, as the table was at a commit."""
    found: list[tuple[Interval, Entry | None]] = []
    built = [e for e in entries if e.kind is Kind.BUILT and e.table_commit <= commit]
    for entry in sorted(built, key=lambda e: (e.table_commit, e.at, e.id), reverse=True):
        mine = left & Ranges((entry.interval,))
        found.extend((part, entry) for part in mine)
        left = left - mine
    return [*found, *((part, None) for part in left)]


class _Newest:
    """Of which builds a table's newest commit still has the rows, and they count."""

    def __init__(self, head: Coverage) -> None:
        sources = BuiltEntries.of(head.sources)
        self._pieces = sources.pieces
        self._found: dict[tuple[str, int], list[Interval]] = defaultdict(list)
        for interval, entry in sources.single:
            self._found[entry.batch, entry.table_commit].append(interval)

    def has(self, part: ShownPart, version: str) -> bool:
        """Whether it has all of a part."""
        if part.segment.version != version or part.entry is None:
            return False
        left = Ranges((part.interval,)) - Ranges.of(self._found.get((part.entry.batch, part.entry.table_commit), ()))
        for pieces in self._pieces if left else ():  # in these a table commit is of one batch
            there = pieces.within(left)
            left = left - there.where(there.commit == part.entry.table_commit).covers
        return not left

    def has_all(self, pieces: Pieces) -> bool:
        """Whether it was told from the same columns, and has all of their time: then it has what these say."""
        return any(pieces.load is there.load and not pieces.covers - there.covers for there in self._pieces)


def _who(spot: Dirt) -> str:
    writer = f"a batch that the ledger does not know ({spot.batch})" if spot.batch else "somebody else"
    return f"{writer} wrote to its table in commit {spot.table_commit}"
