"""Which rows of which tables are shown? Segments of time, each of one table at one commit, and their algebra."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Self

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import Interval, Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalCounts:
    """How many files and rows a table had of an interval, at a commit, when a promotion pointed at it.

    A commit never changes: another count means that the table's log, or a file, is damaged.
    """

    interval: Interval
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The rows of `interval` in the table of one version (or a revision of it), as they were at `commit`."""

    version: str
    commit: int
    interval: Interval
    columns: tuple[tuple[str, str], ...] = ()
    """Name and type of the table's columns where they are not the pointer's: rows of older logic."""
    held: IntervalCounts | None = field(default=None, compare=False)
    """What a promotion counted; of a wider interval when this is a part of what was promoted."""

    @property
    def logic(self) -> str:
        """The version whose logic made the rows: a revision's is that of the version that it corrects."""
        return logic_of(self.version)


class Segments(tuple[Segment, ...]):
    """Segments of one model. What is shown does not overlap, and is in order of time."""

    __slots__ = ()

    @classmethod
    def of_table(cls, version: str, commit: int, intervals: Iterable[Interval]) -> Self:
        """These intervals of one table at one commit."""
        return cls(Segment(version=version, commit=commit, interval=part) for part in intervals)

    def to_plain(self) -> list[object]:
        """As JSON: each segment, without what a promotion counted."""
        return [{name: said for name, said in to_plain(s).items() if name != "held"} for s in self]

    @classmethod
    def of_plain(cls, raw: Iterable[object]) -> Self:
        return cls(from_plain(Segment, s) for s in raw)

    @property
    def covers(self) -> Ranges:
        """The time that there are rows for."""
        return Ranges.of(s.interval for s in self)

    def cut(self, to: Ranges) -> Segments:
        """What there is within these ranges."""
        return Segments(replace(s, interval=part) for s in self for part in Ranges((s.interval,)) & to)

    def without(self, ranges: Ranges) -> Segments:
        """What there is outside of these ranges."""
        return Segments(replace(s, interval=part) for s in self for part in Ranges((s.interval,)) - ranges)

    def over(self, below: Segments) -> Segments:
        """These, and what they leave of those below."""
        return Segments((*below.without(self.covers), *self)).joined()

    def joined(self) -> Segments:
        """The same rows in order of time, neighbours of one table at one commit as one segment."""
        found: list[Segment] = []
        for segment in sorted(self, key=lambda s: s.interval):
            last = found[-1] if found else None
            if last and last.interval.end == segment.interval.start and _of_one_table(last, segment):
                found[-1] = replace(last, interval=Interval(last.interval.start, segment.interval.end))
            else:
                found.append(segment)
        return Segments(found)

    @property
    def adopted(self) -> Segments:
        """Those whose rows are of a table that was adopted."""
        return Segments(s for s in self if is_adopted(s.version))

    def of_logic(self, logic: str) -> Segments:
        """Those whose rows a version's logic made, corrections included."""
        return Segments(s for s in self if s.logic == logic)

    def of_other_logic(self, logic: str) -> Segments:
        """Those whose rows another version's logic made."""
        return Segments(s for s in self if s.logic != logic)

    def in_table(self, version: str) -> Segments:
        """Those that are in the table of this version."""
        return Segments(s for s in self if s.version == version)

    def in_other_tables(self, version: str) -> Segments:
        """Those that are not in the table of this version."""
        return Segments(s for s in self if s.version != version)

    def meetings(self, other: Segments) -> Iterator[tuple[Segment, Segment, Interval]]:
        """Each pair of a segment here and one there that have time in common, and that time."""
        for one in self:
            for another in other:
                if common := one.interval.intersection(another.interval):
                    yield one, another, common

    def tables(self) -> list[tuple[Segment, Ranges]]:
        """The first segment of each table at a commit, with the time of all of them: a table is opened once."""
        found: dict[tuple[object, ...], list[Segment]] = {}
        for segment in self:
            found.setdefault((segment.version, segment.commit, segment.columns), []).append(segment)
        return [(same[0], Segments(same).covers) for same in found.values()]


NO_ROWS = Segments()
"""Nothing of any table."""


def revision_of(version: str, name: str) -> str:
    """The version of a restatement: the same logic in a table of its own, which holds only the restated intervals.

    >>> revision_of("c0950c86e42e28c2", "1f3a"), logic_of("c0950c86e42e28c2.1f3a"), logic_of("c0950c86e42e28c2")
    ('c0950c86e42e28c2.1f3a', 'c0950c86e42e28c2', 'c0950c86e42e28c2')
    """
    return f"{logic_of(version)}.{name}"


def logic_of(version: str) -> str:
    """The version whose logic a table's rows are of: its own, or the one that it is a revision of."""
    return version.partition(".")[0]


_ADOPTED = "adopted-"


def adopted_of(version: str, name: str) -> str:
    """The version whose rows are those of a table that somebody else made: it counts as a revision of the model's.

    >>> adopted_of("c0950c86e42e28c2", "1f3a5b7d"), is_adopted("c0950c86e42e28c2.1f3a")
    ('c0950c86e42e28c2.adopted-1f3a5b7d', False)
    """
    return revision_of(version, f"{_ADOPTED}{name}")


def is_adopted(version: str) -> bool:
    """Whether a version's rows were adopted: no code of this project computed them, and nothing is written to them."""
    return version.partition(".")[2].startswith(_ADOPTED)


def _of_one_table(one: Segment, other: Segment) -> bool:
    return (one.version, one.commit, one.columns) == (other.version, other.commit, other.columns)
