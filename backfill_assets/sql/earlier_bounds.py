"""Where does a query bound what it reads by a time before `:start`? Then rows of an interval depend on earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlglot import exp

from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.sql.places import line_of

_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_CONDITIONS = (exp.Where, exp.Join, exp.Having, exp.Qualify)
_CASTS = (exp.Cast, exp.TryCast)
_SAME_TIME = (exp.Paren, exp.TsOrDsToTimestamp, exp.TimeStrToTime, exp.FromTimeZone, exp.AtTimeZone)
_SAME_TIME_BY_NAME = ("TO_UTC_TIMESTAMP", "FROM_UTC_TIMESTAMP", "TO_TIMESTAMP", "TIMESTAMP")
_DAY_BY_NAME = ("TO_DATE", "DATE")
_ADDED = (exp.TsOrDsAdd, exp.TimestampAdd, exp.DateAdd, exp.DatetimeAdd, exp.AddMonths)
_TRUNCATED = (exp.TimestampTrunc, exp.DateTrunc)
_KNOWN = (*_CASTS, *_SAME_TIME, exp.TsOrDsToDate, *_ADDED, *_TRUNCATED, exp.Add, exp.Sub)
_NO_TIME = (exp.DateDiff, exp.TimestampDiff, exp.AggFunc, exp.Connector, exp.Case, exp.If)
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "DAYOFYEAR": 86_400, "WEEK": 604_800}
_WITHIN = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
"""No interval begins within these."""
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_UNITS = {"YYYY": "YEAR", "YY": "YEAR", "MM": "MONTH", "MON": "MONTH", "DD": "DAY", "DAY": "DAY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """One step away from a time: by calendar months, by an exact time, or to the beginning of what holds it. `earlier`:
    by nobody knows how much, but backwards."""

    months: int = 0
    exact: timedelta = timedelta()
    floor: str = ""
    earlier: bool = False

    def of(self, at: datetime) -> datetime:
        """The time that it leads to from this one."""
        if self.floor == "DAY":
            at = Cadence.DAILY.floor(at)
        elif self.floor == "WEEK":
            at = Cadence.WEEKLY.floor(at)
        elif self.floor in _MONTHS:
            at = Cadence.MONTHLY.floor(at)
            at = Cadence.MONTHLY.shift(at, -((at.month - 1) % _MONTHS[self.floor]))
        if self.months:
            first = Cadence.MONTHLY.floor(at)
            last = Cadence.MONTHLY.shift(first, self.months + 1) - timedelta(days=1)
            at = last.replace(day=min(at.day, last.day), hour=at.hour, minute=at.minute, second=at.second)
        return at + self.exact


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
            return max(self._before(start, cadence) for start in _starts(cadence, every=every))
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
        step = _of_number(parent, node) if opaque and _counts(parent, node) else _step(parent, node)
        if step is None:
            return None
        opaque = opaque or not _is_known(parent)
        shifts += step
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
        shifts += (Shift(months=-s.months, exact=-s.exact) for s in _added_to_column(other))
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
    parts = list(_all_of(where.args["on"] if isinstance(where, exp.Join) else where.this))
    select = where.parent_select
    alone = select is not None and not select.args.get("joins")
    return any(part is bound for part in parts) and any(
        part is not bound and (found := _from_start(part)) is not None and found.table == column.table
        and bool(alone or column.table)
        for part in parts
    )  # fmt: skip


def _all_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    """What has to hold, all of it."""
    if isinstance(condition, exp.Paren):
        yield from _all_of(condition.this)
    elif isinstance(condition, exp.And):
        yield from _all_of(condition.this)
        yield from _all_of(condition.expression)
    else:
        yield condition


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


def _is_known(node: exp.Expr) -> bool:
    """Whether what a node makes of a time is a time, and it is known which."""
    return isinstance(node, _KNOWN) or node.meta_get("written_as") in (*_SAME_TIME_BY_NAME, *_DAY_BY_NAME)


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


def _added_to_column(node: exp.Expr) -> list[Shift]:
    """What is added to a column, where that is known; nothing of anything else."""
    found: list[Shift] = []
    while not isinstance(node, exp.Column):
        step = _step(node, node.this) if isinstance(node.this, exp.Expr) else None
        if step is None or any(s.earlier or s.floor for s in step):
            return []
        found += step
        node = node.this
    return found


def _step(node: exp.Expr, child: exp.Expr) -> list[Shift] | None:
    """What a node does to the time that its child is; None where it is no time any more, or nobody can tell which."""
    name = node.meta_get("written_as")
    if isinstance(node, _CASTS):
        return [Shift(floor="DAY")] if node.to.this is exp.DType.DATE else []
    if isinstance(node, exp.TsOrDsToDate) or name in _DAY_BY_NAME:
        return [Shift(floor="DAY")]
    if isinstance(node, _SAME_TIME) or name in _SAME_TIME_BY_NAME:
        return []
    if isinstance(node, exp.Add):
        by = _amount(node.expression if node.this is child else node.this)
        return [by] if by else None
    if isinstance(node, exp.Sub):
        if node.this is not child:
            return None
        by = _amount(node.expression)
        return [Shift(months=-by.months, exact=-by.exact) if by else Shift(earlier=True)]
    if isinstance(node, _ADDED):
        unit = node.args.get("unit")
        by = _of(_number(node.expression), "MONTH" if isinstance(node, exp.AddMonths) else unit.name if unit else "DAY")
        if by is None and node.meta_get("written_as") == "DATE_SUB":
            return [Shift(earlier=True)]
        return [by] if by and node.this is child else None
    if isinstance(node, _TRUNCATED):
        unit = str(node.args["unit"].name).upper()
        unit = _UNITS.get(unit, unit)
        if unit in ("DAY", "WEEK", *_MONTHS):
            return [Shift(floor=unit)]
        return [] if unit in _WITHIN else [Shift(earlier=True)]
    if isinstance(node, exp.Func) and not isinstance(node, _NO_TIME):
        return [Shift(earlier=True)] if _is_earlier(child) else []
    return None


def _is_earlier(node: exp.Expr) -> bool:
    """Whether a time that a function is called with is before `:start`: what the function makes of it is not known."""
    for inner in node.find_all(exp.Placeholder):
        shifts: list[Shift] = []
        while inner is not node and inner.parent is not None:
            shifts += _step(inner.parent, inner) or []
            inner = inner.parent
        if any(s.earlier or s.months < 0 or s.exact < timedelta() for s in shifts):
            return True
    return False


def _amount(node: exp.Expr) -> Shift | None:
    if isinstance(node, exp.Paren):
        return _amount(node.this)
    if isinstance(node, exp.Neg):
        by = _amount(node.this)
        return Shift(months=-by.months, exact=-by.exact) if by else None
    if isinstance(node, exp.Interval):
        unit = node.args.get("unit")
        return _of(_number(node.this), unit.name) if isinstance(unit, exp.Var) else None
    if isinstance(node, exp.Add):
        one, other = _amount(node.this), _amount(node.expression)
        return Shift(months=one.months + other.months, exact=one.exact + other.exact) if one and other else None
    return _of(_number(node), "DAY")


def _of(number: int | None, unit: str) -> Shift | None:
    unit = unit.upper().rstrip("S")
    unit = _UNITS.get(unit, unit)
    if number is None or abs(number) > 100_000:
        return None
    if unit in _MONTHS:
        return Shift(months=number * _MONTHS[unit])
    return Shift(exact=timedelta(seconds=number * _SECONDS[unit])) if unit in _SECONDS else None


def _number(node: exp.Expr | None) -> int | None:
    if isinstance(node, exp.Literal):
        text = node.name.strip()
        return int(text) if text.lstrip("+-").isdecimal() else None
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Mul):
        one, other = _number(node.this), _number(node.expression)
        return None if one is None or other is None else one * other
    return _number(node.this) if isinstance(node, (exp.Paren, exp.Cast)) else None


def _starts(cadence: Cadence, *, every: bool) -> Iterator[datetime]:
    """Beginnings of intervals over years of which one is a leap year; of hours those of midnights, or `every` one."""
    at = datetime(2023, 1, 2, tzinfo=UTC) if cadence is Cadence.WEEKLY else datetime(2023, 1, 1, tzinfo=UTC)
    step = 24 if cadence is Cadence.HOURLY and not every else 1
    while at.year < 2025:
        yield at
        at = cadence.shift(at, step)
