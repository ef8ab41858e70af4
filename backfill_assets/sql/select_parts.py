"""What are the parts of a SELECT? Its conditions, what it groups by, which rows its windows are of."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """What AND joins, any number of them."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Where | exp.Having | exp.Qualify | exp.Paren):
            stack.append(node.this)
        elif isinstance(node, exp.And):
            stack += [node.right, node.left]
        else:
            yield node


def conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """What must hold of rows that are joined and read: the conjuncts of WHERE and of each ON."""
    for place in (select.args.get("where"), *(join.args.get("on") for join in select.args.get("joins") or [])):
        yield from conjuncts(place) if place else ()


def conditions_on_groups(select: exp.Expr) -> list[exp.Expr]:
    """Where a SELECT has conditions on what it has grouped, or on windows."""
    return [place for key in ("having", "qualify") if (place := select.args.get(key)) is not None]


def ends_of(between: exp.Between) -> tuple[exp.Binary, exp.Binary]:
    """The two conditions that BETWEEN is."""
    low, high = between.args["low"], between.args["high"]
    return (
        exp.GTE(this=between.this.copy(), expression=low.copy()),
        exp.LTE(this=between.this.copy(), expression=high.copy()),
    )


def group_keys(select: exp.Select) -> list[exp.Expr]:
    """What a SELECT groups by, with what ALL and the numbers of outputs stand for; nothing without GROUP BY."""
    group, outputs = select.args.get("group"), select.expressions
    if group is None:
        return []
    if group.args.get("all"):
        return [output.unalias() for output in outputs if not aggregates(output)]
    return [
        outputs[int(key.name) - 1].unalias() if key.is_int and 0 < int(key.name) <= len(outputs) else key
        for key in group.expressions
    ]


def aggregates(node: exp.Expr) -> bool:
    """Whether it aggregates the rows of its own SELECT, beside what windows do."""
    windowed = {id(windowed_function(w)) for w in node.find_all(exp.Window)}
    return any(isinstance(n, exp.AggFunc) and id(n) not in windowed for n in node.walk(prune=is_query))


def windowed_function(window: exp.Window) -> exp.Expr:
    """The function that a window computes."""
    node = window.this
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        node = node.this
    return node


def window_place(window: exp.Window, select: exp.Expr | None) -> exp.Expr:
    """What says of which rows a window is, and in which order: itself, or what the WINDOW clause has under its name."""
    alias = window.args.get("alias")
    named = {w.name.lower(): w for w in (select.args.get("windows") or [])} if select else {}
    return named.get(alias.name.lower(), window) if alias else window


def is_query(node: exp.Expr) -> bool:
    """Whether it is a query within another one."""
    return isinstance(node, exp.Query)
