"""Which columns does a query name that no table in scope has, or that more than one has?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import Scope
from sqlglot.schema import MappingSchema

from backfill_assets.core.wording import did_you_mean

WITHOUT_BRACKETS: tuple[str, ...] = ("current_time", "current_path")
"""Functions that Spark takes a name without brackets for where no column has it; they are refused elsewhere."""
_OF_VALUES = re.compile(r"col\d+")
"""What Spark calls the columns of VALUES; sqlglot gives them no names."""
USER = "user"
"""Another one, which is a column more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProblem:
    """Something wrong with the query; `line` counts from 1 within its text."""

    line: int
    what: str
    why: str = ""
    fix: str = ""


def column_findings(scopes: list[Scope], schema: MappingSchema) -> list[ColumnProblem]:
    """One finding for each wrong column of a qualified query; none where a table's columns are unknown."""
    return list(_Checker(scopes, schema).findings())


class _Checker:
    """Finds columns that no table in scope has, or more than one."""

    def __init__(self, scopes: list[Scope], schema: MappingSchema) -> None:
        self._scopes = scopes
        self._resolvers = {id(s): Resolver(s, schema) for s in scopes}

    def findings(self) -> Iterator[ColumnProblem]:
        seen: set[int] = set()
        inner: dict[int, dict[str, list[str]]] = {}
        for scope in self._scopes:
            if not isinstance(scope.expression, exp.Select) or scope.pivots:
                continue
            visible: dict[str, list[str]] | None = None
            for column in scope.columns:
                if id(column) in seen or isinstance(column.this, exp.Star):
                    continue
                if visible is None:
                    visible = self._visible(scope)
                if column.table in visible:
                    known = visible[column.table]
                    if not known or "*" in known or column.name in known:
                        continue
                elif scope.can_be_correlated:
                    inner[id(column)] = visible | inner.get(id(column), {})
                    continue  # the scope around it looks again
                seen.add(id(column))
                if (finding := self._finding(column, visible | inner.get(id(column), {}))) is not None:
                    yield finding

    def _visible(self, scope: Scope) -> dict[str, list[str]]:
        """Names of the tables in scope, with the columns of those that are known."""
        names = {name for name, _ in scope.references} | set(scope.lateral_sources) | scope.semi_or_anti_join_tables
        resolver = self._resolvers[id(scope)]
        return {n: [c for c in resolver.get_source_columns(n) if c] for n in names if n in scope.sources}

    def _finding(self, column: exp.Column, visible: dict[str, list[str]]) -> ColumnProblem | None:
        name = column.name
        line = column.this.meta_get("line") or 1
        if column.table in visible:
            known = visible[column.table]
            what, where = f"`{column.table}` has no column `{name}`", f"`{column.table}` has: {', '.join(known)}"
            return ColumnProblem(line=line, what=what, why=where, fix=_remedy(name, known))
        if any(not known or "*" in known for known in visible.values()) or name in ("_metadata", *WITHOUT_BRACKETS):
            return None
        if _OF_VALUES.fullmatch(name) and any(s.expression.find(exp.Values) for s in self._scopes):
            return None
        tables = ", ".join(f"`{v}`" for v in sorted(visible)) or "none"
        if column.table:
            if column.table == "_metadata":
                return None
            what = f"no table or alias named `{column.table}` for column `{column.table}.{name}`"
            fix = did_you_mean(column.table, sorted(visible), "use one of the names in scope")
            return ColumnProblem(line=line, what=what, why=f"tables in scope: {tables}", fix=fix)
        owners = sorted(t for t, known in visible.items() if name in known)
        if len(owners) > 1:
            which = " and ".join(f"`{o}`" for o in owners)
            fix = f"say which one: `{owners[0]}.{name}` or `{owners[1]}.{name}`"
            return ColumnProblem(line=line, what=f"column `{name}` is ambiguous", why=f"{which} both have it", fix=fix)
        if owners:
            return None
        everything = sorted({c for known in visible.values() for c in known})
        why = f"tables in scope: {tables}"
        if name == USER:
            why = f"Spark takes `{name}` for whoever runs the batch, as no table in scope has it ({tables})"
        return ColumnProblem(line=line, what=f"no column `{name}`", why=why, fix=_remedy(name, everything))


def _remedy(name: str, known: list[str]) -> str:
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return did_you_mean(name, known, f"use one of: {shown}" if known else "declare the table's columns")
