"""Does a query read all of a table until a time, and from none on? Then rows depend on however old ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.sql.places import line_of
from backfill_assets.sql.select_parts import aggregates, conditions, group_keys, window_place

_FROM_ON = (exp.GT, exp.GTE)
_UNTIL = (exp.LT, exp.LTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnboundedRead:
    """A table that is read until a time; `line` counts from 1."""

    table: str
    line: int


def unbounded_reads(scopes: Sequence[Scope], times: Mapping[str, str]) -> Iterator[UnboundedRead]:
    """Tables whose time column a SELECT bounds above only, each once; `times` are these columns, lower-cased, by the
    table's name in the scopes.

    Nothing is said of a part of a query that passes rows on as they are, or folds those of one time: who reads it may
    bound them.
    """
    found: dict[str, int] = {}
    for scope in scopes:
        select = scope.expression
        inner = scope.is_cte or scope.is_derived_table
        if not isinstance(select, exp.Select) or (inner and not _folds(select, frozenset(times.values()))):
            continue
        where = list(conditions(select))
        for alias, (_, source) in scope.selected_sources.items():
            name = source.name if isinstance(source, exp.Table) else ""
            if name in times and name not in found and (until := _only_above(where, alias, times[name])):
                found[name] = line_of(until)
    yield from (UnboundedRead(table=table, line=line) for table, line in found.items())


def _folds(select: exp.Select, times: Collection[str]) -> bool:
    """Whether its rows are made of those of several times."""

    def apart(keys: Iterable[exp.Expr]) -> bool:
        return any(c.name.lower() in times for key in keys for c in key.find_all(exp.Column))

    outputs = select.expressions
    windows = [window for output in outputs for window in output.find_all(exp.Window)]
    if any(not apart(window_place(window, select).args.get("partition_by") or []) for window in windows):
        return True
    if select.args.get("group"):
        return not apart(group_keys(select))
    if select.args.get("distinct"):
        return not apart(outputs)
    return any(map(aggregates, outputs))


def _only_above(where: Sequence[exp.Expr], alias: str, time: str) -> exp.Expr | None:
    """The condition that bounds a table's time above, where none bounds it below or says what nobody can tell here."""

    def says(node: exp.Expr | None) -> bool:
        columns = node.find_all(exp.Column) if node is not None else ()
        return any(c.table == alias and c.name.lower() == time for c in columns)

    until: exp.Expr | None = None
    for condition in where:
        if not says(condition):
            continue
        if not isinstance(condition, _FROM_ON + _UNTIL):
            return None
        left, right = says(condition.left), says(condition.right)
        if left == right or left == isinstance(condition, _FROM_ON):
            return None
        until = condition
    return until
