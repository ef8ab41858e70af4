"""Up to when does a source say that all of its rows are there? By a file in each day's folder, or by later rows."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from backfill_assets.adapters.source_days import value_span
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Source, SourceReady

NOTHING_READY = utc("1700-01-01")
"""Before all that models can have."""


def ready_until(source: Source, ready: SourceReady, days: Ranges | None) -> datetime:
    """What ends by then is ready. `days` are the times for which the source's files have rows; None: they do not say.

    Raises PlanError where that cannot be told.
    """
    return _by_files(source, ready) if ready.file else _by_rows(source, days)


def _by_rows(source: Source, days: Ranges | None) -> datetime:
    """The time of the last row; of one that has a day only, where that begins."""
    if days is None:
        raise PlanError(
            f"nobody can tell how far {source.name} is ready: its files do not say which times they have rows of",
            why="`ready: later_rows` waits for a row of a later time: statistics, footers or folders have to name it",
            fix=f"write statistics of {source.time_column}, or take `ready` out of {source.file}:{source.line}",
        )
    if days.span is None:
        return NOTHING_READY
    end = days.span.end
    return end - timedelta(days=1) if end == Cadence.DAILY.floor(end) else end - timedelta(milliseconds=1)


def _by_files(source: Source, ready: SourceReady) -> datetime:
    """Where the first day begins that has a folder without the file, or none while a later day has one, unless the
    source need not have one for every day; the end of the last day where there is no such day."""
    name, root, column = ready.file, Path(cast(str, source.path)), cast(str, source.time_column).lower()
    days: dict[datetime, bool] = {}
    for folder in root.rglob("*=*"):
        key, _, value = folder.name.partition("=")
        hidden = any(part.startswith(("_", ".")) for part in folder.relative_to(root).parts)
        if key.lower() != column or hidden or not folder.is_dir():
            continue
        span = value_span(unquote(value), unquote(value))
        day = span.span if span else None
        if day is None:  # rows of no day are of no interval
            continue
        if day.end != Cadence.DAILY.shift(Cadence.DAILY.floor(day.start), 1):
            raise PlanError(
                f"nobody can tell how far {source.name} is ready: the folder {folder.name} is of no day",
                why=f"`ready` looks for {name} in folders such as {source.time_column}=2024-01-31",
                fix=f"move the folder, or take `ready` out of {source.file}:{source.line}",
            )
        days[day.start] = days.get(day.start, True) and (folder / name).is_file()
    if not days:
        raise PlanError(
            f"nobody can tell how far {source.name} is ready: it has no folders {source.time_column}=…",
            why=f"`ready` looks for {name} in the folder of each day, below {root}",
            fix=f"write its files into a folder a day, or take `ready` out of {source.file}:{source.line}",
        )
    first, end = min(days), Cadence.DAILY.shift(max(days), 1)
    asked = (unit.start for unit in Cadence.DAILY.split(Interval(first, end))) if ready.every_day else sorted(days)
    return next((day for day in asked if not days.get(day)), end)
