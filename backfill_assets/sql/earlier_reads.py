"""How far before `:start` does a query read a table? Rows of an interval depend on what was there then.

A time column is bounded below by `:start`, by a column of another table that is, or where an outer query asks for no
earlier rows. Nothing is said where a condition on it, or what it is compared with, is not understood.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.sql.places import line_of
from backfill_assets.sql.scope_column import ScopeColumn, SeenColumns, named_column
from backfill_assets.sql.select_parts import (
    aggregates,
    conditions,
    conditions_on_groups,
    conjuncts,
    ends_of,
    group_keys,
    window_place,
)
from backfill_assets.sql.shifted_times import Shift, shifted, starts
from backfill_assets.sql.timed_table import TimedTable

_BELOW = (exp.LT, exp.LTE)
_ABOVE = (exp.GT, exp.GTE)
_MIRRORED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
_MOST_LOOKS = 3_000
"""Places of a query that are looked at; of one that has more ways through it nothing is said."""
_PICKS = (exp.Min, exp.Max, exp.AnyValue, exp.First, exp.Last)
"""Aggregates of which the value is one of a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRead:
    """A table that is read from `intervals` before `:start` on (None: from its beginning on); `line` counts from 1.
    `by`: another time column of it, which is bounded below instead."""

    table: str
    line: int
    intervals: int | None
    by: str = ""


def earlier_reads(
    scopes: Sequence[Scope], tables: Mapping[str, TimedTable], time: str, cadence: Cadence
) -> Iterator[EarlierRead]:
    """Those of a query, each table once, where it is read furthest; `tables` by their names in the scopes, `time` and
    `cadence` the model's own.

    A source that a SELECT neither folds nor bounds by its time is no matter: it is looked up by other columns.
    """
    query, found = _Query(scopes, time.lower(), cadence), dict[str, EarlierRead]()
    for scope in scopes:
        for alias, (node, source) in scope.selected_sources.items():
            if isinstance(source, exp.Table) and (table := tables.get(source.name)) is not None:
                read = _read(query, ScopeColumn(scope, alias, table.time.lower()), node, source.name, table)
                if read is not None and _is_further(read, found.get(read.table)):
                    found[read.table] = read
    yield from found.values()


def _is_further(read: EarlierRead, known: EarlierRead | None) -> bool:
    if known is None or known.intervals is None:
        return known is None
    return read.intervals is None or read.intervals > known.intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lower:
    """What a time is at least, by the start of the interval; without `at` nothing bounds it, or `unknown`: nobody can
    tell. `earlier`: it may be before the start."""

    at: Callable[[datetime], datetime] | None = None
    unknown: bool = False
    earlier: bool = False

    def moved(self, shifts: Sequence[Shift]) -> _Lower:
        """The same of what these make of the time."""
        if self.at is None or not shifts:
            return self
        return _Lower(at=partial(_moved, self.at, tuple(shifts)), earlier=True)

    def before(self, shifts: Sequence[Shift]) -> _Lower:
        """The same of a time of which they make this one. What holds a time begins no later than the time itself."""
        back = [Shift(months=-s.months, exact=-s.exact) for s in reversed(shifts) if not s.floor]
        return self.moved(back)


_NONE, _UNKNOWN = _Lower(), _Lower(unknown=True)


def _moved(at: Callable[[datetime], datetime], shifts: Sequence[Shift], start: datetime) -> datetime:
    found = at(start)
    for shift in shifts:
        found = shift.of(found)
    return found


def _of(pick: Callable[[Iterable[datetime]], datetime], lowers: Sequence[_Lower], start: datetime) -> datetime:
    return pick(lower.at(start) for lower in lowers if lower.at)


def _all(lowers: Iterable[_Lower]) -> _Lower:
    """Where all of them hold."""
    every = list(lowers)
    if known := [lower for lower in every if lower.at]:
        within = [lower for lower in known if not lower.earlier]
        return within[0] if within else _Lower(at=partial(_of, max, known), earlier=True)
    return _UNKNOWN if any(lower.unknown for lower in every) else _NONE


def _any(lowers: Iterable[_Lower]) -> _Lower:
    """Where one of them holds."""
    every = list(lowers)
    if _NONE in every or not every:
        return _NONE
    if _UNKNOWN in every:
        return _UNKNOWN
    return _Lower(at=partial(_of, min, every), earlier=any(lower.earlier for lower in every))


class _Query:
    """A query's SELECTs, and who reads which."""

    def __init__(self, scopes: Sequence[Scope], time: str, cadence: Cadence) -> None:
        self._time, self.cadence, self._looks = time, cadence, 0
        self._readers: dict[int, list[tuple[Scope, str]]] = defaultdict(list)
        self._unions: dict[int, Scope] = {}
        self._said: dict[int, Mapping[tuple[str, str], list[exp.Expr]]] = {}
        for scope in scopes:
            for part in scope.set_operation_scopes:
                self._unions[id(part)] = scope
            for alias, (_, source) in scope.selected_sources.items():
                if isinstance(source, Scope):
                    self._readers[id(source)].append((scope, alias))

    def conditions(self, ref: ScopeColumn) -> Sequence[exp.Expr]:
        """Those of its own SELECT that read a column."""
        select = ref.scope.expression
        if id(select) not in self._said:
            found = self._said[id(select)] = defaultdict[tuple[str, str], list[exp.Expr]](list)
            for condition in conditions(select) if isinstance(select, exp.Select) else ():
                for column in {(c.table, c.name.lower()) for c in condition.find_all(exp.Column)}:
                    found[column].append(condition)
        return self._said[id(select)].get((ref.alias, ref.name), ())

    def read(self, ref: ScopeColumn) -> _Lower:
        """Of a table's rows that the query looks at."""
        return self._up(ref, frozenset())

    def _up(self, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        return _all([self._here(ref, seen), self._around(ref, seen)])

    def _down(self, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        return _all([self._here(ref, seen), self._within(ref, seen)])

    def _both(self, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        if ref.key in seen:
            return _NONE
        return _all([self._down(ref, seen), self._around(ref, seen)])

    def _here(self, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        """By the conditions of its own SELECT."""
        select = ref.scope.expression
        self._looks += 1
        if self._looks > _MOST_LOOKS:
            return _UNKNOWN
        if not isinstance(select, exp.Select):
            return _NONE
        said = [self._condition(c, ref, seen | {ref.key}) for c in self.conditions(ref)]
        return _all([*said, *(_UNKNOWN for place in conditions_on_groups(select) if ref.is_in(place))])

    def _around(self, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        """By the queries that read its SELECT, where they see the time of each row."""
        select = ref.scope.expression
        if not isinstance(select, exp.Select) or _folds(select, ref):
            return _NONE
        passed = [
            (number, found[1])
            for number, output in enumerate(select.selects)
            if (found := shifted(output.unalias())) is not None and ref.is_it(found[0])
        ]
        return _all(self._outside(ref.scope, number, seen).before(shifts) for number, shifts in passed)

    def _outside(self, scope: Scope, number: int, seen: SeenColumns) -> _Lower:
        """What the readers of a query ask of its output with this number."""
        if (union := self._unions.get(id(scope))) is not None:
            return self._outside(union, number, seen)
        name = _names(scope)[number]
        if scope.is_root:
            return _Lower(at=lambda start: start) if name == self._time else _NONE
        if scope.is_subquery:  # IN, which an outer column may bound
            return _UNKNOWN
        readers = [ScopeColumn(reader, alias, name) for reader, alias in self._readers[id(scope)]]
        return _any(self._up(reader, seen) for reader in readers if reader.key not in seen)

    def _within(self, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        """By the query that it is an output of."""
        _, source = ref.scope.selected_sources.get(ref.alias, (None, None))
        return self._output(source, ref.name, seen) if isinstance(source, Scope) else _NONE

    def _output(self, scope: Scope, name: str, seen: SeenColumns) -> _Lower:
        names = _names(scope)
        return self._numbered(scope, names.index(name), seen) if name in names else _UNKNOWN

    def _numbered(self, scope: Scope, number: int, seen: SeenColumns) -> _Lower:
        if scope.set_operation_scopes:
            return _any(self._numbered(part, number, seen) for part in scope.set_operation_scopes)
        if not isinstance(scope.expression, exp.Select):
            return _UNKNOWN
        node = scope.expression.selects[number].unalias()
        found = shifted(node.this if isinstance(node, _PICKS) else node)
        if found is None or not isinstance(found[0], exp.Column):
            return _UNKNOWN
        inner = ScopeColumn(scope, found[0].table, found[0].name.lower())
        return _NONE if inner.key in seen else self._down(inner, seen).moved(found[1])

    def _condition(self, node: exp.Expr, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        """What a condition says that a column is at least."""
        match node:
            case exp.Paren():
                return self._condition(node.this, ref, seen)
            case exp.And():
                return _all(self._condition(part, ref, seen) for part in conjuncts(node) if ref.is_in(part))
            case exp.Or():
                sides = [node.left, node.right]
                return _any(self._condition(side, ref, seen) if ref.is_in(side) else _NONE for side in sides)
            case exp.Between():
                return _all(self._condition(end, ref, seen) for end in ends_of(node))
            case exp.Not() if isinstance(node.this, exp.Is):
                return _NONE
            case exp.GT() | exp.GTE() | exp.LT() | exp.LTE() | exp.EQ() | exp.NullSafeEQ():
                return self._comparison(_without_difference(node), ref, seen)
            case _:
                return _UNKNOWN

    def _comparison(self, node: exp.Binary, ref: ScopeColumn, seen: SeenColumns) -> _Lower:
        own, bound = node.left, node.right
        if not ref.is_in(own):
            own, bound = bound, own
        mine, other = shifted(own), shifted(bound)
        if ref.is_in(bound) or mine is None or not ref.is_it(mine[0]):
            return _UNKNOWN
        if isinstance(node, _BELOW if own is node.left else _ABOVE):
            return _NONE
        if other is None:
            return _UNKNOWN if bound.find(exp.Column, exp.Placeholder, exp.Query) else _NONE
        match other[0]:
            case exp.Placeholder(name="start"):
                at = _Lower(at=lambda start: start)
            case exp.Placeholder(name="end"):
                at = _Lower(at=lambda start: self.cadence.shift(start, 1))
            case exp.Column():
                target = named_column(ref.scope, other[0])
                at = self._both(target, seen) if target else _UNKNOWN
            case _:
                at = _UNKNOWN
        return at.moved(other[1]).before(mine[1])


def _read(query: _Query, ref: ScopeColumn, node: exp.Expr, name: str, table: TimedTable) -> EarlierRead | None:
    lower = query.read(ref)
    select = ref.scope.expression
    if lower.unknown or not isinstance(select, exp.Select) or (lower.at and not lower.earlier):
        return None
    said = next(iter(query.conditions(ref)), None)
    if lower.at is None:
        if table.cadence is None and said is None:
            if by := _other_time(query, ref, table):
                return EarlierRead(table=name, line=line_of(node), intervals=None, by=by)
            if not _folds(select, ref):
                return None
        return EarlierRead(table=name, line=line_of(said or node), intervals=None)
    try:
        every = starts(query.cadence, every=query.cadence is Cadence.HOURLY)
        far = max(_before(lower.at, start, query.cadence, table.cadence) for start in every)
    except (ValueError, OverflowError):  # beyond the years that there are
        return None
    return EarlierRead(table=name, line=line_of(said or node), intervals=far) if far else None


def _other_time(query: _Query, ref: ScopeColumn, table: TimedTable) -> str:
    """Another time column that bounds what is read; "" where there is none."""

    def bounds(name: str) -> bool:
        return query.read(ScopeColumn(ref.scope, ref.alias, name.lower())).at is not None

    return next(filter(bounds, table.other_times), "")


def _before(lower: Callable[[datetime], datetime], start: datetime, own: Cadence, above: Cadence | None) -> int:
    """How many intervals before its own are read; the upstream's interval that holds the start is no earlier one."""
    at = own.floor(lower(start))
    held = min(start, above.floor(start)) if above else start
    return own.count(Interval(at, start)) if at < held else 0


def _names(scope: Scope) -> list[str]:
    query = scope.expression
    return [name.lower() for name in query.named_selects] if isinstance(query, exp.Query) else []


def _folds(select: exp.Select, ref: ScopeColumn) -> bool:
    """Whether its rows are made of those of several times."""

    def apart(keys: Iterable[exp.Expr]) -> bool:
        return any(ref.is_in(key) for key in keys)

    outputs = select.expressions
    windows = [window for output in outputs for window in output.find_all(exp.Window)]
    if any(not apart(window_place(window, select).args.get("partition_by") or []) for window in windows):
        return True
    if select.args.get("group"):
        return not apart(group_keys(select))
    if select.args.get("distinct"):
        return not apart(outputs)
    return any(map(aggregates, outputs)) or bool(select.args.get("limit"))


def _without_difference(node: exp.Binary) -> exp.Binary:
    """`datediff(a, b) <= 6` as `a <= date_add(b, 6)`."""
    left, right, kind = node.left, node.right, type(node)
    if isinstance(right, exp.DateDiff):
        left, right, kind = right, left, _MIRRORED.get(type(node), type(node))
    unit = left.args.get("unit") if isinstance(left, exp.DateDiff) else None
    if not isinstance(left, exp.DateDiff) or not right.is_number or (unit and unit.name.upper() != "DAY"):
        return node
    later = exp.TsOrDsAdd(this=left.expression.copy(), expression=right.copy(), unit=exp.var("DAY"))
    return kind(this=left.this.copy(), expression=later)
