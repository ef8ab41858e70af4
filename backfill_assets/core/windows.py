"""When may heavy builds run? Windows on a wall clock of some place, such as 22:00 to 06:00, as intervals of UTC.

A window is named by the day on which it begins. It begins when the clock of the place shows its beginning for the first
time that day, and ends when that shows its end for the last time: where a clock change repeats an hour, all of it
belongs to a window that reaches into it. A time that a clock change leaves out is the instant of the change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from backfill_assets.core.intervals import Interval, Ranges

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
EVERY_DAY = frozenset(range(7))
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])")
_AHEAD = 22
"""Days within which every window comes twice, also where a clock change leaves one out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of the clock that begins on some days of the week. `end` may be on the day after."""

    days: frozenset[int] = EVERY_DAY
    """0 is Monday."""
    start: int
    """In minutes of the day, as `end`."""
    end: int
    """Not after `start`: on the next day. At most 1440, the midnight after the day."""
    time_zone: str = "UTC"

    def __str__(self) -> str:
        """`Mon-Fri 22:00-06:00 Europe/Berlin`."""
        hours = "-".join(f"{at // 60:02}:{at % 60:02}" for at in (self.start, self.end))
        return " ".join(filter(None, (_days(self.days), hours, self.time_zone)))

    def on(self, day: date) -> Interval | None:
        """The window that begins on a day of its place; None where a clock change leaves nothing of it."""
        zone, midnight = ZoneInfo(self.time_zone), datetime.combine(day, time(0))
        start = _instant(midnight + timedelta(minutes=self.start), zone, fold=0)
        ends = midnight + timedelta(days=self.end <= self.start, minutes=self.end)
        end = _instant(ends, zone, fold=1)
        before = (end - timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None)
        if before >= ends:  # the clock goes back to just the end: it never shows less again
            end = _instant(ends, zone, fold=0)
        return Interval(start, end) if start < end else None

    def around(self, now: datetime) -> Iterator[Interval]:
        """Its days before and after an instant, far enough for two of them on each side."""
        today = now.astimezone(ZoneInfo(self.time_zone)).date()
        days = (today + timedelta(days=n) for n in range(-_AHEAD, _AHEAD + 1))
        return (found for day in days if day.weekday() in self.days and (found := self.on(day)) is not None)


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows of a project, at least one."""

    windows: tuple[Window, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.windows))

    def open_at(self, now: datetime) -> Interval | None:
        """The stretch of windows that an instant is in, as far as they follow each other; None: it is in none."""
        return next((i for i in self._around(now) if i.holds(now)), None)

    def coming(self, now: datetime) -> Iterator[Interval]:
        """The stretches from `now` on, the first one cut to what is left of it; they never end."""
        while True:
            found = [i for i in self._around(now) if i.end > now]
            for one in found[:-1]:  # the last one may go on
                yield Interval(max(one.start, now), one.end)
                now = one.end
            if len(found) < 2:  # all the time
                yield Interval(now, now + timedelta(days=_AHEAD))
                now += timedelta(days=_AHEAD)

    def told(self, at: datetime) -> str:
        """An instant on the clock of the first window's place, and in UTC where that is another one:
        `2024-03-01 22:00 Europe/Berlin (21:00 UTC)`."""
        place = self.windows[0].time_zone
        local = at.astimezone(ZoneInfo(place))
        utc = "" if place == "UTC" else f" ({at.astimezone(UTC):%H:%M} UTC)"
        return f"{local:%Y-%m-%d %H:%M} {place}{utc}"

    def _around(self, now: datetime) -> Ranges:
        """The stretches around an instant."""
        return Ranges.of(found for window in self.windows for found in window.around(now))


def minute(text: str, *, last: bool = False) -> int:
    """The minute of the day that `22:00` is; the `last` one of a window may be `24:00`. Raises ValueError.

    >>> minute("06:30")
    390
    """
    found = _CLOCK.fullmatch(text)
    at = int(found[1]) * 60 + int(found[2]) if found else -1
    if not 0 <= at < 1440 + last:
        raise ValueError(f"not a time from 00:00 to {'24:00' if last else '23:59'}")
    return at


def weekdays(text: str) -> frozenset[int]:
    """The days that `mon`, `Monday` or `fri-sun` are. Raises ValueError.

    >>> weekdays("Fri-Sun") == {4, 5, 6}
    True
    """
    first, dash, last = (part.strip() for part in text.partition("-"))
    start, end = _day(first), _day(last if dash else first)
    return frozenset(n % 7 for n in range(start, end + 1 + 7 * (end < start)))


_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _day(name: str) -> int:
    for number, known in enumerate(_NAMES):
        if name.lower() in (known, known[:3]):
            return number
    raise ValueError(f"{name or 'nothing'} is no day: {', '.join(DAYS)}, or a range such as Mon-Fri")


def _days(days: frozenset[int]) -> str:
    """`Mon-Fri`, `Sat,Sun`; empty for all of them."""
    if days == EVERY_DAY:
        return ""
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ",".join(
        f"{DAYS[run[0]]}-{DAYS[run[-1]]}" if len(run) > 2 else ",".join(DAYS[day] for day in run) for run in runs
    )


def _instant(naive: datetime, zone: ZoneInfo, *, fold: int) -> datetime:
    """When the clock shows this, the first (`fold` 0) or the last time; a time that is left out: the change itself."""
    shown = naive.replace(tzinfo=zone, fold=fold)
    found = shown.astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == naive:
        return found
    before, after = shown.replace(fold=0).utcoffset(), shown.replace(fold=1).utcoffset()
    assert before is not None and after is not None
    low, high = (naive.replace(tzinfo=timezone(offset)).astimezone(UTC) for offset in (after, before))
    while high - low > timedelta(seconds=1):  # the clock is changed between the two
        middle = low + (high - low) / 2
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == before else (low, middle)
    return high.replace(microsecond=0)
