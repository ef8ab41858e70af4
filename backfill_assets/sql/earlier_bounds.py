"""Where does a query bound what it reads by a time before `:start`? Then rows of an interval depend on earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlglot import exp

from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.sql.places import line_of
from backfill_assets.sql.select_parts import conjuncts
from backfill_assets.sql.shifted_times import Shift, added_to_column, is_known, starts, step

_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_CONDITIONS = (exp.Where, exp.Join, exp.Having, exp.Qualify)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierBound:
    """A column compared with a time that is shifted from `:start`. `line` counts from 1; `lower`: rows from that time
    on are read, else those until then."""

    line: int
    lower: bool
    strict: bool = False
    """Whether the time itself is left out: of days, the whole first one."""
    shifts: tuple[Shift, ...]

    def intervals(self, cadence: Cadence) -> int | None:
        """How many intervals before `:start` it reaches, at most: 0 where it is never before it, None where nobody
        knows how many."""
        if any(s.earlier for s in self.shifts):
            return None
        every = any(s.floor for s in self.shifts)
        try:
            return max(self._before(start, cadence) for start in starts(cadence, every=every))
        except (ValueError, OverflowError):  # beyond the years that there are
            return None if any(s.months < 0 or s.exact < timedelta() for s in self.shifts) else 0

    def _before(self, start: datetime, cadence: Cadence) -> int:
        at = start
        for shift in self.shifts:
            at = shift.of(at)
        first = cadence.floor(at)
        return cadence.count(Interval(first, start)) if first < start else 0


def earlier_bounds(placeholders: Iterable[exp.Placeholder]) -> Iterator[EarlierBound]:
    """The bounds among conditions of a query that are shifted from `:start`, of all its `placeholders`."""
    for placeholder in placeholders:
        if placeholder.name == "start" and (found := _bound(placeholder)) is not None:
            yield found


def _bound(placeholder: exp.Placeholder) -> EarlierBound | None:
    shifts: list[Shift] = []
    opaque = False  # a function has made of the time what nobody knows, perhaps a number
    node: exp.Expr = placeholder
    while (parent := node.parent) is not None and not isinstance(parent, (*_COMPARISONS, exp.Between)):
        taken = _of_number(parent, node) if opaque and _counts(parent, node) else step(parent, node)
        if taken is None:
            return None
        opaque = opaque or not is_known(parent)
        shifts += taken
        node = parent
    if parent is None or not _in_condition(parent):
        return None
    if isinstance(parent, exp.Between):
        lower, other = node is parent.args["low"], parent.this
    else:
        right = node is parent.expression
        lower = not isinstance(parent, (exp.LT, exp.LTE) if right else (exp.GT, exp.GTE))
        other = parent.this if right else parent.expression
    if node is other:
        return None
    if not opaque:
        shifts += (Shift(months=-s.months, exact=-s.exact) for s in added_to_column(other))
    if not shifts or (lower and _is_within(parent, other)):
        return None
    strict = lower and isinstance(parent, (exp.GT, exp.LT))
    return EarlierBound(line=line_of(parent), lower=lower, strict=strict, shifts=tuple(shifts))


def _is_within(bound: exp.Expr, other: exp.Expr) -> bool:
    """Whether the same condition keeps the rows of the bound's table from `:start` on anyway: then an earlier bound
    says which partitions are looked at, and no earlier row is read."""
    where, column = bound.find_ancestor(*_CONDITIONS), other.find(exp.Column)
    if where is None or column is None:
        return False
    parts = list(conjuncts(where.args["on"] if isinstance(where, exp.Join) else where.this))
    select = where.parent_select
    alone = select is not None and not select.args.get("joins")
    return any(part is bound for part in parts) and any(
        part is not bound and (found := _from_start(part)) is not None and found.table == column.table
        and bool(alone or column.table)
        for part in parts
    )  # fmt: skip


def _from_start(part: exp.Expr) -> exp.Column | None:
    """The column that a condition keeps from `:start` itself on; None for any other condition."""
    match part:
        case exp.GTE() | exp.GT() | exp.EQ():
            column, at = part.this, part.expression
        case exp.LTE() | exp.LT():
            column, at = part.expression, part.this
        case exp.Between():
            column, at = part.this, part.args["low"]
        case _:
            return None
    exactly = isinstance(at, exp.Placeholder) and at.name == "start"
    return column if exactly and isinstance(column, exp.Column) else None


def _counts(parent: exp.Expr, node: exp.Expr) -> bool:
    """Whether a number is added or taken away."""
    if not isinstance(parent, (exp.Add, exp.Sub)):
        return False
    by = parent.expression if parent.this is node else parent.this
    return not isinstance(by.unnest(), exp.Interval)


def _of_number(parent: exp.Expr, node: exp.Expr) -> list[Shift] | None:
    """What is taken away from a number that a function made of the time: nobody knows how much time that is."""
    return [Shift(earlier=True)] if isinstance(parent, exp.Sub) and parent.this is node else None


def _in_condition(node: exp.Expr) -> bool:
    found = node.find_ancestor(*_CONDITIONS, exp.Query)
    return isinstance(found, _CONDITIONS)
