"""Where do a query's rows depend on an order that it does not fix? Ties in windows, LIMIT, any value of a group.

Such a query may give other rows when it is built again, and usually does not: that is a warning. Nothing is said where
what is ordered by holds a unique key of what is read, or everything that comes out: then ties make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.sql.column_check import ColumnProblem
from backfill_assets.sql.parsing import STARTS_AT, WRITTEN_AS, Sql
from backfill_assets.sql.places import line_of
from backfill_assets.sql.select_parts import (
    aggregates,
    conditions,
    group_keys,
    is_query,
    window_place,
    windowed_function,
)
from backfill_assets.sql.signature import Table, query_keys

Place = tuple[str, str]
"""A table's alias in its scope, and a column."""
_ANY_ROW = {"first", "first_value", "last", "last_value", "any_value"}
_LISTS = {"collect_list", "array_agg", "collect_set"}
_ARRAYS = _LISTS | {"listagg", "string_agg"}
_ORDERLESS = {
    "sort_array", "array_sort", "size", "cardinality", "array_size", "array_contains", "array_max", "array_min",
}  # fmt: skip
"""Functions of an array that do not care about its order."""
_SKETCHES = re.compile(
    r"(hll|theta|kll|tuple)_(sketch|union|merge)_agg(_\w+)?|approx_top_k(_accumulate|_combine)?|histogram_numeric"
)
"""Aggregates whose state depends on the order in which rows come, and on how parts of a group are joined."""
_KEEPS_ITEMS = {"array_distinct", "array_compact"}
_THROUGH = (exp.Paren, exp.Filter, exp.Distinct, exp.IgnoreNulls, exp.RespectNulls)
_BY_POSITION = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue, exp.First,
                exp.Last, exp.AnyValue)  # fmt: skip
"""What a window computes from the position of rows. rank() and dense_rank() give ties the same number."""


def order_findings(sql: Sql, scopes: Sequence[Scope], tables: Mapping[str, Table]) -> list[ColumnProblem]:
    """One finding for each such use in a query, parsed and qualified; `tables` as `query_signature` takes them."""
    keys = query_keys(sql, tables)
    found: list[ColumnProblem] = []
    for scope in scopes:
        select = scope.expression
        if isinstance(select, exp.Select):
            found += _Select(select, scope, tables, keys).findings()
    return found


class _Select:
    """One SELECT: what tells its rows apart, before it groups them and after."""

    def __init__(
        self, select: exp.Select, scope: Scope, tables: Mapping[str, Table], keys: Mapping[int, frozenset[str]]
    ) -> None:
        self._select, self._scope = select, scope
        self._tables, self._keys = {f"@{k}": t for k, t in tables.items()}, keys
        self._equal = list(self._equalities())
        self._groups = group_keys(select)
        self._grouped = bool(select.args.get("group")) or any(map(aggregates, select.expressions))

    def findings(self) -> Iterator[ColumnProblem]:
        for part in (*self._select.expressions, self._select.args.get("qualify"), self._select.args.get("having")):
            for node in part.walk(prune=is_query) if part else ():
                window = _bare(node.parent)
                if isinstance(node, exp.Window):
                    yield from self._window(node)
                elif isinstance(node, exp.ArgMax | exp.ArgMin):
                    yield from self._extreme(node, window if isinstance(window, exp.Window) else None)
                elif isinstance(node, exp.Mode | exp.ApproxQuantile) or _SKETCHES.fullmatch(_name(node)):
                    yield from self._approximate(node, window if isinstance(window, exp.Window) else None)
                elif _name(node) in _ANY_ROW | _ARRAYS and not isinstance(window, exp.Window):
                    yield from self._aggregate(node, _name(node))
        yield from self._limit()

    def _window(self, node: exp.Window) -> Iterator[ColumnProblem]:
        function, place = windowed_function(node), window_place(node, self._select)
        spec = node.args.get("spec") or place.args.get("spec")
        by_rows = bool(spec and spec.args.get("kind") == "ROWS" and not _whole(spec))
        if not (isinstance(function, _BY_POSITION) or by_rows):
            return
        order = place.args.get("order")
        by = [*(place.args.get("partition_by") or []), *_ordered_by(order)]
        if self._apart(by):
            return
        name = _name(function)
        fix = "add columns of a unique key to its ORDER BY"
        if not isinstance(function, _BY_POSITION):
            fix += ", or say RANGE instead of ROWS: rows that are equal in it then count together"
        what = "depends on an order that its ORDER BY does not fix" if order else "has no ORDER BY"
        why = "rows that are equal in it may come in any order, and nothing says that it is unique"
        yield ColumnProblem(line=line_of(node), what=f"the window of `{name}()` {what}", why=why, fix=fix)

    def _extreme(self, node: exp.ArgMax | exp.ArgMin, window: exp.Window | None) -> Iterator[ColumnProblem]:
        """`max_by` and `min_by`: their order is an argument."""
        order = _parts(node.expression)
        if window is not None:
            fixed = self._apart([*(window_place(window, self._select).args.get("partition_by") or []), *order])
        else:
            by = [*self._groups, *order]
            fixed = self._tells_apart(by) or self._follows(node.this, by)
        if fixed:
            return
        name = "max_by" if isinstance(node, exp.ArgMax) else "min_by"
        what = f"`{name}()` takes the value of any row among those that are equal in its order"
        fix = f"order by columns of a unique key as well: `{name}(…, struct({node.expression.name or '…'}, …))`"
        line = line_of(window or node)
        yield ColumnProblem(line=line, what=what, why="nothing says that its order has no ties", fix=fix)

    def _aggregate(self, node: exp.Expr, name: str) -> Iterator[ColumnProblem]:
        if self._tells_apart(self._groups):
            return  # a row a group
        if name in _ANY_ROW and self._follows(node.this, self._groups):
            return  # of rows that are equal in it
        around = node.parent
        while around is not None and (isinstance(around, _THROUGH) or _name(around) in _KEEPS_ITEMS):
            around = around.parent
        if name in _ANY_ROW:
            what = f"`{name}()` takes the value of any row of a group"
            fix = "use max() or min(), or max_by() with an order that has no ties"
        elif isinstance(node.this, exp.Order) or (around and _name(around) in _ORDERLESS):
            return  # sorted WITHIN GROUP, or by who takes them
        else:
            what = f"the items of `{name}()` come in any order"
            if name in _LISTS:
                fix = f"sort them: `sort_array({name}(…))`"
            else:
                fix = f"sort them: `{name}(…) WITHIN GROUP (ORDER BY …)`, by columns without ties"
        yield ColumnProblem(line=line_of(node), what=what, why="the order of the rows in a group is not fixed", fix=fix)

    def _approximate(self, node: exp.Expr, window: exp.Window | None) -> Iterator[ColumnProblem]:
        """Sketches, what is taken from them, and `mode` without a word on ties, of a group or a window."""
        partition = window_place(window, self._select).args.get("partition_by") or [] if window else self._groups
        if isinstance(node.parent, exp.WithinGroup) or self._tells_apart(partition):
            return
        if isinstance(node, exp.Mode):
            lowest = node.args.get("deterministic")
            ties = lowest is None or (isinstance(lowest, exp.Boolean) and not lowest.this)
            if not ties or self._follows(node.this, partition):
                return
            what = "`mode()` takes any of the values that are most frequent in a group"
            why, fix = "nothing says that there is one", "`mode(…, true)` takes the lowest of them"
        elif isinstance(node, exp.ApproxQuantile):
            if self._follows(node.this, partition):
                return
            what = f"`{_name(node)}()` of some ten thousand rows gives other values when they come in another order"
            why = "the order of the rows in a group is not fixed"
            fix = "`percentile()` is exact; or say why it is no matter in `allow_nondeterministic`"
        else:
            what = f"`{_name(node)}()` gives other bytes, and estimates, when its rows come in another order"
            why = "the order of the rows in a group is not fixed"
            exact = ", or with `approx_count_distinct()`, which does not depend on it" * _name(node).startswith("hll")
            fix = f"compute it exactly{exact}; or say why it is no matter in `allow_nondeterministic`"
        yield ColumnProblem(line=line_of(window or node), what=what, why=why, fix=fix)

    def _limit(self) -> Iterator[ColumnProblem]:
        limit = self._select.args.get("limit") or self._select.args.get("offset")
        if limit is None or isinstance(self._select.parent, exp.Exists):
            return
        named = {p.alias_or_name: p.unalias() for p in self._select.expressions}
        by = [
            named.get(b.name, b) if isinstance(b, exp.Column) and not b.table else b
            for b in _ordered_by(self._select.args.get("order"))
        ]
        if self._apart(by):
            return
        why = "rows that are equal in its ORDER BY may come in any order" if by else "there is no ORDER BY"
        fix = "order by columns of a unique key as well"
        yield ColumnProblem(
            line=line_of(limit), what="LIMIT takes rows by an order that is not fixed", why=why, fix=fix
        )

    def _apart(self, by: Sequence[exp.Expr]) -> bool:
        """Whether rows that windows and LIMIT see are the same, or differ in nothing that is used, if they are equal
        in these expressions."""
        fixed = self._fixed(by)
        if self._grouped:
            return all(g in by or (_place(g) in fixed and _place(g) is not None) for g in self._groups)
        return self._tells_apart(by) or self._used() <= fixed

    def _tells_apart(self, by: Iterable[exp.Expr]) -> bool:
        key = self._key()
        return key is not None and key <= self._fixed(by)

    def _follows(self, value: exp.Expr, by: Iterable[exp.Expr]) -> bool:
        """Whether rows that are equal in these expressions are equal in a value, too."""
        used = {(c.table, c.name) for c in value.find_all(exp.Column)}
        return not value.find(exp.Query) and used <= self._fixed(by)

    def _used(self) -> set[Place]:
        """The columns of which anything comes out. A name without a table is that of an output."""
        parts = (*self._select.expressions, self._select.args.get("qualify"))
        return {(c.table, c.name) for part in parts if part for c in part.find_all(exp.Column) if c.table}

    def _key(self) -> frozenset[Place] | None:
        """Columns that no two rows of FROM and its joins share."""
        first = self._select.args.get("from_")
        if self._select.args.get("laterals") or first is None:
            return None
        found: set[Place] = set()
        for item in (first, *(self._select.args.get("joins") or [])):
            if {item.args.get("side"), item.args.get("kind")} & {"SEMI", "ANTI"}:
                continue
            name = item.this.alias_or_name
            source = self._scope.sources.get(name)
            if isinstance(source, Scope):
                key = self._keys.get(source.expression.meta_get(STARTS_AT))
            else:
                table = self._tables.get(source.name) if source is not None else None
                key = table.key if table else None
            if key is None:
                return None
            found |= {(name, column) for column in key}
        return frozenset(found)

    def _fixed(self, by: Iterable[exp.Expr]) -> set[Place]:
        """The columns that are equal where these expressions are, by way of WHERE and ON as well."""
        known = {p for p in map(_place, by) if p} | {one for one, other in self._equal if other is None}
        while True:
            more = {a for one, other in self._equal if other for a, b in ((one, other), (other, one)) if b in known}
            if more <= known:
                return known
            known |= more

    def _equalities(self) -> Iterator[tuple[Place, Place | None]]:
        """Columns that are equal to each other, or (None) to a constant."""
        for equal in conditions(self._select):
            if not isinstance(equal, exp.EQ | exp.NullSafeEQ):
                continue
            for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
                if isinstance(one, exp.Column) and isinstance(other, exp.Column):
                    yield (one.table, one.name), (other.table, other.name)
                elif isinstance(one, exp.Column) and not other.find(exp.Column, exp.Query):
                    yield (one.table, one.name), None


def _place(node: exp.Expr) -> Place | None:
    """The column whose value an expression tells; None when several values give the same."""
    while isinstance(node, exp.Paren | exp.Neg | exp.Alias):
        node = node.this
    if isinstance(node, exp.DateDiff | exp.UnixDate) and len(list(node.find_all(exp.Column))) == 1:
        node = next(node.find_all(exp.Column))
    return (node.table, node.name) if isinstance(node, exp.Column) else None


def _ordered_by(order: Any) -> list[exp.Expr]:
    return [o.this if isinstance(o, exp.Ordered) else o for o in order.expressions] if order else []


def _parts(order: exp.Expr) -> list[exp.Expr]:
    """What a struct is ordered by, or the one expression."""
    if not isinstance(order, exp.Struct | exp.Tuple):
        return [order]
    return [p.expression if isinstance(p, exp.PropertyEQ) else p for p in order.expressions]


def _bare(node: exp.Expr | None) -> exp.Expr | None:
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        node = node.parent
    return node


def _name(node: exp.Expr) -> str:
    """A function's name as it was written; nothing for what is no function."""
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) or not isinstance(node, exp.Func):
        return ""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    around = _bare(node.parent)  # FILTER and IGNORE NULLS are parsed as a part of the call
    written = node.meta_get(WRITTEN_AS) or (
        node.parent.meta_get(WRITTEN_AS) if node.parent and around is not node.parent else None
    )
    return str(written or node.sql_name()).lower()


def _whole(spec: exp.Expr) -> bool:
    return spec.args.get("start") == spec.args.get("end") == "UNBOUNDED"
