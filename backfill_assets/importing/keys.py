"""Which columns of a query tell its rows apart, as far as the query itself says so?"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from backfill_assets.importing.numbers import whole


def key_of(tree: exp.Query, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The outputs that GROUP BY or DISTINCT make unique, also in a part that is selected from alone. Columns are
    qualified. `known` are keys of the WITH around it, by lower-cased names."""
    if (clause := tree.args.get("with_")) is not None:
        inner = dict(known)
        for cte in clause.expressions:
            inner[cte.alias.lower()] = key_of(cte.this, inner)
        known = inner
    if isinstance(tree, exp.Subquery):
        return key_of(tree.this, known)
    if isinstance(tree, exp.Union) and tree.args.get("distinct"):
        return tuple(tree.named_selects)
    if not isinstance(tree, exp.Select):
        return ()
    if tree.args.get("distinct") is not None and tree.args["distinct"].args.get("on") is None:
        return tuple(tree.named_selects)
    given = {_said(e): e.alias_or_name for e in tree.expressions}
    if (group := tree.args.get("group")) is not None:
        keys = list(group.expressions)
        if group.args.get("all"):
            keys = [e for e in tree.expressions if not e.find(exp.AggFunc)]
        names = [_named(tree, k, given) for k in keys]
        return tuple(names) if names and all(names) else ()
    clause = tree.args.get("from_")
    if clause is None or tree.args.get("joins") or tree.args.get("laterals"):
        return ()
    if isinstance(clause.this, exp.Subquery):
        inner_key = key_of(clause.this.this, known)
    else:
        inner_key = known.get(clause.this.name.lower(), ()) if not clause.this.args.get("db") else ()
    names = [
        next((e.alias_or_name for e in tree.expressions if _column(e).lower() == k.lower()), "") for k in inner_key
    ]
    return tuple(names) if names and all(names) else ()


def _named(tree: exp.Select, key: exp.Expr, given: Mapping[str, str]) -> str:
    place = whole(str(key.this)) if isinstance(key, exp.Literal) else None
    if place and place <= len(tree.expressions):
        return tree.expressions[place - 1].alias_or_name
    if isinstance(key, exp.Column) and not key.table:
        return next((n for n in given.values() if n.lower() == key.name.lower()), "")
    return given.get(_said(key), "")


def _said(node: exp.Expr) -> str:
    return (node.this if isinstance(node, exp.Alias) else node).sql(comments=False)


def _column(node: exp.Expr) -> str:
    inner = node.this if isinstance(node, exp.Alias) else node
    return inner.name if isinstance(inner, exp.Column) else ""
