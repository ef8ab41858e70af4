"""From which upstream columns, and of which type, is each column of a query?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from backfill_assets.core.model import Column, ColumnRef
from backfill_assets.sql.expression_types import Known, expression_type
from backfill_assets.sql.types import as_read

Refs = frozenset[ColumnRef]
Outputs = dict[str, tuple[str | None, Refs]]
_NOTHING: Refs = frozenset()
ANY = "*"
"""Said for all columns of an upstream whose columns nobody knows."""


def query_outputs(scopes: list[Scope], upstreams: Mapping[str, tuple[str, tuple[Column, ...]]]) -> Outputs | None:
    """Type and upstream columns of each output of a qualified query, by lower-cased name.

    `scopes` are sqlglot's, the outermost last; tables are named `@key` for the keys of `upstreams`. None when the
    columns are unknown (a star over a table whose columns are).
    """
    return _Outputs(upstreams).of(scopes)


class _Outputs:
    """Types and lineage of every scope's outputs, inner scopes first."""

    def __init__(self, upstreams: Mapping[str, tuple[str, tuple[Column, ...]]]) -> None:
        self._tables: dict[str, Outputs] = {
            f"@{key}": {
                c.name.lower(): (c.type and as_read(c.type), frozenset((ColumnRef(table=name, column=c.name),)))
                for c in columns
            }
            for key, (name, columns) in upstreams.items()
        }
        self._names = {f"@{key}": name for key, (name, _) in upstreams.items()}
        self._done: dict[int, Outputs | None] = {}

    def of(self, scopes: list[Scope]) -> Outputs | None:
        """The outputs of the outermost scope; None when they are unknown (a star over an unknown table)."""
        result: Outputs | None = None
        for scope in scopes:
            result = self._scope(scope)
            self._done[id(scope.expression)] = result
        return result

    def _scope(self, scope: Scope) -> Outputs | None:
        node = scope.expression
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.SetOperation():
                return self._set_operation(node)
            case exp.Subquery():
                return self._done.get(id(node.unnest()))
            case exp.Lateral() if isinstance(node.this, exp.Query):
                return self._done.get(id(node.this.unnest()))
            case exp.UDTF():
                refs = self._refs(node, scope)
                return {name.lower(): (None, refs) for name in (*node.alias_column_names, "*")}
            case _:
                return None

    def _select(self, node: exp.Select, scope: Scope) -> Outputs | None:
        outputs: Outputs = {}
        known: Known = lambda column: self._column(column, scope)[0]  # noqa: E731
        for projection in node.expressions:
            if projection.is_star:
                return None
            value = projection.unalias() if isinstance(projection, exp.Alias) else projection
            refs = self._refs(value, scope)
            if isinstance(projection, exp.Aliases):
                outputs.update({a.name.lower(): (None, refs) for a in projection.aliases})
                continue
            if isinstance(value, exp.Subquery):
                inner = self._done.get(id(value.unnest()))
                type_ = next(iter(inner.values()))[0] if inner else None
            else:
                type_ = expression_type(value, known)
            outputs[projection.alias_or_name.lower()] = (type_, refs)
        return outputs

    def _set_operation(self, node: exp.SetOperation) -> Outputs | None:
        left, right = (self._done.get(id(side.unnest())) for side in (node.this, node.expression))
        if left is None or right is None:
            return None
        by_name = bool(node.args.get("by_name"))
        rights = list(right.values())
        outputs: Outputs = {}
        for index, (name, (type_, refs)) in enumerate(left.items()):
            other = right.get(name) if by_name else rights[index] if index < len(rights) else None
            other_type, other_refs = other or (None, _NOTHING)
            outputs[name] = (type_ if type_ == other_type else None, refs | other_refs)
        return outputs

    def _refs(self, node: exp.Expr, scope: Scope) -> Refs:
        """The upstream columns an expression reads; of a subquery, those that its outputs read."""
        refs: set[ColumnRef] = set()
        stack: list[Any] = [node]
        while stack:
            inner = stack.pop()
            if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
                refs |= self._all(scope, [inner.table])
            elif isinstance(inner, exp.Column):
                refs |= self._column(inner, scope)[1]
            elif isinstance(inner, exp.Star):
                refs |= self._all(scope) if not isinstance(inner.parent, exp.Count) else _NOTHING
            elif isinstance(inner, exp.Query) and not isinstance(inner, exp.Subquery):
                for _, inner_refs in (self._done.get(id(inner)) or {}).values():
                    refs |= inner_refs
            else:
                stack.extend(inner.iter_expressions())
        return frozenset(refs)

    def _all(self, scope: Scope, names: Collection[str] | None = None) -> Refs:
        """Everything in these tables of the scope (None: in all): a star within an expression, or a row as a value."""
        refs: set[ColumnRef] = set()
        for name, source in scope.sources.items():
            if names is not None and name not in names:
                continue
            if isinstance(source, Scope):
                for _, inner in (self._done.get(id(source.expression)) or {}).values():
                    refs |= inner
            elif columns := self._tables.get(source.name):
                for _, inner in columns.values():
                    refs |= inner
            elif source.name in self._names:
                refs.add(ColumnRef(table=self._names[source.name], column=ANY))
        return frozenset(refs)

    def _column(self, column: exp.Column, scope: Scope) -> tuple[str | None, Refs]:
        around: Scope | None = scope
        if not column.table:
            return None, self._unqualified(column, scope)
        while around is not None:
            source = around.sources.get(column.table)
            if source is None:
                pivoted = [p for p in around.pivots if p.alias_or_name == column.table]
                if pivoted:
                    return None, self._pivoted(column, pivoted[-1].parent, around)
            if isinstance(source, exp.Table):
                if source.args.get("pivots"):
                    return None, self._pivoted(column, source, around)
                columns = self._tables.get(source.name)
                if not columns:
                    return None, self._unknown(column, source)
                return columns.get(_physical(column, source, columns), (None, _NOTHING))
            if isinstance(source, Scope):
                outputs = self._done.get(id(source.expression)) or {}
                name = _physical(column, _node(around, column.table), outputs)
                return outputs.get(name) or outputs.get("*") or (None, _NOTHING)
            around = around.parent
        return None, _NOTHING

    def _unqualified(self, column: exp.Column, scope: Scope) -> Refs:
        """A column that only a table of unknown columns can have: of all such tables in scope."""
        refs: set[ColumnRef] = set(self._all(scope, [column.name]))  # `u` of `FROM users AS u` is a row
        for name, _ in scope.references:
            source = scope.sources.get(name)
            if isinstance(source, exp.Table) and not self._tables.get(source.name):
                refs |= self._unknown(column, source)
            elif isinstance(source, Scope):
                refs |= (self._done.get(id(source.expression)) or {}).get("*", (None, _NOTHING))[1]
        return frozenset(refs)

    def _unknown(self, column: exp.Column, table: exp.Table) -> Refs:
        """A column of an upstream whose columns nobody knows: taken at its word."""
        name = self._names.get(table.name)
        return frozenset((ColumnRef(table=name, column=column.name),)) if name else _NOTHING

    def _pivoted(self, column: exp.Column, table: Any, scope: Scope) -> Refs:
        """A pivoted table's column: itself when the table has it, else everything that the pivot reads."""
        source = scope.sources.get(table.alias_or_name)
        columns: Outputs = {}
        if isinstance(table, exp.Table):
            columns = self._tables.get(table.name, {})
        elif isinstance(source, Scope):
            columns = self._done.get(id(source.expression)) or {}
        if column.name in columns:
            return columns[column.name][1]
        read = {c.name for pivot in table.args.get("pivots") or [] for c in pivot.find_all(exp.Column)}
        return frozenset(ref for name in read if name in columns for ref in columns[name][1])


def _node(scope: Scope, name: str) -> exp.Expr | None:
    return next((node for n, node in scope.references if n == name), None)


def _physical(column: exp.Column, node: exp.Expr | None, columns: Mapping[str, object]) -> str:
    """The name that a column has within its table: `FROM t AS x(a, b)` renames columns by position."""
    aliases = node.alias_column_names if isinstance(node, exp.Table) else []
    if column.name in aliases:
        position = aliases.index(column.name)
        if position < len(columns):
            return list(columns)[position]
    return column.name
