"""How far after `:end` does a query read a table? An interval that is computed when it ends lacks what comes then.

A time column is bounded above by `:end` itself, or by a column of another table that is. Nothing is said where a
condition on it, or what it is compared with, is not understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.core.intervals import Cadence
from backfill_assets.sql.places import line_of
from backfill_assets.sql.scope_column import ScopeColumn, SeenColumns, named_column
from backfill_assets.sql.select_parts import conditions, conditions_on_groups, ends_of
from backfill_assets.sql.shifted_times import Shift, ends, shifted
from backfill_assets.sql.timed_table import TimedTable

_LEAST = timedelta(microseconds=1)
_DAY = Shift(floor="DAY")
_BELOW = (exp.LT, exp.LTE)
_ABOVE = (exp.GT, exp.GTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterRead:
    """A table that is read until a time after `:end`, or (without `reach`) until `:end` itself, which is the next
    interval's; `line` counts from 1. `by_rows`: it is bounded by the rows of another table only."""

    table: str
    line: int
    reach: timedelta
    by_rows: bool


def later_reads(scopes: Sequence[Scope], tables: Mapping[str, TimedTable], cadence: Cadence) -> Iterator[LaterRead]:
    """Those of a query, each table once, where it is read furthest; `tables` by their names in the scopes."""
    found: dict[str, LaterRead] = {}
    for scope in scopes:
        for alias in scope.selected_sources:
            read = _read(scope, alias, tables, cadence)
            if read is not None and (read.table not in found or read.reach > found[read.table].reach):
                found[read.table] = read
    yield from found.values()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Where a column comes from: `through` are its names in each SELECT, the outermost first. `day`: it has days."""

    table: str
    name: str
    through: Sequence[ScopeColumn]
    day: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """What a condition says that a time is at most: `shifts` away from `:end`, or from a column that has limits of its
    own (`of`). `back`: what it does to the time itself. `day`: the other column has days."""

    node: exp.Expr
    of: tuple[_Limit, ...] = ()
    day: bool = False
    shifts: tuple[Shift, ...]
    back: tuple[Shift, ...]
    strict: bool

    @property
    def moved(self) -> bool:
        return bool(self.shifts or self.back) or any(limit.moved for limit in self.of)

    def at(self, end: datetime) -> _Until:
        """Until when it lets through rows of the interval that ends there."""
        until = min((limit.at(end) for limit in self.of), default=_Until(at=end))
        for shift in (*((_DAY,) if self.day else ()), *self.shifts):
            until = until.moved(shift)
        until = _Until(at=until.at, open=until.open or self.strict)
        for shift in reversed(self.back):
            until = until.before(shift)
        return until


@dataclass(frozen=True, slots=True, kw_only=True)
class _Until:
    """The latest time that something can be; `open`: only what is before it."""

    at: datetime
    open: bool = False

    def __lt__(self, other: _Until) -> bool:
        return (self.at, not self.open) < (other.at, not other.open)

    def moved(self, shift: Shift) -> _Until:
        """The same of what a shift makes of the time."""
        if shift.floor:
            return _Until(at=shift.of(self.at - _LEAST if self.open else self.at))
        return _Until(at=shift.of(self.at), open=self.open)

    def before(self, shift: Shift) -> _Until:
        """The same of a time, where this is of what the shift makes of it."""
        if shift.floor:
            return _Until(at=self.moved(shift).at + timedelta(days=1), open=True)
        return _Until(at=Shift(months=-shift.months, exact=-shift.exact).of(self.at), open=self.open)


def _read(scope: Scope, alias: str, tables: Mapping[str, TimedTable], cadence: Cadence) -> LaterRead | None:
    time = _time_of(scope, alias, tables)
    origin = _origin(time, tables) if time else None
    if time is None or origin is None or tables[origin.table].time.lower() != origin.name:
        return None
    limits = _limits(time, tables, frozenset())
    if not limits:
        return None
    if not any(limit.moved for limit in limits):
        return _until_the_end(origin.table, limits, next(ends(cadence)))
    by_rows = all(limit.of for limit in limits)
    if by_rows and _has_other_times(origin, tables[origin.table]):
        return None
    try:
        reach, limit = max((_reach(limits, end, day=origin.day) for end in ends(cadence)), key=lambda found: found[0])
    except (ValueError, OverflowError):  # beyond the years that there are
        return None
    if reach <= timedelta():
        return None
    return LaterRead(table=origin.table, line=line_of(limit.node), reach=reach, by_rows=by_rows)


def _until_the_end(table: str, limits: Sequence[_Limit], end: datetime) -> LaterRead | None:
    """That what is at `:end` is read as well, by a bound of the interval."""
    last = min(limits, key=lambda one: one.at(end))
    if last.of or last.at(end).open or isinstance(last.node, (exp.EQ, exp.NullSafeEQ)):
        return None
    return LaterRead(table=table, line=line_of(last.node), reach=timedelta(), by_rows=False)


def _reach(limits: Sequence[_Limit], end: datetime, *, day: bool) -> tuple[timedelta, _Limit]:
    """How far after an end rows are read, and which condition says so."""
    limit = min(limits, key=lambda one: one.at(end))
    until = limit.at(end)
    if not limit.moved:
        return timedelta(), limit
    if day:
        return until.moved(_DAY).at + timedelta(days=1) - end, limit
    return until.at - end, limit


def _time_of(scope: Scope, alias: str, tables: Mapping[str, TimedTable]) -> ScopeColumn | None:
    """The time column of a table, or of what passes on the rows of one, by its name in a SELECT."""
    source = scope.selected_sources[alias][1]
    if isinstance(source, exp.Table):
        table = tables.get(source.name)
        return ScopeColumn(scope, alias, table.time.lower()) if table else None
    for output in _outputs(source):
        ref = ScopeColumn(scope, alias, output.alias_or_name.lower())
        origin = _origin(ref, tables)
        if origin is not None and tables[origin.table].time.lower() == origin.name:
            return ref
    return None


def _outputs(scope: Scope) -> Sequence[exp.Expr]:
    return scope.expression.selects if isinstance(scope.expression, exp.Select) else ()


def _origin(ref: ScopeColumn, tables: Mapping[str, TimedTable]) -> _Origin | None:
    """Of a column that subqueries pass on as it is, or as its day; None for anything else."""
    through, day = [ref], False
    while (source := _source(ref)) is not None and isinstance(source, Scope):
        output = next((o for o in _outputs(source) if o.alias_or_name.lower() == ref.name), None)
        made = shifted(output.unalias()) if output is not None else None
        if made is None or not isinstance(made[0], exp.Column) or any(s != _DAY for s in made[1]):
            return None
        day = day or bool(made[1])
        ref = ScopeColumn(source, made[0].table, made[0].name.lower())
        through.append(ref)
    if not isinstance(source, exp.Table) or source.name not in tables:
        return None
    day = day or tables[source.name].type(ref.name) == "date"
    return _Origin(table=source.name, name=ref.name, through=through, day=day)


def _source(ref: ScopeColumn) -> exp.Expr | Scope | None:
    """What has the column; None where it is pivoted."""
    node, source = ref.scope.selected_sources.get(ref.alias, (None, None))
    return None if node is None or node.args.get("pivots") else source


def _limits(ref: ScopeColumn, tables: Mapping[str, TimedTable], seen: SeenColumns) -> list[_Limit] | None:
    """What bounds a column above; None where a condition on it is not understood. `seen`: columns that are asked about
    already."""
    origin = _origin(ref, tables)
    if origin is None:
        return None
    found: list[_Limit] = []
    for one in origin.through:
        if any(one.is_in(place) for place in conditions_on_groups(one.scope.expression)):
            return None
        for condition in _conditions(one.scope):
            if one.is_in(condition) and not _is_below_only(condition, one) and not _is_around(condition, seen):
                limit = _limit(condition, one, tables, seen | {ref.key, one.key})
                if limit is None:
                    return None
                found += limit
    return found


def _conditions(scope: Scope) -> Iterator[exp.Expr]:
    """What must hold of the rows of a SELECT; BETWEEN is two conditions."""
    for condition in conditions(scope.expression) if isinstance(scope.expression, exp.Select) else ():
        yield from ends_of(condition) if isinstance(condition, exp.Between) else (condition,)


def _is_around(condition: exp.Expr, seen: SeenColumns) -> bool:
    """Whether a condition is on a subquery that asks about its columns already."""
    return any((id(select), key[1], key[2]) == key for select in condition.find_all(exp.Select) for key in seen)


def _is_below_only(condition: exp.Expr, ref: ScopeColumn) -> bool:
    """Whether a condition bounds a column below, or says only that there is one."""
    if isinstance(condition, exp.Not):
        return isinstance(condition.this, exp.Is) and isinstance(condition.this.this, exp.Column)
    if isinstance(condition, _ABOVE):
        return not ref.is_in(condition.right)
    return isinstance(condition, _BELOW) and not ref.is_in(condition.left)


def _limit(
    condition: exp.Expr, ref: ScopeColumn, tables: Mapping[str, TimedTable], seen: SeenColumns
) -> list[_Limit] | None:
    """What a condition says that a column is at most: nothing new of columns that are `seen`."""
    match condition:
        case exp.LT() | exp.LTE():
            column, bound = condition.left, condition.right
        case exp.GT() | exp.GTE():
            column, bound = condition.right, condition.left
        case exp.EQ() | exp.NullSafeEQ():
            column, bound = condition.left, condition.right
            if ref.is_in(bound):
                column, bound = bound, column
        case _:
            return None
    own, other = shifted(column), shifted(bound)
    if own is None or other is None or not isinstance(own[0], exp.Column) or ref.is_in(bound):
        return None
    if any(s.floor not in ("", "DAY") for s in own[1]):
        return None
    strict = isinstance(condition, (exp.LT, exp.GT))
    if isinstance(other[0], exp.Placeholder):
        if other[0].name != "end":
            return None
        return [_Limit(node=condition, shifts=other[1], back=own[1], strict=strict)]
    target = named_column(ref.scope, other[0])
    if target is not None and target.key in seen:
        return []
    origin = _origin(target, tables) if target else None
    of = _limits(target, tables, seen) if target else None
    if origin is None or not of:
        return None
    day = origin.day or not tables[origin.table].type(origin.name)
    return [_Limit(node=condition, of=tuple(of), day=day, shifts=other[1], back=own[1], strict=strict)]


def _has_other_times(origin: _Origin, table: TimedTable) -> bool:
    """Whether a condition compares another time of the same rows: that may bound them as well."""
    times = {c.name.lower() for c in table.columns if (c.type or "date").startswith(("date", "timestamp"))}
    last = origin.through[-1]
    for ref in origin.through:
        names = times - {last.name, ref.name}
        for condition in _conditions(ref.scope):
            if any(c.table == ref.alias and c.name.lower() in names for c in condition.find_all(exp.Column)):
                return True
    return False
