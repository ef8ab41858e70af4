"""What does Spark call each column of a query? Its alias, or the name of a mere column; all else needs an alias."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.sql.column_check import ColumnProblem
from backfill_assets.sql.places import line_of

_NAMELESS = "@nameless"
_FIX = "add an alias: `… AS name`"
_WHY = "the columns of a table need names, and Spark would call it by its expression"
_MODIFIERS = ("order", "limit", "offset")


def output_names(tree: exp.Expr) -> list[tuple[str, int] | None] | ColumnProblem:
    """The names that the outermost SELECT writes, with lines (None: a star); a finding when one is missing or twice."""
    names: list[tuple[str, int] | None] = []
    seen: dict[str, int] = {}
    select = first_select(tree)
    for position, projection in enumerate(select.expressions, start=1):
        line = line_of(projection)
        if projection.is_star:
            names.append(None)
            continue
        found = [a.name for a in projection.aliases] if isinstance(projection, exp.Aliases) else [_name(projection)]
        for name in found:
            if not name:
                return _nameless(position, projection, line)
            if name.lower() in seen:
                what = f"two columns are named `{name}`"
                return ColumnProblem(line=line, what=what, fix="rename one with `AS`, or remove it")
            seen[name.lower()] = line
            names.append((name, line))
    return names


def first_select(tree: exp.Expr) -> exp.Select:
    """The SELECT whose list names the columns: of a set operation, the first one."""
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree


def prepare(tree: exp.Expr) -> dict[str, ColumnProblem]:
    """Change a tree so that sqlglot's qualifier takes it as Spark does.

    ORDER BY, LIMIT and OFFSET behind a query in parentheses are of that query, not of the one around it; columns of
    inner queries that Spark calls by their expressions get names that cannot be meant: what is wrong if one comes out.
    """
    found: dict[str, ColumnProblem] = {}
    outermost = first_select(tree)
    for node in list(tree.find_all(exp.Subquery)):
        inner = node.unnest()
        if any(node.args.get(m) for m in _MODIFIERS):
            free = not any(inner.args.get(m) for m in _MODIFIERS)
            for modifier in _MODIFIERS:
                if (part := node.args.get(modifier)) is not None and (free or modifier == "order"):
                    node.set(modifier, None)
                    if free:
                        inner.set(modifier, part)
    for select in tree.find_all(exp.Select):
        for position, projection in enumerate(select.expressions, start=1):
            name = _name(projection)
            if projection.is_star or isinstance(projection, exp.Aliases) or (name and name == projection.output_name):
                continue
            if not name:
                if select is outermost:
                    continue  # `output_names` tells it
                name = f"{_NAMELESS}{len(found)}"
                found[name] = _nameless(position, projection, line_of(projection))
            projection.replace(exp.alias_(projection.copy(), name, quoted=True))
    return found


def names_itself(projection: exp.Expr) -> bool:
    """Whether Spark names its columns: a function that makes rows, without an alias, has `col`, or `pos` and `col`, or
    the fields of a struct."""
    function = projection.unnest()
    if isinstance(function, exp.Anonymous):
        return function.name.lower() in ("inline_outer", "json_tuple")
    return isinstance(function, exp.Explode | exp.Inline | exp.Stack)


def _nameless(position: int, projection: exp.Expr, line: int) -> ColumnProblem:
    text = projection.sql("spark", comments=False)
    what = f"column {position} (`{text if len(text) < 60 else text[:57] + '…'}`) has no name"
    return ColumnProblem(line=line, what=what, why=_WHY, fix=_FIX)


def _name(node: exp.Expr) -> str:
    """As Spark names it; nothing where it does so by the expression."""
    match node:
        case exp.Alias():
            return node.alias
        case exp.Paren():
            return _name(node.this)
        case exp.Column():
            return node.name
        case exp.Dot() if isinstance(node.this.unnest(), exp.Column | exp.Dot):
            return node.name
        case exp.Cast():  # of a column, not of a field
            inner = node.this.unnest()
            if isinstance(inner, exp.Column) and (not inner.table or inner.table.lower() in _tables(inner)):
                return inner.name
            return ""
        case _:
            return ""


def _tables(node: exp.Expr) -> set[str]:
    """The names by which the SELECT around an expression calls its tables."""
    select = node.find_ancestor(exp.Select)
    from_ = select.args.get("from_") if select else None
    if select is None or from_ is None:
        return set()
    around = [from_.this, *(j.this for j in select.args.get("joins") or []), *(select.args.get("laterals") or [])]
    return {n.alias_or_name.lower() for n in around}
