"""What has become of what an environment shows of a model? By which batch each part was built, and what is known since.

What is shown is never written again: it stays at the commit that its pointer names, whatever happens to the table
later. An audit that fails on it, or somebody's commit over it, is a finding, until a restatement shows other rows
beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.state.ledger import Coverage, Dirt, EntriesByVersion, Entry, Kind
from backfill_assets.state.tables import TableLog, compare_log


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """A part of a segment that one batch built. `entry` is None where the ledger knows no batch of these rows."""

    segment: Segment
    """Cut to the part."""
    entry: Entry | None

    @property
    def interval(self) -> Interval:
        return self.segment.interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownState:
    """What is shown of a model, part by part, and what is known of it."""

    parts: tuple[ShownPart, ...] = ()
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

    def of(self, version: str) -> tuple[ShownPart, ...]:
        """The parts that are of a version's logic."""
        return tuple(p for p in self.parts if p.segment.logic == version)


def shown_state(pointer: Pointer, groups: EntriesByVersion, log: TableLog, *, audits: str | None) -> ShownState:
    """What is known of all that a pointer shows. `audits` is the digest of the present audits (None: of whichever)."""
    parts: list[ShownPart] = []
    partial: list[Interval] = []
    unaudited: list[Interval] = []
    unknown: list[Interval] = []
    red: dict[str, list[Interval]] = defaultdict(list)
    foreign: dict[str, list[Interval]] = defaultdict(list)
    for segment in pointer.segments:
        entries = groups.get((pointer.model, segment.version), ())
        head = log.head(pointer.model, segment.version)
        known, spots = compare_log(entries, log, pointer.model, segment.version, head) if head >= 0 else ((), [])
        verdicts = _verdicts(known, audits)
        for part, entry in _built(known if head >= segment.commit else (), segment):
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
        parts=tuple(parts),
        partial=Ranges.of(partial),
        unaudited=Ranges.of(unaudited),
        red={reason: Ranges.of(found) for reason, found in red.items() if found},
        foreign={what: Ranges.of(found) for what, found in foreign.items() if found},
        unknown=Ranges.of(unknown),
    )


def as_shown(head: Coverage, version: str, pointer: Pointer | None, shown: ShownState | None) -> Coverage:
    """What there is of a version, where an environment shows parts of it: those count as they are shown.

    `head` is what the newest commit of the version's table has. What is shown is complete, and stays at its commit,
    where the table has other rows by now (or rows that count for nothing); corrections stay as well. What was built
    while it was open is replaced as any other.
    """
    if pointer is None or shown is None:
        return head
    mine = [p for p in shown.of(version) if p.segment.version == version or pointer.version == version]
    newest = _by_commit(head)
    stays = [p for p in mine if not (p.entry and p.entry.through) and not _is_newest(p, version, newest)]
    held = Ranges.of(p.interval for p in stays)
    if not held:
        return head
    kept = head.without(held)
    sources = [*kept.sources, *((p.interval, p.entry) for p in stays if p.entry)]
    return Coverage(
        green=kept.green | (held - shown.unaudited),
        unaudited=kept.unaudited | (held & shown.unaudited),
        empty=kept.empty,
        lapsed=kept.lapsed - held,
        sources=tuple(sorted(sources, key=lambda s: s[0])),
        shown_apart=Segments(p.segment for p in stays if p.segment.version == version),
    )


def _verdicts(entries: Iterable[Entry], audits: str | None) -> Mapping[str, Sequence[Entry]]:
    """What these audits (None: whichever) said of each batch; and what was invalidated by none."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind in (Kind.INVALIDATED, Kind.AUDITED) and (audits in (None, entry.audits) or not entry.audits):
            found[entry.batch].append(entry)
    return found


def _built(entries: Sequence[Entry], segment: Segment) -> list[tuple[Interval, Entry | None]]:
    """By which batch each part of a segment was built, as its table was at the segment's commit."""
    found: list[tuple[Interval, Entry | None]] = []
    left = Ranges((segment.interval,))
    built = [e for e in entries if e.kind is Kind.BUILT and e.table_commit <= segment.commit]
    for entry in sorted(built, key=lambda e: (e.table_commit, e.at, e.id), reverse=True):
        mine = left & Ranges((entry.interval,))
        found.extend((part, entry) for part in mine)
        left = left - mine
    return [*found, *((part, None) for part in left)]


def _by_commit(head: Coverage) -> Mapping[tuple[str, int], Sequence[Interval]]:
    """Batch and table commit → the intervals of which the table's newest commit has their rows."""
    found: dict[tuple[str, int], list[Interval]] = defaultdict(list)
    for interval, entry in head.sources:
        found[entry.batch, entry.table_commit].append(interval)
    return found


def _is_newest(part: ShownPart, version: str, newest: Mapping[tuple[str, int], Sequence[Interval]]) -> bool:
    """Whether the table's newest commit still has the rows that are shown, and they count."""
    if part.segment.version != version or part.entry is None:
        return False
    same = newest.get((part.entry.batch, part.entry.table_commit), ())
    return not Ranges((part.interval,)) - Ranges.of(same)


def _who(spot: Dirt) -> str:
    writer = f"a batch that the ledger does not know ({spot.batch})" if spot.batch else "somebody else"
    return f"{writer} wrote to its table in commit {spot.table_commit}"
