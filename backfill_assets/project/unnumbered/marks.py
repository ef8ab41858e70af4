"""Marks of a query's parts as records without a number have them: hashes of their structure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A model or source as a query reads it. `key`: columns that no two rows share; None: nobody vouches for any."""

    name: str
    signature: Signature
    key: frozenset[str] | None = None


class Opaque(Exception):
    """The query holds something that cannot be taken apart; what it is."""


Mark = str
"""The hash of what a part of a query gives."""


def mix(*parts: object) -> Mark:
    """The mark of a structure of marks and plain values."""
    return digest(*parts)


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows, columns in order, and a set of columns that is unique."""

    rows: Mark
    columns: dict[str, Mark]
    key: frozenset[str] | None = None
    table: Table | None = None

    def column(self, name: str) -> Mark:
        found = self.columns.get(name)
        if found is not None:
            return found
        if self.table is None or self.table.signature.columns:
            raise Opaque(f"column {name} is not known")
        return digest("unknown", self.table.signature.rows, name)


@dataclass(slots=True)
class Place:
    """How a scope's tables are told apart: by position, or (a join that keeps the rows) by what the join is."""

    marks: dict[str, tuple[object, Relation]] = field(default_factory=dict[str, tuple[object, Relation]])
    alone: bool = True
    outputs: dict[str, Mark] = field(default_factory=dict[str, Mark])
    """The scope's own columns, once they are known: ORDER BY may name them."""


KNOWN = frozenset({
    "with_", "from_", "joins", "laterals", "where", "group", "having", "windows", "qualify", "distinct", "order",
    "limit", "offset", "sort", "cluster", "distribute", "hint", "expressions", "kind", "operation_modifiers",
})  # fmt: skip
KNOWN_SET = frozenset({
    "with_", "this", "expression", "expressions", "distinct", "by_name", "order", "limit", "offset", "sort", "cluster",
    "distribute",
})  # fmt: skip
_GENERATORS = (exp.UDTF, exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline)
_GENERATORS_BY_NAME = frozenset({"stack", "json_tuple", "inline_outer", "variant_explode", "variant_explode_outer"})


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """What AND joins, any number of them."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Where | exp.Having | exp.Qualify | exp.Paren):
            stack.append(node.this)
        elif isinstance(node, exp.And):
            stack += [node.right, node.left]
        else:
            yield node


def in_any_order(marks: Iterable[Mark]) -> list[Mark]:
    return sorted(set(marks))


def present(node: exp.Expr, known: Iterable[str]) -> list[str]:
    """The arguments of a node that are set and not among the known ones."""
    return [name for name, value in node.args.items() if name not in set(known) and means(value)]


def means(value: object) -> bool:
    return value is not None and value is not False and value != []


def aggregates(node: exp.Expr) -> bool:
    """Whether an expression aggregates the rows of its own SELECT."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):  # its function does not, what that is given may: `sum(sum(x)) OVER ()`
        function = node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else node.this
        rest = [v for name, v in node.args.items() if name != "this" and isinstance(v, exp.Expr | list)]
        return any(aggregates(e) for e in [*function.iter_expressions(), *_flat(rest)])
    if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Any) and not isinstance(node.this, exp.Query)):
        return True
    return any(aggregates(child) for child in node.iter_expressions())


def _flat(values: Iterable[Any]) -> Iterable[exp.Expr]:
    for value in values:
        yield from (v for v in value if isinstance(v, exp.Expr)) if isinstance(value, list) else (value,)


def generates(node: exp.Expr) -> bool:
    """Whether an expression makes several rows of one."""
    return node.find(*_GENERATORS) is not None or not _GENERATORS_BY_NAME.isdisjoint(unknown(node))


def unknown(node: exp.Expr) -> set[str]:
    """The functions that sqlglot does not know: each may aggregate, for all that can be told."""
    return {f.name.lower() for f in node.find_all(exp.Anonymous)}
