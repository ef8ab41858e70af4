"""Which partitions does a model have in Dagster, and which of its upstreams' does each of them read?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

import dagster as dg

from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.core.model import Model, Project
from backfill_assets.defs.names import job_text

RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
_FIX = "choose a contiguous range of partitions, oldest first: --partition-range 2024-01-01...2024-01-31"


def partitions(model: Model, *, clock: datetime | None) -> dg.TimeWindowPartitionsDefinition:
    """One partition an interval, named as `Cadence.key` does, from the model's first whole interval on.

    With a fixed clock exactly the intervals that are over by then exist; otherwise Dagster adds each at its end,
    whatever the model's `ready` says, and a local day, which may be over before the day of UTC that it is named as, at
    its beginning: `require_over` refuses those that come too early. Dagster itself is told no zone, so that models of
    all zones have partitions of one kind.
    """
    cadence = model.cadence
    start = cadence.ceil(model.start)
    ends = [*([model.over(clock)] if clock else []), *([cadence.floor(model.end)] if model.end else [])]
    end = max(min(ends), start) if ends else None
    begun = int(bool(model.time_zone) and end is None)
    match cadence:
        case Cadence.HOURLY:
            return dg.HourlyPartitionsDefinition(start_date=start, end_date=end, timezone="UTC")
        case Cadence.DAILY:
            return dg.DailyPartitionsDefinition(start_date=start, end_date=end, timezone="UTC", end_offset=begun)
        case Cadence.WEEKLY:
            return dg.WeeklyPartitionsDefinition(
                start_date=start, end_date=end, day_offset=1, timezone="UTC", end_offset=begun
            )
        case Cadence.MONTHLY:
            return dg.MonthlyPartitionsDefinition(start_date=start, end_date=end, timezone="UTC", end_offset=begun)


def mapping(model: Model, upstream: Model) -> dg.TimeWindowPartitionMapping:
    """Which of the upstream's partitions a partition of the model reads: the same time, and the lookback before it.

    Dagster cannot offset across cadences; there only the same time is told, and the build itself waits for the rest.
    """
    other = int(model.time_zone != upstream.time_zone)  # a local day is in two days of UTC: of the same name or beside
    first, last = (-model.lookback - other, other) if model.cadence is upstream.cadence else (0, 0)
    return dg.TimeWindowPartitionMapping(
        start_offset=first, end_offset=last, allow_nonexistent_upstream_partitions=True
    )


def chosen(cadence: Cadence, keys: Sequence[str], tags: Mapping[str, str]) -> Interval:
    """The interval that a run's partition keys make up. `tags` are the run's.

    Raises PlanError when there are none (as in a reversed range), or they are not contiguous and in order.
    """
    if not keys:
        first, last = (tags.get(tag) for tag in RANGE_TAGS)
        why = f"the run's range is {first}...{last}" if first and last else "the run names no partition"
        if first and last and first > last:
            why += ", which is reversed"
        raise PlanError("no partition was chosen", why=why, fix=_FIX)
    starts = [partition_start(key) for key in keys]
    for before, after in pairwise(starts):
        if cadence.shift(before, 1) != after:
            raise PlanError(
                "the partitions are not one contiguous range",
                why=f"{cadence.key(after)} follows {cadence.key(before)}",
                fix=_FIX,
            )
    return Interval(starts[0], cadence.shift(starts[-1], 1))


def require_over(project: Project, model: Model, interval: Interval, now: datetime) -> None:
    """Raises PlanError where a part of the interval does not count as over at `now`."""
    if interval.end <= (over := model.over(now)):
        return
    first = next(unit for unit in model.cadence.split(interval) if unit.end > over)
    raise PlanError(
        f"{first} of {model.name} does not count as over yet",
        why=f"it does at {model.over_from(first.end):%Y-%m-%d %H:%M} UTC, by {_decides(model)}",
        fix="choose earlier partitions, or wait; "
        f"{job_text(project, 'apply')} with ignore_cron builds it as far as it got",
    )


def _decides(model: Model) -> str:
    found = [*([f"the days of {model.time_zone}"] if model.time_zone else [])]
    found += ["`ready` of the model or of what it reads"] if model.crons or not found else []
    return " and ".join(found)


def partition_start(key: str) -> datetime:
    """Where the interval of a partition key starts.

    >>> partition_start("2024-03-01-05:00").isoformat()
    '2024-03-01T05:00:00+00:00'
    """
    return utc(f"{key[:10]}T{key[11:]}" if len(key) > 10 else key)
