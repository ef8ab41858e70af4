"""May rows of an interval depend on which others are computed with it? Where a query looks at its batch as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from backfill_assets.core.intervals import Cadence
from backfill_assets.sql.parsing import SqlError, parse
from backfill_assets.sql.select_parts import aggregates, conjuncts, group_keys, window_place

_CONDITIONS = (exp.Where, exp.Join, exp.Having, exp.Qualify)
_WITHIN = (exp.From, exp.Join, exp.CTE, exp.SetOperation, exp.Lateral)
"""Where a query is one whose rows are read, and no value or condition of another."""
_HOUR, _DAY = frozenset({"SECOND", "MINUTE", "HOUR"}), frozenset({"DAY", "DD", "DATE"})
_UNITS = {
    Cadence.HOURLY: _HOUR,
    Cadence.DAILY: _HOUR | _DAY,
    Cadence.WEEKLY: _HOUR | _DAY | {"WEEK"},
    Cadence.MONTHLY: _HOUR | _DAY | {"MONTH", "MM", "MON"},
}
"""What a time may be cut to, so that no two intervals share one."""


@lru_cache(256)
def may_depend_on_batch(code: str, time_column: str, cadence: Cadence) -> bool:
    """Whether a query of a model groups, ranks, joins or looks for rows otherwise than interval by interval; True where
    it cannot be told. That a model does so may be right: one that reads back by its `lookback` has windows over days.

    >>> within = "WHERE ds >= :start AND ds < :end"
    >>> may_depend_on_batch(f"SELECT ds, k, sum(v) AS v FROM t {within} GROUP BY ds, k", "ds", Cadence.DAILY)
    False
    >>> may_depend_on_batch(f"SELECT ds, v / sum(v) OVER () AS v FROM t {within}", "ds", Cadence.DAILY)
    True
    """
    try:
        sql = parse(code)
    except SqlError:
        return True
    if not all(map(_is_bound, sql.placeholders)):
        return True
    bounded = [c for p in sql.placeholders for c in _compared(p).find_all(exp.Column)]
    cuts = Counter(p.name for p in sql.placeholders)
    times = _Times(
        name=time_column.lower(),
        columns=frozenset({*(c.name.lower() for c in bounded), time_column.lower()}),
        units=_UNITS[cadence],
        cut=frozenset(map(_part, bounded)) | _cut_parts(sql.statements),
        several=any(count > 1 for count in cuts.values()),
    )
    return any(mixed for tree in sql.statements for mixed in times.looks(tree))


def _part(column: exp.Column) -> str:
    """The alias of what a column is of; "" where a bare name does not say."""
    select = column.find_ancestor(exp.Select)
    if column.table or select is None or select.args.get("joins") or (first := select.args.get("from_")) is None:
        return column.table.lower()
    return first.this.alias_or_name.lower()


def _cut_parts(statements: Iterable[exp.Expr]) -> frozenset[str]:
    """The CTEs that are cut to the batch, or read one that is."""
    found: set[str] = set()
    for tree in statements:
        for cte in tree.find_all(exp.CTE, bfs=False):  # as they are written: each reads those before it
            if cte.find(exp.Placeholder) or any(t.name.lower() in found for t in cte.find_all(exp.Table)):
                found.add(cte.alias.lower())
    return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """What says the interval of a row: the output `name`, and `columns` that are bounded, cut to one of `units`.
    `cut` are tables (by alias; "" where a bound does not say which) and CTEs that are cut to the batch, `several`
    whether more than one thing is."""

    name: str
    columns: frozenset[str]
    units: frozenset[str]
    cut: frozenset[str]
    several: bool

    def looks(self, tree: exp.Expr) -> Iterator[bool]:
        """For each place that may look at several intervals at once: whether it does."""
        for node in tree.walk():
            if isinstance(node, exp.Select):
                yield self._select(node)
            elif isinstance(node, exp.Window):
                select = node.find_ancestor(exp.Select)
                yield not self._among(window_place(node, select).args.get("partition_by") or [], select)
            elif isinstance(node, exp.SetOperation):
                alike = node.args.get("distinct") or isinstance(node, exp.Except | exp.Intersect)
                yield _is_value(node) or bool(alike and not self._among(node.selects, None))

    def _select(self, select: exp.Select) -> bool:
        """Whether a SELECT joins, groups, or leaves out rows over several intervals, or is a value of another query."""
        if _is_value(select) or select.args.get("limit") or select.args.get("offset"):
            return True
        if self.several and any(not self._joined(select, join) for join in select.args.get("joins") or []):
            return True
        if select.args.get("distinct") and not self._among(select.expressions, select):
            return True
        if (group := select.args.get("group")) is None:
            return any(map(aggregates, select.expressions))
        if any(group.args.get(kind) for kind in ("grouping_sets", "cube", "rollup")):
            return True
        return not self._among(group_keys(select), select)

    def _joined(self, select: exp.Select, join: exp.Join) -> bool:
        """Whether rows meet those of their own interval only, or what is not cut to the batch."""
        read = {t.name.lower() for t in join.this.find_all(exp.Table)} | {join.this.alias_or_name.lower()}
        if "" not in self.cut and not read & self.cut and not join.this.find(exp.Placeholder):
            return True
        if join.method == "NATURAL" or self.name in {i.name.lower() for i in join.args.get("using") or []}:
            return True
        places = (join.args.get("on"), select.args.get("where"))
        equal = [c for p in places if p for c in conjuncts(p) if isinstance(c, exp.EQ | exp.NullSafeEQ)]
        return any(self._among([e.left], select) and self._among([e.right], select) for e in equal)

    def _among(self, keys: Iterable[exp.Expr], select: exp.Select | None) -> bool:
        """Whether one of these is the time of a row: by its name, as what is called so, or as the unit of a bound."""
        called = [p.unalias() for p in select.expressions if p.alias_or_name.lower() == self.name] if select else []
        return any(
            key.alias_or_name.lower() == self.name or key.unalias() in called or self._is_cut(key.unalias())
            for key in keys
        )

    def _is_cut(self, node: exp.Expr) -> bool:
        if not self._unit_fits(node):
            return False
        return {c.name.lower() for c in node.find_all(exp.Column)} <= self.columns

    def _unit_fits(self, node: exp.Expr) -> bool:
        """Whether it is a time that is cut, and no further than to a unit of an interval."""
        cuts = [*node.find_all(exp.DateTrunc, exp.TimestampTrunc, exp.Trunc)]
        units = {(c.args.get("unit") or c.args.get("decimals") or exp.var("")).name.upper() for c in cuts}
        if isinstance(node, exp.Date | exp.TsOrDsToDate):
            units.add("DATE")
        elif isinstance(node, exp.Cast | exp.TryCast):
            units.add("DATE" if node.to.is_type("date") else "")
        elif node not in cuts:
            return False
        return units <= self.units


def _is_value(query: exp.Expr) -> bool:
    """Whether another query takes it for a value, or looks a value up in it."""
    parent = query.parent
    while isinstance(parent, exp.Subquery | exp.Paren):
        parent = parent.parent
    return parent is not None and not isinstance(parent, _WITHIN)


def _is_bound(placeholder: exp.Placeholder) -> bool:
    """Whether `:start` or `:end` only bounds what is read: a condition compares a column with it."""
    side = _side(placeholder)
    if side.find(exp.Column) or not isinstance(side.parent, exp.Predicate):
        return False
    return isinstance(side.find_ancestor(exp.Select, *_CONDITIONS), _CONDITIONS)


def _compared(placeholder: exp.Placeholder) -> exp.Expr:
    """The comparison that a bound is in."""
    return _side(placeholder).parent or placeholder


def _side(placeholder: exp.Placeholder) -> exp.Expr:
    """The side of a comparison that a placeholder is on; or all that it is in."""
    node: exp.Expr = placeholder
    while node.parent is not None and not isinstance(node.parent, exp.Predicate):
        node = node.parent
    return node
