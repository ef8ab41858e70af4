"""Which intervals of a cadence, in which zone's days? Where they begin and end in UTC, and which are over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.local_days import all_later_from, days_meeting, days_until, time_of_days

_LEAST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Intervals of UTC, or (`time_zone`) of local days, which are named as `core/local_days.py` says."""

    cadence: Cadence
    time_zone: str = ""

    @classmethod
    def of_definition(cls, said: Mapping[str, Any]) -> Self:
        """That of a version, by its record."""
        return cls(Cadence(said.get("cadence", Cadence.DAILY.value)), said.get("time_zone", ""))

    def __str__(self) -> str:
        return f"{self.cadence.value} in {self.time_zone}" if self.time_zone else self.cadence.value

    def time_of(self, intervals: Interval) -> Interval | None:
        """The UTC time of these intervals; None where their days have none."""
        return time_of_days(self.time_zone, intervals) if self.time_zone else intervals

    def meeting(self, time: Interval) -> Interval:
        """The whole intervals that have any time in common with a stretch of UTC time."""
        return self.cadence.cover(days_meeting(self.time_zone, time) if self.time_zone else time)

    def seen_from(self, other: Calendar, intervals: Interval) -> Interval | None:
        """The smallest run of whole intervals that holds those of another calendar; None where these have no time."""
        if self.time_zone == other.time_zone:
            return self.cadence.cover(intervals)
        time = other.time_of(intervals)
        return self.meeting(time) if time else None

    def over(self, now: datetime) -> datetime:
        """Where the last interval ends that has ended at `now`."""
        return self.cadence.floor(self.days_over(now))

    def days_over(self, now: datetime) -> datetime:
        """The same of days; of UTC the instant itself."""
        return days_until(self.time_zone, now) if self.time_zone else now

    def begun(self, now: datetime) -> datetime:
        """Where the last interval ends that has begun before `now`."""
        return self.meeting(Interval(now - _LEAST, now)).end

    def instant(self, end: datetime) -> datetime:
        """When in UTC an interval has ended that ends there."""
        return all_later_from(self.time_zone, end) if self.time_zone else end


UTC_TIME = Calendar(Cadence.HOURLY)
"""That of sources, whose rows are of any instant of UTC."""
