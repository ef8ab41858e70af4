"""From when to when does a source have rows? From the statistics in a Delta table's log, without reading a row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from backfill_assets.adapters.table_log import open_table
from backfill_assets.intervals import Interval, utc
from backfill_assets.snapshots.model import Source


def source_extent(source: Source, pin: Mapping[str, object]) -> Interval | None:
    """From the time column's lowest day to its highest, at the commit that the plan froze; None: nobody can tell."""
    if source.path is None or source.format != "delta" or source.time_column is None:
        return None
    commit = pin.get("commit")
    table = open_table(source.path, commit if isinstance(commit, int) else None)
    if table is None:
        return None
    actions: Any = table.get_add_actions(flatten=True)
    names = {name.lower(): name for name in actions.schema.names}
    column = source.time_column.lower()
    if (partition := names.get(f"partition.{column}")) is not None:
        lowest = highest = actions.column(partition).to_pylist()
    elif f"min.{column}" in names and f"max.{column}" in names:
        lowest, highest = (actions.column(names[f"{end}.{column}"]).to_pylist() for end in ("min", "max"))
    else:
        return None
    if not lowest or any(not isinstance(v, date) for v in (*lowest, *highest)):  # a datetime is a date
        return None  # a file without statistics, a partition of NULL, or text
    return Interval(_day(min(lowest)), _day(max(highest)) + timedelta(days=1))


def _day(value: date) -> datetime:
    return utc(value).replace(hour=0, minute=0, second=0, microsecond=0)
