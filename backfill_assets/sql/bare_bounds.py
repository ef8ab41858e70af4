"""Where does code of local days take an instant for one? Compared with `:start` or `:end`, or as the day itself.

Spark takes a date for its midnight in UTC, and the hours between that and the local one are left out, or are of another
day, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.core.model import Column
from backfill_assets.sql.places import line_of

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_AROUND = (exp.Paren, exp.Cast, exp.TsOrDsToTimestamp, exp.TsOrDsToDate, exp.TimeStrToTime)
COMPILED = {"{1987-06-05": "start", "{2345-10-18": "end"}
"""How the ends of the interval begin in what a Python model compiles to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BareBound:
    """A column that is an instant, compared with an end of the interval: `start`, `end`, or neither. `line` counts from
    1."""

    line: int
    column: str
    end: str


def bare_bounds(scopes: Sequence[Scope], tables: Mapping[str, Sequence[Column]]) -> list[BareBound]:
    """Those of a query, qualified; `tables` are the columns of what it reads, by its lower-cased references."""
    found: list[BareBound] = []
    for scope in scopes:
        for node in scope.expression.find_all(*_COMPARISONS, exp.Between):
            found += _found(node, scope, tables)
    return list(dict.fromkeys(found))


def utc_day(scopes: Sequence[Scope], tables: Mapping[str, Sequence[Column]], column: str) -> BareBound | None:
    """The instant that an output column of a query is the day of, in UTC; None where it is something else."""
    for projection in _selects(scopes[-1]) if scopes else ():
        found = _inner(projection.unalias())
        if projection.alias_or_name.lower() == column.lower() and isinstance(found, exp.Column):
            name = _instant(found, scopes[-1], tables)
            return BareBound(line=line_of(found), column=name, end="") if name else None
    return None


def _found(node: exp.Expr, scope: Scope, tables: Mapping[str, Sequence[Column]]) -> Iterator[BareBound]:
    low, high = (node.args["low"], node.args["high"]) if isinstance(node, exp.Between) else (node.expression, None)
    for value, bound in ((node.this, low), (low, node.this), (node.this, high)):
        end = _end(bound)
        if end and isinstance(column := _inner(value), exp.Column) and _instant(column, scope, tables):
            yield BareBound(line=line_of(column), column=column.name, end=end)


def _end(node: exp.Expr | None) -> str:
    inner = _inner(node) if node is not None else None
    if isinstance(inner, exp.Literal) and inner.is_string:
        return next((end for begin, end in COMPILED.items() if inner.name.startswith(begin)), "")
    return inner.name if isinstance(inner, exp.Placeholder) and inner.name in ("start", "end") else ""


def _selects(scope: Scope) -> Sequence[exp.Expr]:
    return scope.expression.selects if isinstance(scope.expression, exp.Query) else ()


def _inner(node: exp.Expr) -> exp.Expr:
    while isinstance(node, _AROUND):
        node = node.this
    return node


def _instant(column: exp.Column, scope: Scope, tables: Mapping[str, Sequence[Column]]) -> str:
    """The column of a table, a timestamp, that a column is by way of subqueries and casts; "" for anything else."""
    source = scope.sources.get(column.table)
    if isinstance(source, Scope):
        named = (p for p in _selects(source) if p.alias_or_name.lower() == column.name.lower())
        inner = (_inner(p.unalias()) for p in named)
        return next((_instant(one, source, tables) for one in inner if isinstance(one, exp.Column)), "")
    columns = tables.get(source.name.removeprefix("@"), ()) if isinstance(source, exp.Table) else ()
    timed = (c.name for c in columns if (c.type or "").startswith("timestamp"))
    return next((name for name in timed if name.lower() == column.name.lower()), "")
