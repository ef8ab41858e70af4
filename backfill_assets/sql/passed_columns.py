"""Do the rows of a query with some values of a table's columns come from that table's rows with these values alone?

Then whatever changes in rows of one region changes rows of that region only. It is so where the columns go through all
of the query as they are, as columns that it lists or groups by, and nothing looks beyond a row, a group or a window of
them. What is not certainly so is not so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import exp

from backfill_assets.sql.parsing import SqlError, parse

_JOINED = {("", ""), ("", "INNER"), ("", "CROSS")}
_BESIDE = {*_JOINED, ("LEFT", ""), ("LEFT", "OUTER"), ("LEFT", "SEMI"), ("LEFT", "ANTI")}
_BEYOND = ("limit", "offset", "laterals", "pivots", "match", "connect", "into", "sample", "operation_modifiers")
_SUMS = ("rollup", "cube", "grouping_sets", "all", "totals")


class RowsMixed(Exception):
    """It is not so, or nobody knows; the text says why, of what reads the table."""


def passed_columns(code: str, table: str, columns: Collection[str], others: Collection[str] = ()) -> dict[str, str]:
    """Column of the table (lower-cased) → what the query calls it.

    `others` are tables whose rows change as well. Raises RowsMixed with the reason.
    """
    try:
        sql = parse(code)
    except SqlError as error:
        raise RowsMixed(f"its query is not understood: {error.why}") from None
    tree = sql.statements[0] if len(sql.statements) == 1 else None
    if not isinstance(tree, exp.Query) or not sql.columns_known:
        raise RowsMixed("its query is not understood")
    tables = list(tree.find_all(exp.Table))
    if also := next((name for name in others if any(_is(t, name) for t in tables)), None):
        raise RowsMixed(f"it reads {also} as well, of which rows are computed again")
    found = [t for t in tables if _is(t, table)]
    names = {name.lower(): name.lower() for name in columns}
    seen: set[str] = {table.lower()}
    while True:
        if len(found) != 1:
            raise RowsMixed(f"it reads {table} {'in several places' if found else 'in a way that is not understood'}")
        select, inside = _select_of(found[0], table)
        names = _through(select, inside, names, table)
        around = select.parent
        if around is None:
            return names
        if isinstance(around, exp.Subquery):
            found = [around]
        elif isinstance(around, exp.CTE) and around.alias.lower() not in seen and not _special(around):
            seen.add(around.alias.lower())
            found = [t for t in tables if _is(t, around.alias)]
        else:
            raise RowsMixed(f"it reads {table} within what is not a plain subquery")


def _is(table: exp.Table, name: str) -> bool:
    return ".".join(part.name for part in table.parts).lower() == name.lower()


def _special(cte: exp.CTE) -> bool:
    return bool(cte.alias_column_names) or (isinstance(cte.parent, exp.With) and bool(cte.parent.recursive))


def _select_of(relation: exp.Expr, table: str) -> tuple[exp.Select, str]:
    """The SELECT that reads a relation in its FROM, or by a JOIN that adds no rows; and the relation's name there."""
    holder = relation.parent
    select = holder.parent if isinstance(holder, exp.From | exp.Join) else None
    if not isinstance(select, exp.Select) or relation.args.get("joins") or relation.args.get("pivots"):
        raise RowsMixed(f"it reads {table} within what is not a plain subquery")
    if relation.alias_column_names:
        raise RowsMixed(f"it names the columns of {table} anew")
    if relation.args.get("sample") or relation.args.get("when") or relation.args.get("version"):
        raise RowsMixed(f"it reads a part of {table} only")
    for join in select.args.get("joins") or ():
        kind = (join.side.upper(), join.kind.upper())
        if join.method or isinstance(join.this, exp.Lateral) or kind not in (_JOINED if join is holder else _BESIDE):
            raise RowsMixed(f"it joins {table} so that there may be rows without a row of it")
    return select, (relation.alias or relation.name).lower()


def _through(select: exp.Select, inside: str, names: Mapping[str, str], table: str) -> dict[str, str]:
    """What the SELECT calls the columns, which its relation `inside` calls as `names` say."""
    for key in _BEYOND:
        if select.args.get(key):
            raise RowsMixed(f"it has {key.upper().rstrip('S')} over rows of {table}")
    distinct = select.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        raise RowsMixed(f"it has DISTINCT ON over rows of {table}")
    alone = not select.args.get("joins")

    def own(node: exp.Expr | None, name: str) -> bool:
        if not isinstance(node, exp.Column) or node.name.lower() != name or node.args.get("db"):
            return False
        return node.table.lower() == inside or (not node.table and alone)

    for name in names.values():
        for window in select.find_all(exp.Window):
            by: list[exp.Expr] = window.args.get("partition_by") or []  # nothing where WINDOW w AS … says it
            if window.parent_select is select and not any(own(part, name) for part in by):
                raise RowsMixed(f"it looks at several values of {name} in a window")
        group = select.args.get("group")
        if group is not None:
            if any(group.args.get(key) for key in _SUMS):
                raise RowsMixed(f"it groups rows of several values of {name}")
            if not any(own(_grouped(select, key), name) for key in group.expressions):
                raise RowsMixed(f"it adds up rows of several values of {name}")
    return {column: _listed(select, inside, name, alone, own) for column, name in names.items()}


def _grouped(select: exp.Select, key: exp.Expr) -> exp.Expr:
    """What is grouped by: `GROUP BY 1` is the first column."""
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(select.expressions):
        return select.expressions[int(key.this) - 1].unalias()
    return key


def _listed(
    select: exp.Select, inside: str, name: str, alone: bool, own: Callable[[exp.Expr | None, str], bool]
) -> str:
    """What the SELECT calls a column that it lists as it is."""
    for projection in select.expressions:
        if own(projection.unalias(), name):
            return projection.alias_or_name
        star = projection.this if isinstance(projection, exp.Column) else projection
        here = alone or (isinstance(projection, exp.Column) and projection.table.lower() == inside)
        if here and isinstance(star, exp.Star) and not any(star.args.values()):
            return name
    raise RowsMixed(f"its rows do not have {name} as it is")
