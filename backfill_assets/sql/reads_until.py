"""How far after `:end` does a query read a table, at most? For who must not miss a row: a wrong answer hides late data.

So only the plainest bounds count, and all else is not known: in the WHERE of each SELECT that reads the table, its
time column itself is less than `:end`, or than that with days or other lengths added. (`later_reads` warns, and takes
more for granted.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.core.intervals import Cadence
from backfill_assets.sql.select_parts import conjuncts
from backfill_assets.sql.shifted_times import Shift, ends, shifted
from backfill_assets.sql.timed_table import TimedTable

_TIMES = ("date", "timestamp", "timestamp_ntz")
_ADDED = (exp.TsOrDsAdd, exp.TimestampAdd, exp.DateAdd, exp.DatetimeAdd, exp.Add)
_PLAIN = (exp.Placeholder, exp.Paren, exp.Interval, exp.Literal, exp.Var, exp.Identifier, *_ADDED)


def reads_until(
    scopes: Sequence[Scope], tables: Mapping[str, TimedTable], cadence: Cadence
) -> dict[str, timedelta | None]:
    """Of each table that the query reads, by their names in the scopes: nothing where it reads until `:end`; None where
    it is not known of some place in which it reads it."""
    found, seen = dict[str, list[timedelta | None]](), set[int]()
    for scope in scopes:
        for alias, (_, source) in scope.selected_sources.items():
            if isinstance(source, exp.Table) and source.name in tables:
                until = _until(scope.expression, alias, tables[source.name], cadence)
                found.setdefault(source.name, []).append(until)
                seen.add(id(source))
    every = (table for scope in scopes for table in scope.expression.find_all(exp.Table) if table.name in tables)
    hidden = {table.name for table in every if id(table) not in seen}
    return {name: _latest(each) if name not in hidden else None for name, each in found.items()}


def _latest(each: Sequence[timedelta | None]) -> timedelta | None:
    known = [until for until in each if until is not None]
    return max(known) if len(known) == len(each) else None


def _until(select: exp.Expr, alias: str, table: TimedTable, cadence: Cadence) -> timedelta | None:
    """The nearest of the bounds of one place."""
    type_, where = table.type(table.time.lower()), select.args.get("where")
    if not isinstance(select, exp.Select) or where is None or type_ not in _TIMES:
        return None
    return min(
        (
            max(_reach(shifts, end, day=type_ == "date") for end in ends(cadence))
            for shifts in _bounds(where, alias, table.time.lower())
        ),
        default=None,
    )


def _reach(shifts: Sequence[Shift], end: datetime, *, day: bool) -> timedelta:
    """How far after an interval's end rows are read that are less than what these steps make of it; of a day, all of it
    is."""
    until = end
    for shift in shifts:
        until = shift.of(until)
    if day and (floor := Cadence.DAILY.floor(until)) != until:
        until = floor + timedelta(days=1)
    return max(until - end, timedelta())


def _bounds(where: exp.Expr, alias: str, time: str) -> Iterator[tuple[Shift, ...]]:
    """What the time column is less than: the steps from `:end`."""
    for condition in conjuncts(where):
        if isinstance(condition, exp.LT):
            column, bound = condition.left, condition.right
        elif isinstance(condition, exp.GT):
            column, bound = condition.right, condition.left
        else:
            continue
        origin = shifted(bound)
        if not isinstance(column, exp.Column) or (column.table, column.name.lower()) != (alias, time) or origin is None:
            continue
        of, shifts = origin
        # nothing of a time zone, of a text, or of another length in another year
        plain = all(isinstance(node, _PLAIN) for node in bound.walk()) and not any(shift.months for shift in shifts)
        if plain and isinstance(of, exp.Placeholder) and of.name == "end":
            yield shifts
