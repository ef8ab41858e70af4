"""Which of thousands of parts meet an interval? Found without looking at the others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from backfill_assets.core.intervals import Interval

T = TypeVar("T")


class IntervalIndex(Generic[T]):
    """Things by the parts of time that they are of: of any two the one that begins later ends no earlier.

    >>> index = IntervalIndex((Interval.of(f"2024-01-0{n}", f"2024-01-0{n + 1}"), n) for n in (3, 1, 2))
    >>> [n for _, n in index.meeting(Interval.of("2024-01-02", "2024-01-04"))]
    [2, 3]
    """

    def __init__(self, parts: Iterable[tuple[Interval, T]]) -> None:
        self._parts = sorted(parts, key=lambda part: part[0])
        self._ends = [part.end for part, _ in self._parts]

    def meeting(self, interval: Interval) -> Iterator[tuple[Interval, T]]:
        """The parts that have some time in common with the interval, whole, the earliest first."""
        for at in range(bisect_right(self._ends, interval.start), len(self._parts)):
            if self._parts[at][0].start >= interval.end:
                return
            yield self._parts[at]
