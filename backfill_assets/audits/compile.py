"""How are audits asked of Spark? Everything that one pass over the rows can tell, in one aggregate query.

To count a key's distinct values beside other things, Spark carries all of these along with each key, and of several
keys it repeats each row once a key. So every further key has a pass of its own, which reads only its columns. Of many
rows the first one has, too; of few rows a pass costs more than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from backfill_assets.audits.reads import other_table, records, texts
from backfill_assets.audits.rows import HIT, failing, reference, reference_keys, wanted
from backfill_assets.audits.text import as_text, interval_start, literal, names, quoted
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Audit, Model

INTERVAL, ROWS = "bf_interval", "bf_rows"
MANY = 500_000
"""Rows from which on a pass of its own for each key is quicker. `bench/audits.py` measures it."""
BITS = 62
"""Known records, or declared entities, that one number tells apart."""
NEAR = 1e-9
"""How far a known record's floating-point value may be from what is found, unless the audit says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Each of `texts` gives a row per interval: INTERVAL (text `yyyy-MM-dd HH:mm`), ROWS, and some columns of `cells`.

    `expected` gives one row: of each `entities` audit with a reference table, how many entities that has; "" when there
    is no such audit.
    """

    texts: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    """Audit name → its columns, for audits that these passes answer."""
    expected: str


def compile_scan(model: Model, rows: str, views: Mapping[str, str], *, count: int = 0) -> Scan:
    """The scan over the view `rows`, which has about `count`; `views` are the tables that audits refer to, by name."""
    passes: dict[str, _Pass] = {}
    cells: dict[str, tuple[str, ...]] = {}
    counts: list[str] = []
    keys = (key for audit in model.audits if (key := _distinct(model, audit)))
    along = next(keys, "") if count < MANY else ""
    for number, audit in enumerate(model.audits):
        found = _cells(model, audit)
        if not found:
            continue
        key = _distinct(model, audit)
        taken = passes.setdefault("" if key == along else key, _Pass())
        cells[audit.name] = tuple(f"bf_{number}_{part}" for part in range(len(found)))
        taken.selected += [f"{text} AS {column}" for text, column in zip(found, cells[audit.name], strict=True)]
        other = other_table(audit.kind, audit.arguments)
        if other is not None:
            taken.joins.append(reference(audit, views[other]))
            if audit.kind == "entities":
                counts.append(f"(SELECT count(*) FROM ({entities(audit, views)})) AS {cells[audit.name][0]}")
    first = passes.pop("", _Pass())
    return Scan(
        texts=tuple(one.text(model, rows) for one in (first, *passes.values())),
        cells=cells,
        expected=f"SELECT {', '.join(counts)}" if counts else "",
    )


@dataclass(slots=True)
class _Pass:
    """What one look at the rows is asked."""

    selected: list[str] = field(default_factory=list[str])
    joins: list[str] = field(default_factory=list[str])

    def text(self, model: Model, rows: str) -> str:
        start = interval_start(model)
        selected = [f"{as_text(start)} AS {INTERVAL}", f"count(*) AS {ROWS}", *self.selected]
        return f"SELECT {', '.join(selected)} FROM {' '.join([rows, *self.joins])} GROUP BY {start}"


def _distinct(model: Model, audit: Audit) -> str:
    """What an audit counts the distinct values of; "" when it counts none."""
    arguments = audit.arguments
    match audit.kind:
        case "unique_grain":
            return names(model.grain)
        case "unique":
            return names(texts(arguments["columns"])) if wanted(audit) is None else audit.name
        case "entities":
            return audit.name if arguments.get("of") is not None else ""
        case "aggregate" | "trend":
            return audit.name if "distinct" in str(arguments["metric"]).lower() else ""
        case _:
            return ""


def entities(audit: Audit, views: Mapping[str, str]) -> str:
    """The query of the entities that an `entities` audit expects, in a column `bf_entity`."""
    other = other_table(audit.kind, audit.arguments)
    if other is None:
        values = cast(Sequence[object], audit.arguments["values"])
        return " UNION ALL ".join(f"SELECT {literal(v)} AS bf_entity" for v in values)
    field = quoted(reference_keys(audit)[1][0])
    return f"SELECT DISTINCT {field} AS bf_entity FROM {views[other]} WHERE {field} IS NOT NULL"


def key_columns(model: Model) -> tuple[str, ...]:
    """The columns by which a known record is found."""
    return tuple({name.lower(): name for name in (*model.grain, model.time_column)}.values())


def known_in(model: Model, audit: Audit) -> dict[datetime, list[int]]:
    """Interval start → the numbers of the known records in it."""
    found: dict[datetime, list[int]] = {}
    for number, record in enumerate(records(audit)):
        at = next(value for name, value in record.items() if name.lower() == model.time_column.lower())
        found.setdefault(model.cadence.floor(utc(str(at))), []).append(number)
    return found


def record_conditions(model: Model, audit: Audit, record: Mapping[str, object]) -> tuple[str, str]:
    """What is true of the row that a known record is about, and of that row when it is as expected."""
    keys = {name.lower() for name in key_columns(model)}
    within = float(cast(float, audit.arguments.get("within") or NEAR))
    key = [_equals(name, value) for name, value in record.items() if name.lower() in keys]
    rest = [_near(name, value, within) for name, value in record.items() if name.lower() not in keys]
    return " AND ".join(key), " AND ".join(rest) or "true"


def _cells(model: Model, audit: Audit) -> list[str]:
    """SQL of the aggregates that an audit needs of each interval; none when this pass cannot answer it."""
    arguments = audit.arguments
    if condition := failing(audit):
        return [f"count_if({condition})"]
    match audit.kind:
        case "unique_grain":
            return [f"count(*) - count(DISTINCT struct({names(model.grain)}))"]
        case "unique":
            key = f"struct({names(texts(arguments['columns']))})"
            if (where := wanted(audit)) is not None:
                return [f"count_if({where}\n) - count(DISTINCT CASE WHEN {where}\nTHEN {key} END)"]
            return [f"count(*) - count(DISTINCT {key})"]
        case "null_rate":
            return [f"count_if({quoted(cast(str, arguments['column']))} IS NULL)"]
        case "entities":
            column = quoted(cast(str, arguments["column"]))
            if arguments.get("of") is not None:
                return [f"count(DISTINCT CASE WHEN {HIT}_{audit.name} THEN {column} END)"]
            values = cast(Sequence[object], arguments["values"])
            parts = [values[first : first + BITS] for first in range(0, len(values), BITS)]
            return [" + ".join(_seen(column, part) for part in parts)]
        case "aggregate" | "trend":
            return [f"CAST({arguments['metric']}\n AS DOUBLE)"]
        case "known_records":
            return [_matched(model, audit, first) for first in range(0, len(records(audit)), BITS)]
        case _:
            return []


def _seen(column: str, values: Sequence[object]) -> str:
    """How many of these values there are: a bit for each, which costs less than to count what is distinct."""
    cases = " ".join(f"WHEN {literal(value)} THEN {1 << bit}" for bit, value in enumerate(values))
    return f"bit_count(bit_or(CAST(CASE {column} {cases} ELSE 0 END AS BIGINT)))"


def _matched(model: Model, audit: Audit, first: int) -> str:
    """A bit for each of the known records from `first` on that has a row as expected."""
    cases: list[str] = []
    for bit, record in enumerate(records(audit)[first : first + BITS]):
        key, rest = record_conditions(model, audit, record)
        cases.append(f"WHEN {key} AND {rest} THEN {1 << bit}")
    return f"bit_or(CAST(CASE {' '.join(cases)} ELSE 0 END AS BIGINT))"


def _equals(name: str, value: object) -> str:
    return f"{quoted(name)} IS NULL" if value is None else f"{quoted(name)} = {literal(value)}"


def _near(name: str, value: object, within: float) -> str:
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and within != NEAR):
        return f"abs({quoted(name)} - {literal(value)}) <= {literal(within)}"
    return _equals(name, value)
