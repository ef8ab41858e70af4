"""When are two values the same? SQL conditions by type: floats within a tolerance, maps in any order, all else exactly.

Types come as Spark's and Delta's JSON has them: `"double"`, `"decimal(18,6)"`, `{"type": "array", "elementType": …}`.
"""

from __future__ import annotations

import re
from typing import Any

from backfill_assets.compare.diff import Kind
from backfill_assets.sql.text import quoted
from backfill_assets.sql.types import MOST_DIGITS

Type = str | dict[str, Any]
_INTEGERS = ("byte", "short", "integer", "long")
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_FLOATS = ("float", "double")
_ANOTHER = "1.0000000000000002D"
"""Makes a float another one, which is next to it or nearly so."""
_BEYOND = "9223372036854775808D"
"""The least whole number that is too large for a BIGINT."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def equal_sql(one: str, other: str, kind: Type, tolerance: float, depth: int = 0) -> str:
    """SQL that is true or false, never NULL: whether two expressions of this type are the same. NULL is NULL.

    >>> equal_sql("a", "b", "decimal(9,2)", 1e-9)
    'a <=> b'
    """
    if kind in _FLOATS:
        a, b = (f"CAST({x} AS DOUBLE)" if kind == "float" else x for x in (one, other))
        # What is not finite differs from everything but itself; NaN is greater than all else in Spark.
        near = (
            f"abs({a} - {b}) < double('Infinity') AND abs({a} - {b}) <= {tolerance!r}D * greatest(abs({a}), abs({b}))"
        )
        return f"({one} <=> {other} OR coalesce({near}, false))"
    if isinstance(kind, str):
        # Variants cannot be compared as they are.
        return f"CAST({one} AS STRING) <=> CAST({other} AS STRING)" if kind == "variant" else f"{one} <=> {other}"
    match kind["type"]:
        case "array":
            x, y, z = (f"{v}{depth}" for v in ("x", "y", "z"))
            inner = equal_sql(x, y, kind["elementType"], tolerance, depth + 1)
            pairs = f"forall(zip_with({one}, {other}, ({x}, {y}) -> {inner}), {z} -> {z})"
            return _both(one, other, f"size({one}) = size({other}) AND {pairs}")
        case "map":
            k = f"k{depth}"
            here, there = f"element_at({one}, {k})", f"element_at({other}, {k})"
            inner = equal_sql(here, there, kind["valueType"], tolerance, depth + 1)
            entries = f"forall(map_keys({one}), {k} -> map_contains_key({other}, {k}) AND {inner})"
            return _both(one, other, f"size({one}) = size({other}) AND {entries}")
        case "struct":
            names = [(quoted(f["name"]), f["type"]) for f in kind["fields"]]
            parts = [equal_sql(f"{one}.{n}", f"{other}.{n}", t, tolerance, depth) for n, t in names]
            return _both(one, other, " AND ".join(parts) or "true")
        case _:  # a user-defined type
            return f"{one} <=> {other}"


def common_type(one: Type, other: Type) -> Type:
    """The type to compare two columns in, when a column's type changed: one that holds both, else text.

    >>> common_type("integer", "long"), common_type("decimal(9,2)", "long")
    ('long', 'decimal(21,2)')
    >>> common_type("float", "long"), common_type("date", "string")
    ('double', 'string')
    """
    if one == other:
        return one
    if isinstance(one, str) and isinstance(other, str):
        if one in _INTEGERS and other in _INTEGERS:
            return max(one, other, key=_INTEGERS.index)
        exact = (_decimal(one), _decimal(other))
        if exact[0] and exact[1]:
            scale = max(exact[0][1], exact[1][1])
            whole = max(exact[0][0] - exact[0][1], exact[1][0] - exact[1][1])
            if whole + scale <= MOST_DIGITS:
                return f"decimal({whole + scale},{scale})"
        elif all(t in _FLOATS or d for t, d in zip((one, other), exact, strict=True)):
            return "double"
        if {one, other} == {"date", "timestamp"}:
            return "timestamp"
    return "string"


def cast(expression: str, there: Type, wanted: Type) -> str:
    """SQL that gives an expression of one type in another; of nested ones, their JSON."""
    if there == wanted:
        return expression
    if not isinstance(there, str):
        return f"to_json({expression})"
    if (there, wanted) == ("long", "double"):
        whole = f"CAST({expression} AS DOUBLE)"
        # What no float can hold becomes another one than its own: it is not the same where it was made a float.
        return f"if({whole} < {_BEYOND} AND CAST({whole} AS BIGINT) = {expression}, {whole}, {whole} * {_ANOTHER})"
    return f"CAST({expression} AS {sql_type(wanted)})"


def sql_type(kind: Type) -> str:
    """A scalar type as SQL spells it."""
    assert isinstance(kind, str)
    return {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}.get(kind, kind.upper())


def counted_as(kind: Type) -> Kind:
    """What can be counted of a column of this type."""
    if not isinstance(kind, str) or kind == "variant":
        return "nested"
    if kind in _FLOATS:
        return "float"
    if kind in _INTEGERS or kind == "boolean":
        return "integer"
    return "decimal" if kind.startswith("decimal") else "text"


def _both(one: str, other: str, condition: str) -> str:
    """Both NULL, or neither and the condition."""
    return f"(({one}) IS NULL AND ({other}) IS NULL OR coalesce({condition}, false))"


def _decimal(kind: str) -> tuple[int, int] | None:
    """Precision and scale of an exact number."""
    if kind in _DIGITS:
        return _DIGITS[kind], 0
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None
