"""Where does a query of another tool say which days are wanted, and how is that said here?

There the last day, or the last microsecond, is within; here `:end` is the first instant that is not. `c BETWEEN start
AND end` becomes `c >= :start AND c < :end`. Any other use becomes an expression of the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.numbers import whole

MACRO = "bf__"
"""How the names begin that stand for a tool's bounds in the tree (`bf__start_ds`)."""
LOW = ("start_ds", "start_date", "start_dt", "start_ts", "start_dtntz")
HIGH = ("end_ds", "end_date", "end_dt", "end_ts", "end_dtntz")
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.LT: exp.GT, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
"""Comparisons, and what they are with their sides turned round."""
DATES = ("start_ds", "start_date", "end_ds", "end_date")


@dataclass(slots=True)
class Bounds:
    """What was found: `moved` is by how many days a lower bound lies before the interval; `values` are uses whose
    value depends on how many days are computed at once, as written, with their lines."""

    moved: int = 0
    values: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    dates: list[exp.Expr] = field(default_factory=list[exp.Expr])
    """What is compared with dates there: of instants, only the last day's midnight is within."""


def with_bounds(tree: exp.Expr, line: int) -> Bounds:
    """Rewrite the bounds of a tree in place. Raises Untranslatable for a name that is none of them."""
    found = Bounds()
    for node in list(tree.find_all(*_TURNED)):  # `start <= c` as `c >= start`
        if _own_value(node.this) and not any(macros(node.expression)):
            node.replace(_TURNED[type(node)](this=node.expression.copy(), expression=node.this.copy()))
    for node in list(tree.find_all(exp.Between)):
        low, high = macro(node.args["low"]), macro(node.args["high"])
        if (low in LOW or _moved(node.args["low"])) and high in HIGH and not any(macros(node.this)):
            what = node.this
            first = exp.GTE(this=what.copy(), expression=_low(node.args["low"], found, low in DATES, what))
            new = exp.And(this=first, expression=exp.LT(this=what.copy(), expression=_placeholder("end")))
            _put(node, new)
    for kind, ends in ((exp.GTE, LOW), (exp.LTE, HIGH)):
        for node in list(tree.find_all(kind)):
            what, bound = node.this, node.expression
            if any(macros(what)):
                continue
            if macro(bound) in ends:
                if macro(bound) in DATES:
                    found.dates.append(what)
                if kind is exp.GTE:
                    node.set("expression", _placeholder("start"))
                else:
                    node.replace(exp.LT(this=what, expression=_placeholder("end")))
            elif kind is exp.GTE and _moved(bound):
                node.set("expression", _low(bound, found, False, what))
    for column in list(macros(tree)):
        name = macro(column)
        found.values.append((line_of(column, line), f"@{name}"))
        value = _value(name)
        if value is None:
            raise Untranslatable(f"`@{name}`", why="its value is not known here", line=line_of(column, line))
        if column is tree:
            raise Untranslatable(f"`@{name}`", why="it is the whole query", line=line)
        column.replace(value)
    return found


def macro(node: exp.Expr | None) -> str:
    """The bound that a node is, or the date of; empty when it is none."""
    while isinstance(node, exp.Paren | exp.Date | exp.TsOrDsToDate | exp.TsOrDsToTimestamp | exp.Timestamp) or (
        type(node) is exp.Cast and node.to.this in (exp.DType.DATE, *exp.DataType.TEMPORAL_TYPES)
    ):
        node = node.this
    if isinstance(node, exp.Column) and not node.table and node.name.lower().startswith(MACRO):
        return node.name.lower().removeprefix(MACRO)
    return ""


def macros(tree: exp.Expr) -> Iterator[exp.Column]:
    """The bounds in a tree."""
    for column in tree.find_all(exp.Column):
        if not column.table and column.name.lower().startswith(MACRO):
            yield column


def _own_value(node: exp.Expr) -> bool:
    """Whether a node is made of bounds alone."""
    columns = list(node.find_all(exp.Column))
    return bool(columns) and len(columns) == len(list(macros(node))) and node.find(exp.Query) is None


def _moved(node: exp.Expr) -> int:
    """By how many days `start - INTERVAL n DAY` lies before the start; 0 when it is something else."""
    while isinstance(node, exp.Paren) or type(node) is exp.Cast:
        node = node.this
    if not isinstance(node, exp.Sub | exp.DateSub | exp.TsOrDsAdd | exp.DateAdd) or macro(node.this) not in LOW:
        return 0
    amount = node.expression
    unit = str(node.args.get("unit") or "day")
    if isinstance(amount, exp.Interval):
        unit = str(amount.args.get("unit") or "day")
        amount = amount.this
    sign = 1
    if isinstance(node, exp.TsOrDsAdd | exp.DateAdd):
        sign = -1
    if isinstance(amount, exp.Neg):
        sign, amount = -sign, amount.this
    if isinstance(amount, exp.Mul) and isinstance(amount.expression, exp.Neg | exp.Literal):
        return 0
    number = whole(str(amount.this)) if isinstance(amount, exp.Literal) else None
    per = {"day": 1, "days": 1, "week": 7, "weeks": 7}.get(unit.lower())
    return sign * number * per if number is not None and per and sign > 0 else 0


def _low(bound: exp.Expr, found: Bounds, dates: bool, what: exp.Expr) -> exp.Expr:
    if dates:
        found.dates.append(what)
    days = _moved(bound)
    if not days:
        return _placeholder("start")
    found.moved = max(found.moved, days)
    interval = exp.Interval(this=exp.Literal.string(str(days)), unit=exp.var("DAY"))
    return exp.Sub(this=_placeholder("start"), expression=interval)


def _value(name: str) -> exp.Expr | None:
    if name in ("start_ds", "start_date"):
        return _placeholder("start")
    if name in ("end_ds", "end_date"):
        return exp.Paren(this=exp.Sub(this=_placeholder("end"), expression=_interval("1", "DAY")))
    if name in LOW:
        return exp.cast(_placeholder("start"), "timestamp")
    if name in HIGH:
        moment = exp.cast(_placeholder("end"), "timestamp")
        return exp.Paren(this=exp.Sub(this=moment, expression=_interval("1", "MICROSECOND")))
    return None


def _interval(number: str, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit))


def _placeholder(name: str) -> exp.Placeholder:
    return exp.Placeholder(this=name)


def _put(node: exp.Expr, new: exp.Expr) -> None:
    """Replace a condition by two: in brackets where they would be read otherwise."""
    parent = node.parent
    plain = isinstance(parent, exp.And | exp.Where | exp.Paren | exp.Having | exp.Join)
    node.replace(new if plain else exp.Paren(this=new))


def line_of(node: exp.Expr, default: int) -> int:
    """The line that a node is at: its own, the first of what is in it, or that of what it is in."""
    here: exp.Expr | None = node
    while here is not None:
        lines = [n.meta_get("line") for n in here.find_all(exp.Identifier, exp.Func, exp.Star) if n.meta_get("line")]
        if own := here.meta_get("line"):
            return own
        if lines:
            return min(lines)
        here = here.parent
    return default
