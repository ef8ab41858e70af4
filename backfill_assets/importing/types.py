"""How does Spark write a type of another dialect?"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError

_OTHER_PRECISION = (exp.DType.TIMESTAMP_NS, exp.DType.TIMESTAMP_MS, exp.DType.TIMESTAMP_S)


def spark_type(written: str, dialect: str) -> str | None:
    """A type of a dialect as Spark writes it; None for one that is none, or has other digits than Spark's."""
    try:
        found = exp.DataType.build(written, dialect=dialect or "duckdb")
    except (SqlglotError, ValueError, RecursionError):
        return None
    text = found.sql(dialect="spark").lower()
    plain_decimal = text in ("decimal", "decimal(18,3)") and "(" not in written
    if plain_decimal or found.this in _OTHER_PRECISION or "timestamp(" in written.lower():
        return None  # its digits are not those of Spark
    return {"timestamp_ntz": "timestamp"}.get(text, text)


def malformed(said: object) -> tuple[str, str] | None:
    """The first entry of columns that is none, with the reason: no type, as where YAML splits `decimal(18,4)`."""
    if not isinstance(said, Mapping):
        return None
    for name, written in said.items():
        if not isinstance(written, str | int | float) or not str(written).strip():
            return str(name), "it has no type"
        if not isinstance(name, str) or not name.strip():
            return str(name), "it is no column's name"
        if str(written).count("(") != str(written).count(")"):
            return str(name), f"a bracket of its type `{str(written)[:60]}` is not closed"
    return None


def spark_columns(said: object, dialect: str) -> dict[str, str] | None:
    """Columns as Spark types; None when one cannot be told."""
    if not isinstance(said, Mapping) or not said:
        return None
    found: dict[str, str] = {}
    for name, written in said.items():
        spark = spark_type(str(written), dialect)
        if spark is None:
            return None
        found[str(name)] = spark
    return found
