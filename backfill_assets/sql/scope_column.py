"""Which column does a SELECT mean, by the names that its tables have there?"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

SeenColumns = frozenset[tuple[int, str, str]]
"""Keys of columns that are asked about already."""


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column of a table, by the tables' names within a SELECT."""

    scope: Scope
    alias: str
    name: str

    @property
    def key(self) -> tuple[int, str, str]:
        return id(self.scope.expression), self.alias, self.name

    def is_it(self, node: exp.Expr) -> bool:
        """Whether an expression is this column."""
        return isinstance(node, exp.Column) and node.table == self.alias and node.name.lower() == self.name

    def is_in(self, node: exp.Expr) -> bool:
        """Whether an expression reads it."""
        return any(self.is_it(column) for column in node.find_all(exp.Column))


def named_column(scope: Scope | None, column: exp.Expr) -> ScopeColumn | None:
    """The column that an expression of a SELECT names, which may be of one around it."""
    table = column.text("table")
    while scope is not None and table not in scope.selected_sources:
        scope = scope.parent
    return ScopeColumn(scope, table, column.name.lower()) if scope is not None and table else None
