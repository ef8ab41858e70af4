"""Which time does an expression make of another one, and how far away is that?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from sqlglot import exp

from backfill_assets.core.intervals import Cadence

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


def is_known(node: exp.Expr) -> bool:
    """Whether what a node makes of a time is a time, and it is known which."""
    return isinstance(node, _KNOWN) or node.meta_get("written_as") in (*_SAME_TIME_BY_NAME, *_DAY_BY_NAME)


def added_to_column(node: exp.Expr) -> list[Shift]:
    """What is added to a column, where that is known; nothing of anything else."""
    found: list[Shift] = []
    while not isinstance(node, exp.Column):
        taken = step(node, node.this) if isinstance(node.this, exp.Expr) else None
        if taken is None or any(s.earlier or s.floor for s in taken):
            return []
        found += taken
        node = node.this
    return found


def step(node: exp.Expr, child: exp.Expr) -> list[Shift] | None:
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


def shifted(node: exp.Expr) -> tuple[exp.Expr, tuple[Shift, ...]] | None:
    """The column or the end of the interval that an expression is made of, and the way from it; None for others."""
    found: list[Shift] = []
    while not isinstance(node, (exp.Column, exp.Placeholder)):
        child = _child(node)
        taken = step(node, child) if child is not None and is_known(node) else None
        if child is None or taken is None or any(s.earlier for s in taken):
            return None
        found += taken
        if isinstance(node, (exp.TsOrDsAdd, exp.AddMonths)):
            found.append(Shift(floor="DAY"))
        node = child
    return node, tuple(reversed(found))


def _child(node: exp.Expr) -> exp.Expr | None:
    """What of a node is made of a column or an end of the interval, where that is one part of it."""
    parts = [p for p in node.iter_expressions() if p.find(exp.Column, exp.Placeholder)]
    return parts[0] if len(parts) == 1 else None


def _is_earlier(node: exp.Expr) -> bool:
    """Whether a time that a function is called with is before `:start`: what the function makes of it is not known."""
    for inner in node.find_all(exp.Placeholder):
        shifts: list[Shift] = []
        while inner is not node and inner.parent is not None:
            shifts += step(inner.parent, inner) or []
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


def starts(cadence: Cadence, *, every: bool) -> Iterator[datetime]:
    """Beginnings of intervals over years of which one is a leap year; of hours those of midnights, or `every` one."""
    at = datetime(2023, 1, 2, tzinfo=UTC) if cadence is Cadence.WEEKLY else datetime(2023, 1, 1, tzinfo=UTC)
    count = 24 if cadence is Cadence.HOURLY and not every else 1
    while at.year < 2025:
        yield at
        at = cadence.shift(at, count)


def ends(cadence: Cadence) -> Iterator[datetime]:
    """Ends of intervals: over years, and of hours each one of two days as well."""
    yield from starts(cadence, every=False)
    yield from islice(starts(cadence, every=True), 48)
