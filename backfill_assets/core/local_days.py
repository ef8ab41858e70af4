"""When does a local day begin and end in UTC, and which local days does a stretch of UTC time meet?

A local day is named by its midnight as if that were UTC: the days of all zones are then cut, counted and stored alike.
In UTC it has 23 hours where clocks are put forward and 25 where they are put back. Where they are put back over a
midnight, rows of a day come in two pieces, and its time is from the first to the last of them; a day that a zone left
out at the date line has no time at all.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

from backfill_assets.core.intervals import EARLIEST, LATEST, Interval

_DAY, _SECOND, _LEAST = timedelta(days=1), timedelta(seconds=1), timedelta(microseconds=1)


@functools.cache
def known_zones() -> frozenset[str]:
    """The names of regions whose clocks both Python and Spark know: `Europe/Berlin`, not `CET` or an offset."""
    return frozenset(z for z in available_timezones() if "/" in z and not z.startswith(("Etc/", "posix/", "right/")))


def time_of_days(zone: str, days: Interval) -> Interval | None:
    """The UTC time of local days, from the first instant of the first one to the last of the last one; None where they
    have no time.

    >>> print(time_of_days("America/New_York", Interval.of("2024-03-10", "2024-03-11")).to_plain())
    ['2024-03-10T05:00:00+00:00', '2024-03-11T04:00:00+00:00']
    """
    start, end = first_instant(zone, days.start), all_later_from(zone, days.end)
    return Interval(start, end) if start < end else None


def days_meeting(zone: str, time: Interval) -> Interval:
    """The local days that have any time in common with a stretch of UTC time.

    >>> str(days_meeting("America/New_York", Interval.of("2024-03-10", "2024-03-11")))
    '2024-03-09..2024-03-10'
    """
    first, last = local_day(zone, time.start), local_day(zone, time.end - _LEAST)
    while all_later_from(zone, first) > time.start:
        first -= _DAY
    while first_instant(zone, last + _DAY) < time.end:
        last += _DAY
    return Interval(first, last + _DAY)


def days_until(zone: str, instant: datetime) -> datetime:
    """Where the last local day ends that is over at an instant.

    >>> days_until("Asia/Tokyo", datetime(2024, 3, 5, 15, tzinfo=UTC)).date().isoformat()
    '2024-03-06'
    """
    day = local_day(zone, instant)
    while all_later_from(zone, day) > instant:
        day -= _DAY
    return day


def local_day(zone: str, instant: datetime) -> datetime:
    """The midnight, as if it were UTC, of the day that the zone's clocks show."""
    if not EARLIEST <= instant < LATEST:  # of no source and no model: all of time
        return instant.replace(hour=0, minute=0, second=0, microsecond=0)
    shown = instant.astimezone(ZoneInfo(zone))
    return datetime(shown.year, shown.month, shown.day, tzinfo=UTC)


@functools.lru_cache(maxsize=65536)
def first_instant(zone: str, day: datetime) -> datetime:
    """The first instant at which the zone's clocks show this day, or a later one."""
    first, second = _midnights(zone, day)
    return first if first <= second else _jump(zone, day, second, first)


@functools.lru_cache(maxsize=65536)
def all_later_from(zone: str, day: datetime) -> datetime:
    """The instant from which on they show this day or a later one, for good."""
    first, second = _midnights(zone, day)
    if first > second:
        return _jump(zone, day, second, first)
    return second if local_day(zone, second - _LEAST) < day else first


def _midnights(zone: str, day: datetime) -> tuple[datetime, datetime]:
    """The two instants of a midnight that comes twice; once: the same one. Of one that is skipped, what the clock
    before the jump and the one after it would make of it: the second is the earlier one then."""
    if not EARLIEST < day < LATEST:
        return day, day
    wall = day.replace(tzinfo=ZoneInfo(zone))
    return wall.astimezone(UTC), wall.replace(fold=1).astimezone(UTC)


def _jump(zone: str, day: datetime, before: datetime, after: datetime) -> datetime:
    """The instant in `(before, after]` at which clocks jump over the midnight."""
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        before, after = (before, middle) if local_day(zone, middle) >= day else (middle, after)
    return after
