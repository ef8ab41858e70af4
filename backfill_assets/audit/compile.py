"""How are audits asked of Spark? One aggregate scan for a whole model, and small queries for samples of what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import cast

from backfill_assets.intervals import Cadence
from backfill_assets.snapshots.model import Audit, Model

INTERVAL, ROWS = "bf_interval", "bf_rows"
SAMPLE_SIZE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """SQL texts over a relation named `{relation}`.

    `aggregate` gives a row per interval: INTERVAL (text `yyyy-MM-dd HH:mm`), ROWS, and a count of failing rows in a
    column per counted audit. `distinct` gives INTERVAL and such a column for a unique audit on other columns than the
    grain. `samples` gives up to SAMPLE_SIZE failing keys of an audit, as text.
    """

    aggregate: str
    distinct: dict[str, str]
    counted: dict[str, str]
    """Audit name → its column in `aggregate`, or in its own `distinct` query."""
    samples: dict[str, str]


def compile_audits(model: Model) -> Scan:
    """The scan that answers every audit of the model."""
    keys = ", ".join(quoted(c) for c in model.grain)
    bucket = interval_text(model)
    inner: list[str] = []
    outer: list[str] = []
    counted: dict[str, str] = {}
    distinct: dict[str, str] = {}
    samples: dict[str, str] = {}
    for number, audit in enumerate(model.audits):
        column = f"bf_{number}"
        if audit.kind == "unique_grain":
            columns = _columns(audit) or model.grain
            names = ", ".join(quoted(c) for c in columns)
            if tuple(c.lower() for c in columns) == tuple(c.lower() for c in model.grain):
                outer.append(f"sum(bf_n - 1) AS {column}")
            else:
                distinct[audit.name] = (
                    f"SELECT {bucket} AS {INTERVAL}, count(*) - count(DISTINCT struct({names})) AS {column} "
                    f"FROM {{relation}} GROUP BY 1"
                )
            samples[audit.name] = (
                f"SELECT {_key_text(columns)} AS sample FROM {{relation}} WHERE {{where}} "
                f"GROUP BY {names} HAVING count(*) > 1 LIMIT {SAMPLE_SIZE}"
            )
            counted[audit.name] = column
        elif condition := failing(audit):
            inner.append(f"count_if({condition}) AS {column}")
            outer.append(f"sum({column}) AS {column}")
            samples[audit.name] = (
                f"SELECT {_key_text(model.grain)} AS sample FROM {{relation}} WHERE {{where}} "
                f"AND ({condition}) LIMIT {SAMPLE_SIZE}"
            )
            counted[audit.name] = column
    grouped = ", ".join(["count(*) AS bf_n", *inner])
    totals = ", ".join([f"sum(bf_n) AS {ROWS}", *outer])
    return Scan(
        aggregate=(
            f"SELECT {INTERVAL}, {totals} FROM (SELECT {bucket} AS {INTERVAL}, {keys}, {grouped} "
            f"FROM {{relation}} GROUP BY {INTERVAL}, {keys}) GROUP BY {INTERVAL}"
        ),
        distinct=distinct,
        counted=counted,
        samples=samples,
    )


def failing(audit: Audit) -> str | None:
    """The SQL condition that is true for a row that fails the audit; None when the audit is not about single rows."""
    match audit.kind:
        case "not_null":
            return " OR ".join(f"{quoted(c)} IS NULL" for c in _columns(audit))
        case "range":
            column = quoted(cast(str, audit.arguments["column"]))
            low, high = audit.arguments.get("min"), audit.arguments.get("max")
            parts = [f"{column} < {literal(low)}"] if low is not None else []
            if high is not None:
                parts.append(f"{column} > {literal(high)}")
            return " OR ".join(parts)
        case "accepted_values":
            values = ", ".join(literal(v) for v in cast(Sequence[object], audit.arguments["values"]))
            return f"{quoted(cast(str, audit.arguments['column']))} NOT IN ({values})"
        case _:
            return None


def interval_text(model: Model) -> str:
    """SQL for the start of the interval that a row is in, as text `yyyy-MM-dd HH:mm`."""
    unit = {Cadence.HOURLY: "HOUR", Cadence.DAILY: "DAY", Cadence.WEEKLY: "WEEK", Cadence.MONTHLY: "MONTH"}
    return f"date_format(date_trunc('{unit[model.cadence]}', {quoted(model.time_column)}), 'yyyy-MM-dd HH:mm')"


def quoted(name: str) -> str:
    """A Spark identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: object) -> str:
    """A Spark SQL literal for a YAML value.

    >>> literal("it's"), literal(1.5), literal(True)
    ("'it\\\\'s'", '1.5D', 'true')
    """
    match value:
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


def _columns(audit: Audit) -> tuple[str, ...]:
    return tuple(cast(Sequence[str], audit.arguments.get("columns") or ()))


def _key_text(columns: Sequence[str]) -> str:
    parts = ", ".join(f"concat('{c}=', coalesce(cast({quoted(c)} AS STRING), 'NULL'))" for c in columns)
    return f"concat_ws(', ', {parts})"
