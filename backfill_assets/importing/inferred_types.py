"""Which columns does a tool store in another type than the one that they are computed in? SQLMesh makes its tables
with types that it infers from queries by sqlglot: the product of a decimal has the decimal's own digits there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from backfill_assets.importing.columns import outputs, qualified
from backfill_assets.importing.differences import EngineDifference
from backfill_assets.importing.values import Value

_DECIMAL = re.compile(r"decimal\(\d+,\s*(\d+)\)")
ROUNDED = (
    "SQLMesh stores it in the type that it infers from the query, rounded; here it is as it is computed: write a cast "
    "in the outermost SELECT, there and here"
)
_ROUNDING = (exp.Mul, exp.Div, exp.Avg)


def stored_otherwise(
    tree: exp.Query, tables: Mapping[str, Mapping[str, str]], given: Mapping[str, Value]
) -> list[tuple[str, str]]:
    """The columns of a query that are stored in a type that does not hold what is computed, with that type. `tables`
    have the types of columns, by lower-cased names as the query has them; `given` is what Spark computes."""
    shape = qualified(tree, tables)
    inferred = {n.lower(): t for n, t in ((outputs(shape) if shape is not None else None) or {}).items()}
    kinds = ((name, value, inferred.get(name.lower(), "")) for name, value in given.items())
    return [(name, there) for name, value, there in kinds if not _holds(there, value)]


def _holds(there: str, value: Value) -> bool:
    scale = _DECIMAL.fullmatch(there)
    if value.kind == "decimal":
        return scale is not None and int(scale[1]) >= value.scale
    return value.kind != "double" or not there.startswith("decimal")


def rounded(shape: exp.Query, line: int) -> Iterator[EngineDifference]:
    """The decimals of a qualified query that may be rounded as they are stored: all that are no cast and no column of
    a table, where anything in it multiplies, divides or averages decimals."""
    if not any(_decimal(n) or _decimal(n.this) for n in shape.find_all(*_ROUNDING)):
        return
    parts = {c.alias.lower() for c in shape.find_all(exp.CTE)} | {s.alias.lower() for s in shape.find_all(exp.Subquery)}
    tables = {t.alias_or_name.lower() for t in shape.find_all(exp.Table) if t.name.lower() not in parts}
    for node in shape.selects:
        inner = node.unalias()
        of_table = isinstance(inner, exp.Column) and inner.table.lower() in tables - parts
        if _decimal(inner) and not of_table and type(inner) is not exp.Cast:
            yield EngineDifference(line=line, what=f"the decimal `{node.alias_or_name}`", why=ROUNDED)


def _decimal(node: exp.Expr) -> bool:
    return node.type is not None and node.type.this in exp.DataType.REAL_TYPES and node.type.this not in (
        exp.DType.DOUBLE, exp.DType.FLOAT,
    )  # fmt: skip
