"""How are names, values and keys written in Spark's SQL?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from backfill_assets.intervals import Cadence
from backfill_assets.snapshots.model import Model

_UNITS = {Cadence.HOURLY: "HOUR", Cadence.DAILY: "DAY", Cadence.WEEKLY: "WEEK", Cadence.MONTHLY: "MONTH"}


def quoted(name: str) -> str:
    """A Spark identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: object) -> str:
    """A Spark SQL literal for a YAML value.

    >>> literal("it's"), literal(1.5), literal(True)
    ("'it\\\\'s'", '1.5D', 'true')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return f"{value!r}D"
        case datetime():
            return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
        case date():
            return f"DATE '{value:%Y-%m-%d}'"
        case _:
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def interval_text(model: Model) -> str:
    """SQL for the start of the interval that a row is in, as text `yyyy-MM-dd HH:mm`."""
    return bucket(model.time_column, model.cadence)


def bucket(column: str, cadence: Cadence) -> str:
    """The same for any time column."""
    return as_text(f"date_trunc('{_UNITS[cadence]}', {quoted(column)})")


def interval_start(model: Model) -> str:
    """The start itself: many rows are grouped by it in half the time that their texts take."""
    if model.cadence is Cadence.DAILY:
        return f"CAST({quoted(model.time_column)} AS DATE)"
    return f"date_trunc('{_UNITS[model.cadence]}', {quoted(model.time_column)})"


def as_text(start: str) -> str:
    """The start of an interval as text."""
    return f"date_format({start}, 'yyyy-MM-dd HH:mm')"


def key_text(columns: Iterable[str]) -> str:
    """SQL for a row's values of these columns, as `a=1, b=NULL`."""
    parts = ", ".join(f"concat({literal(c + chr(61))}, {value_text(quoted(c))})" for c in columns)
    return f"concat_ws(', ', {parts})"


def value_text(value: str) -> str:
    """SQL for a value as text."""
    return f"coalesce(cast({value} AS STRING), 'NULL')"


def names(columns: Sequence[str]) -> str:
    """Quoted and separated."""
    return ", ".join(quoted(c) for c in columns)
