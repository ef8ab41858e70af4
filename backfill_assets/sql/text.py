"""How are names, values and keys written in Spark's SQL?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import Model


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
    return as_text(_truncated(column, cadence))


def interval_start(model: Model) -> str:
    """The start itself: many rows are grouped by it in half the time that their texts take."""
    if model.cadence is Cadence.DAILY:
        return f"CAST({quoted(model.time_column)} AS DATE)"
    return _truncated(model.time_column, model.cadence)


def interval_end(model: Model) -> str:
    """The end of the interval that a row is in, which is not of it any more."""
    return f"{interval_start(model)} + INTERVAL 1 {model.cadence.unit.upper()}"


def clock_time(model: Model, column: str) -> str:
    """A date or an instant as the clocks of the model's intervals show it; dates, and timestamps without a zone, are
    taken to be that already."""
    name = quoted(column)
    if not model.time_zone:
        return name
    there = f"from_utc_timestamp({name}, {literal(model.time_zone)})"
    return f"CASE WHEN typeof({name}) = 'timestamp' THEN {there} ELSE {name} END"


def _truncated(column: str, cadence: Cadence) -> str:
    return f"date_trunc('{cadence.unit.upper()}', {quoted(column)})"


def as_text(start: str) -> str:
    """The start of an interval as text."""
    return f"date_format({start}, 'yyyy-MM-dd HH:mm')"


def within(column: str, parts: Iterable[Interval], *, timestamps: bool) -> str:
    """The SQL condition for a time column to be in any of these, with literals: instants, or days.

    Spark 4.2 cannot use BETWEEN in `replaceWhere`.
    """
    name, form = quoted(column), "TIMESTAMP '%Y-%m-%d %H:%M:%S'" if timestamps else "DATE '%Y-%m-%d'"
    found = [f"{name} >= {p.start.strftime(form)} AND {name} < {p.end.strftime(form)}" for p in parts]
    return found[0] if len(found) == 1 else f"({' OR '.join(f'({one})' for one in found)})"


def key_text(columns: Iterable[str], masked: Iterable[str] = ()) -> str:
    """SQL for a row's values of these columns, as `a=1, b=NULL`; masked ones as `b=***`."""
    hidden = {c.lower() for c in masked}
    values = {c: literal(HIDDEN) if c.lower() in hidden else value_text(quoted(c)) for c in columns}
    parts = ", ".join(f"concat({literal(c + chr(61))}, {value})" for c, value in values.items())
    return f"concat_ws(', ', {parts})"


def hidden(model: Model, column: str) -> bool:
    """Whether nobody should see the column's values."""
    return column.lower() in {c.lower() for c in model.mask}


def value_text(value: str) -> str:
    """SQL for a value as text."""
    return f"coalesce(cast({value} AS STRING), 'NULL')"


def names(columns: Sequence[str]) -> str:
    """Quoted and separated."""
    return ", ".join(quoted(c) for c in columns)
