"""Of which plain types can files be read as which others, each value being the same?"""

from __future__ import annotations

from collections.abc import Collection

from backfill_assets.sql.types import INTEGERS, MOST_DIGITS, decimal_parts, safe_cast

_READ_SO = frozenset({("date", "timestamp_ntz")})
_AS_STORED = frozenset(
    {("timestamp_ntz", "timestamp"), ("timestamp", "timestamp_ntz"), ("string", "binary"), ("binary", "string")}
)
"""Stored alike, and meant alike."""
_DIGITS = {**dict.fromkeys(INTEGERS, 10), "bigint": 20}
"""The digits that how Parquet stores whole numbers may need."""
_VALUES = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The digits of the largest."""
_CAST = frozenset({("date", "timestamp")})
"""Keeps every value, but no reader does it."""
_PLAIN = frozenset({*INTEGERS, "float", "double", "date", "timestamp", "timestamp_ntz", "string", "binary", "boolean"})
UNSIGNED = {"uint8": "smallint", "uint16": "int", "uint32": "bigint", "uint64": "decimal(20,0)"}
"""What Spark takes numbers of Parquet without a sign for."""


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


def as_signed(type_: str) -> str:
    """What Spark takes a file's type for: it has no numbers without a sign.

    >>> as_signed("uint32"), as_signed("int")
    ('bigint', 'int')
    """
    return UNSIGNED.get(type_, type_)


def wider_than(types: Collection[str]) -> str | None:
    """A plain type as which files of each of these are read; None where none is known.

    >>> wider_than(["int", "bigint"]), wider_than(["int", "decimal(9,2)"]), wider_than(["decimal(9,2)", "decimal(9,0)"])
    ('bigint', 'decimal(12,2)', 'decimal(11,2)')
    >>> wider_than(["int", "string"]), wider_than(["bigint", "double"]), wider_than(["int", "double"])
    (None, None, 'double')
    >>> wider_than(["int", "uint32"]), wider_than(["uint32", "decimal(9,2)"])
    ('bigint', None)
    """
    own = sorted({as_signed(type_) for type_ in types})
    candidates = [*own, *_decimal_of(own)]
    return next((c for c in candidates if all(is_read_as(type_, c) for type_ in types)), None)


def _decimal_of(types: Collection[str]) -> list[str]:
    """The decimal that holds whole numbers and decimals of these types, where they are nothing else."""
    parts = [decimal_parts(t) or (_DIGITS[t], 0) if t in _DIGITS or decimal_parts(t) else None for t in types]
    known = [part for part in parts if part]
    if not known or len(known) < len(parts):
        return []
    scale = max(scale for _, scale in known)
    digits = max(precision - scale for precision, scale in known) + scale
    return [f"decimal({digits},{scale})"] if digits <= MOST_DIGITS else []


def is_read_as(found: str, said: str) -> bool:
    """Whether Spark's Parquet readers read a column of the one type as the other, each value being the same; yes of
    what is no plain type, which nobody here knows.

    Tried with both readers, of Spark 4.2. All else they refuse, or read as it is stored: a decimal without its point, a
    date as a number, an int as its last byte.

    >>> [is_read_as("decimal(9,2)", said) for said in ("decimal(9,2)", "decimal(12,2)", "int", "double", "bigint")]
    [True, True, False, False, False]
    >>> is_read_as("date", "int"), is_read_as("int", "date"), is_read_as("int", "smallint"), is_read_as("int", "bigint")
    (False, False, False, True)
    >>> is_read_as("uint32", "bigint"), is_read_as("uint32", "decimal(22,2)"), is_read_as("uint8", "int")
    (True, False, True)
    >>> is_read_as("string", "string collate UTF8_LCASE"), is_read_as("bigint", "interval day")
    (True, True)
    """
    said = said.partition(" collate ")[0]
    if not _is_plain(said):
        return True
    if found in UNSIGNED:
        own = UNSIGNED[found]
        return said == own or (own in INTEGERS and said in INTEGERS and widens(own, said))
    return found == said or widens(found, said) or (found, said) in _AS_STORED


def is_stored_as(found: str, said: str) -> bool:
    """Whether a decimal without places is read as a whole number, where it is stored as one: else readers refuse it.

    >>> is_stored_as("decimal(9,0)", "int"), is_stored_as("decimal(18,0)", "int"), is_stored_as("decimal(9,2)", "int")
    (True, False, False)
    """
    parts = decimal_parts(found)
    return parts is not None and parts[1] == 0 and parts[0] <= {"int": 9, "bigint": 18}.get(said, 0)


def keeps_numbers(found: str, said: str) -> bool:
    """Whether numbers of the one type are the same as the other's. ORC files are read by a conversion, which makes NULL
    of what is too large, and 12 of 12.50. Yes where texts are asked for, and of what are no numbers in the file; what
    is read as `double` is as exact as that is.

    >>> [keeps_numbers("int", said) for said in ("bigint", "smallint", "decimal(12,2)", "decimal(9,2)", "double")]
    [True, False, True, False, True]
    >>> [keeps_numbers("decimal(9,2)", said) for said in ("int", "decimal(9,4)", "float", "decimal(11,4)", "string")]
    [False, False, False, True, True]
    >>> keeps_numbers("double", "float"), keeps_numbers("date", "timestamp"), keeps_numbers("smallint", "decimal(9,2)")
    (False, True, True)
    >>> keeps_numbers("int", "boolean"), keeps_numbers("bigint", "timestamp")
    (False, False)
    """
    if found == said or not _is_number(found) or said in ("double", "string"):
        return True
    if "float" in (found, said) or found == "double" or not _is_number(said):
        return safe_cast(found, said)
    before, after = _digits(found)
    return _digits(said)[0] >= before and _digits(said)[1] >= after


def _is_number(type_: str) -> bool:
    return type_ in ("float", "double", *INTEGERS) or decimal_parts(type_) is not None


def _digits(type_: str) -> tuple[int, int]:
    """Before the point of a number, and after it."""
    if parts := decimal_parts(type_):
        return parts[0] - parts[1], parts[1]
    return _VALUES[type_], 0


def _is_plain(type_: str) -> bool:
    return type_ in _PLAIN or decimal_parts(type_) is not None
