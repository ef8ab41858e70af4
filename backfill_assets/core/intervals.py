"""Which stretches of time does a model consist of? Half-open UTC intervals, their cadence, and sets of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from operator import attrgetter
from typing import Self

FIRST_YEAR, LAST_YEAR = 1700, 2200
"""The years that files and options may name: what is beyond is a slip, and no arithmetic of days leaves `datetime`."""
EARLIEST, LATEST = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
"""The first instant of these years, and the first one after them."""


def utc(value: date | datetime | str) -> datetime:
    """The instant that a date, datetime or ISO text names; what has no zone is UTC. Raises ValueError.

    Always Python's own, of whole microseconds: one of pandas (Parquet statistics are) keeps nanoseconds in all that is
    computed from it.

    >>> utc("2024-03-01").isoformat()
    '2024-03-01T00:00:00+00:00'
    """
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        try:
            value = datetime(value.year, value.month, value.day)
        except AttributeError:  # plain JSON may hold anything
            raise ValueError(f"{value!r} is no instant") from None
    elif type(value) is not datetime:
        value = _plain(value)
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:  # the first or the last day of all years, in another zone
        raise ValueError(f"{value} is out of range") from None


def _plain(value: datetime) -> datetime:
    day, at = (value.year, value.month, value.day), (value.hour, value.minute, value.second, value.microsecond)
    try:
        return datetime(*day, *at, tzinfo=value.tzinfo, fold=value.fold)
    except TypeError:  # `NaT`
        raise ValueError(f"{value!r} is no instant") from None


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A half-open stretch `[start, end)` of UTC time; never empty.

    >>> str(Interval.of("2024-03-01", "2024-03-05"))
    '2024-03-01..2024-03-04'
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f"an interval ends after it starts: {self.start} .. {self.end}")

    @classmethod
    def clamped(cls, start: datetime, end: datetime) -> Self | None:
        """What of it is in the years that files and options may name; None where nothing is.

        >>> str(Interval.clamped(utc("2024-03-01"), utc("9999-12-31")))
        '2024-03-01..2200-12-31'
        """
        start, end = max(start, EARLIEST), min(end, LATEST)
        return cls(start, end) if start < end else None

    @classmethod
    def of(cls, start: date | datetime | str, end: date | datetime | str) -> Self:
        """From anything `utc` takes. Raises ValueError when it would be empty or reversed."""
        return cls(utc(start), utc(end))

    def to_plain(self) -> list[str]:
        """As JSON: both ends, in ISO 8601."""
        return [self.start.isoformat(), self.end.isoformat()]

    @classmethod
    def of_plain(cls, raw: Sequence[str]) -> Self:
        start, end = raw
        return cls(utc(start), utc(end))

    def holds(self, instant: datetime) -> bool:
        return self.start <= instant < self.end

    def __contains__(self, other: Interval) -> bool:
        return self.start <= other.start and other.end <= self.end

    def intersection(self, other: Interval) -> Interval | None:
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Interval(start, end) if start < end else None

    def __str__(self) -> str:
        """As people write it: the last day (hour, minute) inclusive, in the coarsest of these that both ends are of."""
        if _is_midnight(self.start) and _is_midnight(self.end):
            first, last = f"{self.start:%Y-%m-%d}", f"{self.end - timedelta(days=1):%Y-%m-%d}"
        else:
            hours = all(Cadence.HOURLY.floor(end) == end for end in (self.start, self.end))
            within = timedelta(hours=1) if hours else timedelta(microseconds=1)
            first, last = f"{self.start:%Y-%m-%dT%H:%M}", f"{self.end - within:%Y-%m-%dT%H:%M}"
        return first if first == last else f"{first}..{last}"


class Cadence(Enum):
    """How long one interval of a model is. Weeks start on Monday; all boundaries are UTC."""

    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"

    @property
    def unit(self) -> str:
        """What one interval is called: hour, day, week or month."""
        return {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month"}[self.value]

    def floor(self, instant: datetime) -> datetime:
        """The start of the interval that holds the instant.

        >>> Cadence.MONTHLY.floor(utc("2024-03-17")).date().isoformat()
        '2024-03-01'
        """
        if self is Cadence.HOURLY:
            return instant.replace(minute=0, second=0, microsecond=0)
        midnight = instant.replace(hour=0, minute=0, second=0, microsecond=0)
        if self is Cadence.DAILY:
            return midnight
        if self is Cadence.WEEKLY:
            return midnight - timedelta(days=midnight.weekday())
        return midnight.replace(day=1)

    def ceil(self, instant: datetime) -> datetime:
        """The first interval start that is not before the instant."""
        floor = self.floor(instant)
        return floor if floor == instant else self.shift(floor, 1)

    def shift(self, start: datetime, count: int) -> datetime:
        """The interval start `count` intervals after (or, if negative, before) the given interval start.

        >>> Cadence.MONTHLY.shift(utc("2024-01-01"), -1).date().isoformat()
        '2023-12-01'
        """
        match self:
            case Cadence.HOURLY:
                return start + timedelta(hours=count)
            case Cadence.DAILY:
                return start + timedelta(days=count)
            case Cadence.WEEKLY:
                return start + timedelta(weeks=count)
            case Cadence.MONTHLY:
                months = start.year * 12 + start.month - 1 + count
                return start.replace(year=months // 12, month=months % 12 + 1)

    def cover(self, interval: Interval) -> Interval:
        """The smallest run of whole intervals that holds the given one."""
        return Interval(self.floor(interval.start), self.ceil(interval.end))

    def split(self, interval: Interval) -> Iterator[Interval]:
        """The intervals of an aligned range, one by one.

        >>> [str(i) for i in Cadence.DAILY.split(Interval.of("2024-02-28", "2024-03-01"))]
        ['2024-02-28', '2024-02-29']
        """
        start = interval.start
        while start < interval.end:
            end = self.shift(start, 1)
            yield Interval(start, end)
            start = end

    def count(self, interval: Interval) -> int:
        """How many whole intervals an aligned range holds."""
        match self:
            case Cadence.HOURLY:
                return int((interval.end - interval.start) / timedelta(hours=1))
            case Cadence.DAILY:
                return (interval.end - interval.start).days
            case Cadence.WEEKLY:
                return (interval.end - interval.start).days // 7
            case Cadence.MONTHLY:
                return (interval.end.year - interval.start.year) * 12 + interval.end.month - interval.start.month

    def key(self, start: datetime) -> str:
        """The interval's name, as Dagster names partitions (`2024-03-01`, `2024-03-01-05:00`)."""
        return start.strftime("%Y-%m-%d-%H:%M" if self is Cadence.HOURLY else "%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of instants as sorted intervals that neither touch nor overlap.

    >>> a = Ranges.of([Interval.of("2024-01-01", "2024-01-05"), Interval.of("2024-01-05", "2024-01-08")])
    >>> str(a - Ranges.of([Interval.of("2024-01-03", "2024-01-04")]))
    '2024-01-01..2024-01-02, 2024-01-04..2024-01-07'
    """

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, intervals: Iterable[Interval]) -> Ranges:
        merged: list[Interval] = []
        for interval in sorted(intervals):
            if merged and interval.start <= merged[-1].end:
                if interval.end > merged[-1].end:
                    merged[-1] = Interval(merged[-1].start, interval.end)
            else:
                merged.append(interval)
        return cls(tuple(merged))

    def to_plain(self) -> list[list[str]]:
        """As JSON: the ends of each."""
        return [i.to_plain() for i in self.intervals]

    @classmethod
    def of_plain(cls, raw: Iterable[Sequence[str]]) -> Ranges:
        return cls.of(map(Interval.of_plain, raw))

    def __iter__(self) -> Iterator[Interval]:
        return iter(self.intervals)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __or__(self, other: Ranges) -> Ranges:
        return Ranges.of((*self.intervals, *other.intervals))

    def __and__(self, other: Ranges) -> Ranges:
        for many, few in ((self, other), (other, self)):
            if len(few.intervals) == 1:
                return Ranges(many._met_by(few.intervals[0]))
        found: list[Interval] = []
        mine, theirs = iter(self.intervals), iter(other.intervals)
        a, b = next(mine, None), next(theirs, None)
        while a and b:
            if common := a.intersection(b):
                found.append(common)
            if a.end <= b.end:
                a = next(mine, None)
            else:
                b = next(theirs, None)
        return Ranges(tuple(found))

    def __sub__(self, other: Ranges) -> Ranges:
        holes = other.intervals
        if len(holes) == 1:
            return self._without(holes[0])
        left: list[Interval] = []
        first = 0
        for interval in self.intervals:
            start = interval.start
            while first < len(holes) and holes[first].end <= start:
                first += 1
            for hole in holes[first:]:
                if hole.start >= interval.end:
                    break
                if hole.start > start:
                    left.append(Interval(start, hole.start))
                start = max(start, hole.end)
            if start < interval.end:
                left.append(Interval(start, interval.end))
        return Ranges(tuple(left))

    def _near(self, part: Interval) -> slice:
        """Where the intervals are that have any of a part. Sets of thousands are asked for single intervals."""
        ends = bisect_right(self.intervals, part.start, key=_END)
        return slice(ends, bisect_left(self.intervals, part.end, lo=ends, key=_START))

    def _met_by(self, part: Interval) -> tuple[Interval, ...]:
        return tuple(common for i in self.intervals[self._near(part)] if (common := i.intersection(part)))

    def _without(self, hole: Interval) -> Ranges:
        near = self._near(hole)
        met = self.intervals[near]
        if not met:
            return self
        before = (Interval(met[0].start, hole.start),) if met[0].start < hole.start else ()
        after = (Interval(hole.end, met[-1].end),) if hole.end < met[-1].end else ()
        return Ranges((*self.intervals[: near.start], *before, *after, *self.intervals[near.stop :]))

    def __contains__(self, interval: Interval) -> bool:
        return any(interval in whole for whole in self.intervals)

    def until(self, instant: datetime) -> Ranges:
        """The part before an instant.

        >>> str(Ranges.of([Interval.of("2024-01-01", "2024-01-05")]).until(utc("2024-01-03")))
        '2024-01-01..2024-01-02'
        """
        return Ranges(tuple(Interval(i.start, min(i.end, instant)) for i in self.intervals if i.start < instant))

    @property
    def span(self) -> Interval | None:
        """From the first instant to the last, gaps included; None when there is nothing."""
        return Interval(self.intervals[0].start, self.intervals[-1].end) if self.intervals else None

    def count(self, cadence: Cadence) -> int:
        """How many whole intervals of the cadence an aligned set holds."""
        return sum(cadence.count(i) for i in self.intervals)

    def split(self, cadence: Cadence) -> Iterator[Interval]:
        """Every single interval of an aligned set, in order."""
        for interval in self.intervals:
            yield from cadence.split(interval)

    def batches(self, cadence: Cadence, size: int) -> Iterator[Interval]:
        """The set cut into contiguous batches of at most `size` intervals, in order; a gap always ends a batch."""
        for interval in self.intervals:
            start = interval.start
            while start < interval.end:
                end = interval.end
                if size <= cadence.count(Interval(start, end)):  # else it may be in a year that no datetime has
                    end = min(cadence.shift(start, size), end)
                yield Interval(start, end)
                start = end

    def __str__(self) -> str:
        return ", ".join(map(str, self.intervals)) or "nothing"


_START, _END = attrgetter("start"), attrgetter("end")
NOTHING = Ranges()
"""The empty set."""


def by_name(found: Iterable[Mapping[str, Ranges]]) -> dict[str, Ranges]:
    """All that any of these say of each name.

    >>> days = Ranges((Interval.of("2024-01-01", "2024-01-02"),)), Ranges((Interval.of("2024-01-05", "2024-01-06"),))
    >>> {name: str(some) for name, some in by_name([{"a": days[0]}, {"a": days[1]}]).items()}
    {'a': '2024-01-01, 2024-01-05'}
    """
    names = [(name, ranges) for one in found for name, ranges in one.items()]
    return {name: Ranges.of(part for n, ranges in names if n == name for part in ranges) for name, _ in names}


def closed(cadence: Cadence, *, start: datetime, now: datetime, end: datetime | None = None) -> Ranges:
    """The intervals that a model should have: whole ones, from its start to the last that is over at `now`.

    >>> str(closed(Cadence.DAILY, start=utc("2024-01-01"), now=utc("2024-01-03T12:00")))
    '2024-01-01..2024-01-02'
    """
    first, last = cadence.ceil(start), cadence.floor(min(now, end) if end else now)
    return Ranges((Interval(first, last),)) if first < last else NOTHING


def begun(cadence: Cadence, *, start: datetime, now: datetime, end: datetime | None = None) -> Ranges:
    """The closed intervals, and the open one: it has begun and is not over.

    >>> str(begun(Cadence.DAILY, start=utc("2024-01-01"), now=utc("2024-01-03T12:00")))
    '2024-01-01..2024-01-03'
    """
    last = cadence.ceil(now)
    first, last = cadence.ceil(start), min(last, cadence.floor(end)) if end else last
    return Ranges((Interval(first, last),)) if first < last else NOTHING


def _is_midnight(instant: datetime) -> bool:
    return instant.hour == instant.minute == instant.second == instant.microsecond == 0
