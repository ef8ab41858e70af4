"""Of which plain types can files be read as which others? As wider ones, without a cast."""

from __future__ import annotations

from collections.abc import Collection

from backfill_assets.sql.types import INTEGERS, decimal_parts, safe_cast

_READ_SO = frozenset({("date", "timestamp_ntz")})
_AS_STORED = frozenset(
    {("timestamp_ntz", "timestamp"), ("timestamp", "timestamp_ntz"), ("string", "binary"), ("binary", "string")}
)
"""Stored alike, and meant alike."""
_DIGITS = {**dict.fromkeys(INTEGERS, 10), "bigint": 20}
"""The digits that how Parquet stores whole numbers may need."""
_MOST_DIGITS = 38
_CAST = frozenset({("date", "timestamp")})
"""Keeps every value, but no reader does it."""


def widens(found: str, said: str) -> bool:
    """Whether files of the one plain type can be read as the other without a cast, each value being the same.

    What both of Spark's Parquet readers do is a yes; they do more, which loses something (`timestamp` as `bigint`).

    >>> [widens("int", said) for said in ("bigint", "double", "decimal(12,2)", "float", "string", "smallint", "date")]
    [True, True, True, False, False, False, False]
    >>> widens("bigint", "double"), widens("float", "double"), widens("date", "timestamp_ntz")
    (False, True, True)
    >>> widens("decimal(10,2)", "decimal(12,4)"), widens("decimal(10,2)", "decimal(11,4)")
    (True, False)
    """
    if found == said or (found, said) in _CAST:
        return False
    if found in INTEGERS and (parts := decimal_parts(said)):
        return parts[0] - parts[1] >= _DIGITS[found]
    return (found, said) in _READ_SO or safe_cast(found, said)


def wider_than(types: Collection[str]) -> str | None:
    """A plain type as which files of each of these can be read; None where none is known.

    >>> wider_than(["int", "bigint"]), wider_than(["int", "decimal(9,2)"]), wider_than(["decimal(9,2)", "decimal(9,0)"])
    ('bigint', 'decimal(12,2)', 'decimal(11,2)')
    >>> wider_than(["int", "string"]), wider_than(["bigint", "double"]), wider_than(["int", "double"])
    (None, None, 'double')
    """
    if found := next((t for t in sorted(types) if all(other == t or widens(other, t) for other in types)), None):
        return found
    parts = [decimal_parts(t) or (_DIGITS[t], 0) if t in _DIGITS or decimal_parts(t) else None for t in types]
    known = [part for part in parts if part]
    if not known or len(known) < len(parts):
        return None
    scale = max(scale for _, scale in known)
    digits = max(precision - scale for precision, scale in known) + scale
    return f"decimal({digits},{scale})" if digits <= _MOST_DIGITS else None


def is_read_as(found: str, said: str) -> bool:
    """Whether Spark's Parquet readers read a column of the one type as the other, each value being the same.

    Tried with both readers, of Spark 4.2. All else they refuse, or read as it is stored: a decimal without its point, a
    date as a number, an int as its last byte.

    >>> [is_read_as("decimal(9,2)", said) for said in ("decimal(9,2)", "decimal(12,2)", "int", "double", "bigint")]
    [True, True, False, False, False]
    >>> is_read_as("decimal(9,0)", "int"), is_read_as("decimal(18,0)", "int"), is_read_as("decimal(18,0)", "bigint")
    (True, False, True)
    >>> is_read_as("date", "int"), is_read_as("int", "date"), is_read_as("int", "smallint"), is_read_as("int", "bigint")
    (False, False, False, True)
    """
    if found == said or widens(found, said) or (found, said) in _AS_STORED:
        return True
    whole = decimal_parts(found)
    return bool(whole) and whole[1] == 0 and whole[0] <= {"int": 9, "bigint": 18}.get(said, 0)
