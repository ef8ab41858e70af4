"""Which batch computed which part of time, of thousands of parts? Columns say it, until somebody asks for an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.lazy_sequence import LazySequence
from backfill_assets.state.columns import instant, micros

if TYPE_CHECKING:
    from backfill_assets.state.columns import Flags, Numbers
    from backfill_assets.state.entries import Entry

Source = tuple[Interval, "Entry"]
"""A part of time, and the BUILT entry that computed it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces:
    """Parts of time that do not overlap, by start, each as one batch wrote it: at which commit, and how many rows."""

    start: Numbers
    end: Numbers
    commit: Numbers
    rows: Numbers
    whole: Numbers
    """Where each part comes from: its place among all of the version's intervals."""
    load: Callable[[], Sequence[Entry]]
    """Reads the BUILT entry of each of these."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def covers(self) -> Ranges:
        """The time of all of them."""
        if not len(self):
            return Ranges()
        breaks = (self.start[1:] != self.end[:-1]).nonzero()[0]
        starts = [int(self.start[0]), *self.start[breaks + 1].tolist()]
        ends = [*self.end[breaks].tolist(), int(self.end[-1])]
        return Ranges(tuple(Interval(instant(a), instant(b)) for a, b in zip(starts, ends, strict=True)))

    def where(self, mine: Flags | Numbers) -> Pieces:
        """The pieces that a mask, or places, select."""
        return Pieces(
            start=self.start[mine], end=self.end[mine], commit=self.commit[mine], rows=self.rows[mine],
            whole=self.whole[mine], load=self.load,
        )  # fmt: skip

    def within(self, ranges: Ranges) -> Pieces:
        """What of them is in these ranges, cut to them."""
        import numpy as np

        found: list[Pieces] = []
        for interval in ranges:
            start, end = micros(interval.start), micros(interval.end)
            first, last = np.searchsorted(self.end, start, "right"), np.searchsorted(self.start, end, "left")
            part = self.where(np.arange(first, last))
            found.append(part._cut(start, end))
        return found[0] if len(found) == 1 else _all(self, found)

    def without(self, ranges: Ranges) -> Pieces:
        """The pieces outside of these ranges, cut at their edges."""
        if not len(self):
            return self
        span = Interval(instant(int(self.start[0])), instant(int(self.end[-1])))
        return self.within(Ranges((span,)) - ranges)

    def sources(self) -> Iterator[Source]:
        """The BUILT entry of each part."""
        if not len(self):
            return
        entries = self.load()
        for start, end, at in zip(self.start.tolist(), self.end.tolist(), self.whole.tolist(), strict=True):
            yield Interval(instant(start), instant(end)), entries[at]

    def _cut(self, start: int, end: int) -> Pieces:
        import numpy as np

        return Pieces(
            start=np.maximum(self.start, start), end=np.minimum(self.end, end), commit=self.commit, rows=self.rows,
            whole=self.whole, load=self.load,
        )  # fmt: skip


def _all(like: Pieces, found: Sequence[Pieces]) -> Pieces:
    import numpy as np

    def joined(of: Callable[[Pieces], Numbers]) -> Numbers:
        return np.concatenate([of(like)[:0], *(of(part) for part in found)])

    return Pieces(
        start=joined(lambda p: p.start), end=joined(lambda p: p.end), commit=joined(lambda p: p.commit),
        rows=joined(lambda p: p.rows), whole=joined(lambda p: p.whole), load=like.load,
    )  # fmt: skip


@dataclass(slots=True, eq=False)
class BuiltEntries(LazySequence[Source]):
    """Which BUILT entry computed each part of a version: those that were looked at one by one, and pieces whose entries
    are read when somebody looks at them. By start."""

    single: Sequence[Source]
    pieces: tuple[Pieces, ...]
    _all: tuple[Source, ...] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, sources: Sequence[Source]) -> BuiltEntries:
        """Of any sources."""
        return sources if isinstance(sources, BuiltEntries) else cls(sources, ())

    def within(self, ranges: Ranges) -> BuiltEntries:
        """What of them is in these ranges, cut to them."""
        single = [(part, entry) for whole, entry in self.single for part in ranges & Ranges((whole,))]
        return BuiltEntries(single, tuple(p.within(ranges) for p in self.pieces))

    def without(self, ranges: Ranges) -> BuiltEntries:
        """The pieces outside of these ranges, cut at their edges."""
        single = [(part, entry) for whole, entry in self.single for part in Ranges((whole,)) - ranges]
        return BuiltEntries(single, tuple(p.without(ranges) for p in self.pieces))

    def beside(self, others: Iterable[Source], pieces: Iterable[Pieces]) -> BuiltEntries:
        """Both sets of entries together."""
        return BuiltEntries(sorted([*self.single, *others], key=_start), (*self.pieces, *pieces))

    @property
    def newest(self) -> int:
        """The largest table commit of all; -1 where there is none."""
        commits = [entry.table_commit for _, entry in self.single]
        return max([-1, *commits, *(int(p.commit.max()) for p in self.pieces if len(p))])

    @property
    def hollow(self) -> bool:
        """Whether none of them has any row."""
        return not (any(entry.rows for _, entry in self.single) or any(p.rows.any() for p in self.pieces))

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        return len(self.single) + sum(map(len, self.pieces))

    def _listed(self) -> tuple[Source, ...]:
        if self._all is None:
            read = (source for piece in self.pieces for source in piece.sources())
            self._all = tuple(sorted([*self.single, *read], key=_start))
        return self._all


def _start(source: Source) -> Interval:
    return source[0]
