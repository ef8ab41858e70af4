"""When does an interval count as over? At its end, or at the first tick of a cron expression at or after that."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from backfill_assets.core.intervals import FIRST_YEAR

LONGEST = 100
"""Characters of a cron expression, at most."""
_FIELDS = 5
_NEVER = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
_MONTH = 3


def check_cron(text: str) -> str:
    """The expression, its fields one space apart. Raises ValueError for one that nobody can read or that never ticks.

    >>> check_cron("0  6 * * mon-fri")
    '0 6 * * MON-FRI'
    """
    from cronsim import CronSim, CronSimError

    fields = text.upper().split()
    if len(fields) != _FIELDS or len(text) > LONGEST:
        raise ValueError("not the five fields of a cron expression: minute, hour, day of month, month, day of week")
    found = " ".join(fields)
    try:
        next(CronSim(found, datetime(2000, 1, 1, tzinfo=UTC)))
    except StopIteration:
        raise ValueError("it never ticks: there is no such day") from None
    except CronSimError as error:
        any_month = " ".join([*fields[:_MONTH], "*", *fields[_MONTH + 1 :]])
        try:
            next(CronSim(any_month, datetime(2000, 1, 1, tzinfo=UTC)))
            next(CronSim(f"0 0 1 {fields[_MONTH]} *", datetime(2000, 1, 1, tzinfo=UTC)))
        except CronSimError:
            raise ValueError(f"not a cron expression: {str(error).lower()}") from None
        raise ValueError("it never ticks: there is no such day") from None
    return found


def over_until(crons: Sequence[str], now: datetime) -> datetime:
    """The latest end that an interval may have to count as over at `now`: by each of the expressions.

    >>> over_until(["0 6 * * *"], datetime(2024, 3, 5, 5, 59, tzinfo=UTC)).isoformat()
    '2024-03-04T06:00:00+00:00'
    """
    return min((_last_tick(cron, now.replace(second=0, microsecond=0)) for cron in crons), default=now)


def over_from(crons: Sequence[str], end: datetime) -> datetime:
    """When an interval that ends then counts as over.

    >>> over_from(["0 6 * * *"], datetime(2024, 3, 5, tzinfo=UTC)).isoformat()
    '2024-03-05T06:00:00+00:00'
    """
    return max((_first_tick(cron, end) for cron in crons), default=end)


@functools.lru_cache(maxsize=4096)
def _last_tick(cron: str, now: datetime) -> datetime:
    from cronsim import CronSim

    return next(CronSim(cron, now + timedelta(minutes=1), reverse=True), _NEVER)


@functools.lru_cache(maxsize=4096)
def _first_tick(cron: str, at: datetime) -> datetime:
    from cronsim import CronSim

    return next(CronSim(cron, at - timedelta(seconds=1)))
