"""Of which plain types can files be read as which others? As wider ones, without a cast."""

from __future__ import annotations

from backfill_assets.sql.types import INTEGERS, decimal_parts, safe_cast

_READ_SO = frozenset({("date", "timestamp_ntz")})
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
        # The digits before the point that how Parquet stores them may need.
        return parts[0] - parts[1] >= (20 if found == "bigint" else 10)
    return (found, said) in _READ_SO or safe_cast(found, said)
