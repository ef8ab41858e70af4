"""May rows of an interval depend on which others are computed with it? Where a query looks at its batch as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from backfill_assets.sql.parsing import SqlError, parse

_DAYS = (exp.Date, exp.TsOrDsToDate, exp.DateTrunc, exp.TimestampTrunc, exp.Trunc)
_CONDITIONS = (exp.Where, exp.Join, exp.Having, exp.Qualify)
_WITHIN = (exp.From, exp.Join, exp.CTE, exp.SetOperation, exp.Lateral)
"""Where a query is one whose rows are read, and no value or condition of another."""


def may_depend_on_batch(code: str, time_column: str) -> bool:
    """Whether a query of a model groups, ranks or looks for rows otherwise than interval by interval; True where it
    cannot be told. That a model does so may be right: one that reads back by its `lookback` has windows over days.

    >>> may_depend_on_batch("SELECT ds, k, sum(v) AS v FROM t WHERE ds >= :start AND ds < :end GROUP BY ds, k", "ds")
    False
    >>> may_depend_on_batch("SELECT ds, v / sum(v) OVER () AS v FROM t WHERE ds >= :start AND ds < :end", "ds")
    True
    """
    try:
        sql = parse(code)
    except SqlError:
        return True
    return any(found for tree in sql.statements for found in _uses(tree, time_column.lower())) or not all(
        map(_is_bound, sql.placeholders)
    )


def _uses(tree: exp.Expr, time: str) -> Iterator[bool]:
    """For each place that may look at several intervals at once: whether it does."""
    for node in tree.walk():
        if isinstance(node, exp.Select):
            yield _select(node, time)
        elif isinstance(node, exp.Window):
            select = node.find_ancestor(exp.Select)
            named = {w.name.lower(): w for w in (select.args.get("windows") or [])} if select else {}
            place = named.get(node.args["alias"].name.lower(), node) if node.args.get("alias") else node
            yield not _has_time(place.args.get("partition_by") or [], select, time)
        elif isinstance(node, exp.SetOperation):
            yield _is_value(node) or (bool(node.args.get("distinct")) and not _has_time(node.selects, None, time))


def _is_value(query: exp.Expr) -> bool:
    """Whether another query takes it for a value, or looks a value up in it."""
    parent = query.parent
    while isinstance(parent, exp.Subquery | exp.Paren):
        parent = parent.parent
    return parent is not None and not isinstance(parent, _WITHIN)


def _select(select: exp.Select, time: str) -> bool:
    """Whether a SELECT groups, or leaves out rows, over several intervals, or is a value of another query."""
    if _is_value(select) or select.args.get("limit") or select.args.get("offset"):
        return True
    if select.args.get("distinct") and not _has_time(select.expressions, select, time):
        return True
    if (group := select.args.get("group")) is not None:
        if any(group.args.get(kind) for kind in ("grouping_sets", "cube", "rollup")):
            return True
        keys = group.expressions
        if group.args.get("all"):
            keys = [p for p in select.expressions if not p.find(exp.AggFunc)]
        return not _has_time([_at(select, key) for key in keys], select, time)
    return any(_aggregates(p) for p in select.expressions)


def _at(select: exp.Select, key: exp.Expr) -> exp.Expr:
    """What a number in GROUP BY stands for."""
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.name) <= len(select.expressions):
        return select.expressions[int(key.name) - 1]
    return key


def _aggregates(node: exp.Expr) -> bool:
    windowed = {id(n) for w in node.find_all(exp.Window) for n in w.this.walk()}
    return any(
        isinstance(n, exp.AggFunc) and id(n) not in windowed
        for n in node.walk(prune=lambda n: isinstance(n, exp.Query))
    )


def _has_time(keys: list[exp.Expr], select: exp.Select | None, time: str) -> bool:
    """Whether one of these is the time of a row: by its name, as what is called so, or as the day of something."""
    called = [p.unalias() for p in select.expressions if p.alias_or_name.lower() == time] if select else []
    return any(key.alias_or_name.lower() == time or key.unalias() in called or _is_day(key.unalias()) for key in keys)


def _is_day(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast | exp.TryCast):
        return node.to.is_type("date") and node.find(exp.Column) is not None
    return isinstance(node, _DAYS) and node.find(exp.Column) is not None


def _is_bound(placeholder: exp.Placeholder) -> bool:
    """Whether `:start` or `:end` only bounds what is read: a condition compares a column with it."""
    node: exp.Expr | None = placeholder
    while node is not None and not isinstance(node.parent, exp.Predicate):
        node = node.parent
    if node is None or node.find(exp.Column):
        return False
    return isinstance(node.find_ancestor(exp.Select, *_CONDITIONS), _CONDITIONS)
