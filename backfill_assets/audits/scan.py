"""What do the audits find in these intervals? A few passes over the rows, and more for what these cannot tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from backfill_assets.audits.compare import GROUPS, compare_query, together
from backfill_assets.audits.compile import BITS, INTERVAL, ROWS, Scan, compile_scan, known_in
from backfill_assets.audits.judge import Counts
from backfill_assets.audits.reads import PROD, groups, other_table
from backfill_assets.audits.relations import Relations, Row, Table
from backfill_assets.audits.text import bucket, interval_text
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Audit, Model
from backfill_assets.sql.expressions import columns_of

Found = dict[str, dict[datetime, Any]]
"""Audit name → interval start → a number."""


def scan_audits(model: Model, intervals: Ranges, tables: Relations) -> dict[datetime, Counts]:
    """What each interval amounts to, by its start; for every interval, also one without rows."""
    starts = [unit.start for unit in intervals.split(model.cadence)]
    views = {name: tables.table(name).view for name in _referred(model.audits)}
    scan = compile_scan(model, tables.rows(), views, count=tables.count())
    rows: dict[datetime, Row] = {}
    for text in scan.texts:
        for at, row in by_interval(tables.ask(text)).items():
            rows[at] = {**rows.get(at, {}), **row}
    failures, totals = _counted(model, scan, starts, rows, tables)
    nothing: dict[str, set[datetime]] = defaultdict(set)
    for audits in together(model.audits):
        _reconcile(model, audits, starts, tables, failures, totals, nothing)
    for audit in model.audits:
        if audit.kind == "sql":
            failures[audit.name] = _query_failures(model, audit, intervals, tables)
    values: Found = {
        a.name: {at: row[scan.cells[a.name][0]] for at, row in rows.items()}
        for a in model.audits
        if a.kind in ("aggregate", "trend")
    }
    neighbours = _neighbours(model, starts, values, tables)
    return {
        at: Counts(
            rows=rows[at][ROWS] if at in rows else 0,
            failures={name: int(found.get(at) or 0) for name, found in failures.items()},
            totals={name: int(found.get(at, 0)) for name, found in totals.items()},
            values={name: _number(found.get(at)) for name, found in values.items()},
            neighbours={name: found[at] for name, found in neighbours.items()},
            nothing=frozenset(name for name, found in nothing.items() if at in found),
        )
        for at in starts
    }


def by_interval(rows: Sequence[Row]) -> dict[datetime, Row]:
    """Rows by the start of the interval that they are about."""
    return {start_of(row[INTERVAL]): row for row in rows if row[INTERVAL] is not None}


def start_of(text: str) -> datetime:
    """The instant that INTERVAL says."""
    return utc(text.replace(" ", "T"))


def comparable(audit: Audit, other: Table | None) -> bool:
    """Whether a table has what a `reconcile` audit compares with: an older release may lack the column."""
    if other is None:
        return False
    there = [*groups(audit).values(), *columns_of(str(audit.arguments.get("of_metric") or audit.arguments["metric"]))]
    return audit.arguments["of"] != PROD or all(column.lower() in other.columns for column in there)


def compared_with(audit: Audit, tables: Relations) -> Table | None:
    """The table that a `reconcile` audit compares with."""
    of = str(audit.arguments["of"])
    return tables.shown() if of == PROD else tables.table(of)


def _referred(audits: Sequence[Audit]) -> Collection[str]:
    """The tables whose keys the scan looks up."""
    found = [other_table(a.kind, a.arguments) for a in audits if a.kind in ("relationships", "entities")]
    return {name for name in found if name is not None}


def _counted(
    model: Model, scan: Scan, starts: Sequence[datetime], rows: Mapping[datetime, Row], tables: Relations
) -> tuple[Found, Found]:
    """What the scan counted: failures, and for entities and known records also how many there should be."""
    failures: Found = {}
    totals: Found = {}
    expected = tables.ask(scan.expected)[0] if scan.expected else {}
    for audit in model.audits:
        cells = scan.cells.get(audit.name, ())
        match audit.kind:
            case "entities":
                values = cast(Sequence[object], audit.arguments.get("values") or ())
                total = len(values) or int(expected[cells[0]])
                totals[audit.name] = dict.fromkeys(starts, total)
                failures[audit.name] = {at: total - (rows[at][cells[0]] if at in rows else 0) for at in starts}
            case "known_records":
                known = known_in(model, audit)
                totals[audit.name] = {at: len(known.get(at, ())) for at in starts}
                failures[audit.name] = {
                    at: sum(not _seen(rows.get(at), cells, number) for number in known.get(at, ())) for at in starts
                }
            case "aggregate" | "trend":
                pass
            case _:
                if cells:
                    failures[audit.name] = {at: row[cells[0]] for at, row in rows.items()}
    return failures, totals


def _seen(row: Row | None, cells: Sequence[str], number: int) -> bool:
    return row is not None and bool(int(row[cells[number // BITS]] or 0) >> number % BITS & 1)


def _reconcile(
    model: Model,
    audits: Sequence[Audit],
    starts: Sequence[datetime],
    tables: Relations,
    failures: Found,
    totals: Found,
    nothing: dict[str, set[datetime]],
) -> None:
    other = compared_with(audits[0], tables)
    able = [audit for audit in audits if comparable(audit, other)]
    if other is None or not able:
        for audit in audits:
            nothing[audit.name].update(starts)
        return
    rows = by_interval(tables.ask(compare_query(model, able, tables.rows(), other)))
    lacking = _not_in(model, starts, other.covers)
    for audit in audits:
        nothing[audit.name].update(lacking if audit in able else starts)
    for number, audit in enumerate(able):
        failures[audit.name] = {at: row[f"bf_{number}"] for at, row in rows.items() if at not in lacking}
        totals[audit.name] = {at: row[GROUPS] for at, row in rows.items()}


def _not_in(model: Model, starts: Sequence[datetime], covers: Ranges | None) -> set[datetime]:
    if covers is None:
        return set()
    units = (Interval(at, model.cadence.shift(at, 1)) for at in starts)
    return {unit.start for unit in units if Ranges((unit,)) - covers}


def _query_failures(model: Model, audit: Audit, intervals: Ranges, tables: Relations) -> dict[datetime, int]:
    """The rows that an audit's own query gives, by the interval that their time column says.

    Rows that do not say are failures of every interval of the contiguous range that the query was asked for.
    """
    found: dict[datetime, int] = defaultdict(int)
    span = intervals.span
    assert span is not None
    given = tables.failures(audit, span)
    dated = model.time_column.lower() in given.columns
    parts = [span] if dated or len(list(intervals)) == 1 else list(intervals)
    at = interval_text(model) if dated else "CAST(NULL AS STRING)"
    for part in parts:
        if part != span:
            given = tables.failures(audit, part)
        for row in tables.ask(
            f"SELECT {INTERVAL}, count(*) AS {ROWS} FROM (SELECT {at} AS {INTERVAL} FROM {given.view}) GROUP BY 1"
        ):
            if row[INTERVAL] is not None:
                found[start_of(row[INTERVAL])] += row[ROWS]
                continue
            for unit in model.cadence.split(part):
                found[unit.start] += row[ROWS]
    return found


def _neighbours(
    model: Model, starts: Sequence[datetime], values: Found, tables: Relations
) -> dict[str, dict[datetime, tuple[float, ...]]]:
    """Of each trend, the values of the intervals around each interval, as far as they are built or shown."""
    trends = [audit for audit in model.audits if audit.kind == "trend"]
    around = tables.around() if trends else None
    able = [
        a for a in trends if around and all(c.lower() in around.columns for c in columns_of(str(a.arguments["metric"])))
    ]
    outside: Found = {audit.name: {} for audit in trends}
    if around is not None and able:
        assert around.covers is not None
        selected = ", ".join(f"CAST({a.arguments['metric']}\n AS DOUBLE) AS bf_{n}" for n, a in enumerate(able))
        at = bucket(model.time_column, model.cadence)
        rows = by_interval(tables.ask(f"SELECT {at} AS {INTERVAL}, {selected} FROM {around.view} GROUP BY {at}"))
        for number, audit in enumerate(able):
            for unit in around.covers.split(model.cadence):
                row = rows.get(unit.start)
                outside[audit.name][unit.start] = row[f"bf_{number}"] if row else 0
    found: dict[str, dict[datetime, tuple[float, ...]]] = {}
    for audit in trends:
        inside = {at: values[audit.name].get(at, 0) for at in starts}
        everything = outside[audit.name] | inside
        reach = int(cast(int, audit.arguments["neighbours"]))
        steps = [step for step in range(-reach, reach + 1) if step]
        found[audit.name] = {
            at: tuple(
                value for step in steps if (value := _number(everything.get(model.cadence.shift(at, step)))) is not None
            )
            for at in starts
        }
    return found


def _number(value: object) -> float | None:
    return None if value is None else float(cast(float, value))
