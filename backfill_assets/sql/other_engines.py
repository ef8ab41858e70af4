"""How do DuckDB and Trino write what Spark's SQL says? Names, literals, types, and Spark's instants in Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from backfill_assets.core.intervals import Interval

if TYPE_CHECKING:
    from sqlglot import exp

Dialect = Literal["duckdb", "trino"]
"""The engines that are known."""
_BOUNDED = re.compile(r"\b(?:var)?char\(\d+\)")
_FIELD = re.compile(r"(?<=[<,])`?([^<>,:()`]+)`?:")
"""A struct's field, which Spark writes without quotes whatever its name is."""


def name_text(name: str) -> str:
    """An identifier, in standard SQL."""
    return '"' + name.replace('"', '""') + '"'


def value_text(text: str) -> str:
    """A text, in standard SQL: a backslash is a backslash.

    >>> value_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def type_text(kind: str, dialect: Dialect) -> str:
    """A Spark type. Raises ValueError for one that the engine has no equal of.

    >>> type_text("array<struct<a:bigint,end:timestamp>>", "duckdb"), type_text("varchar(3)", "trino")
    ('STRUCT("a" BIGINT, "end" TIMESTAMPTZ)[]', 'VARCHAR')
    """
    return _tree(kind).sql(dialect)


def within_text(column: str, parts: Iterable[Interval], dialect: Dialect, *, timestamps: bool) -> str:
    """The condition for an expression to be in any of these, with literals: instants, or days."""

    def bound(at: datetime) -> str:
        if not timestamps:
            return f"DATE '{at:%Y-%m-%d}'"
        at = at.astimezone(UTC)
        return f"TIMESTAMPTZ '{at:%Y-%m-%d %H:%M:%S}+00'" if dialect == "duckdb" else f"TIMESTAMP '{at:%F %T} UTC'"

    found = [f"{column} >= {bound(p.start)} AND {column} < {bound(p.end)}" for p in parts]
    return found[0] if len(found) == 1 else f"({' OR '.join(f'({one})' for one in found)})"


def duckdb_value(value: str, kind: str) -> str:
    """DuckDB's expression for a value of a Spark type that was read from a Parquet file.

    Spark writes its instants as INT96, which DuckDB takes for times without a zone; others write them with one.

    >>> duckdb_value("x", "bigint"), duckdb_value("x", "timestamp")
    ('x', "make_timestamp(epoch_us(x)) AT TIME ZONE 'UTC'")
    """
    return _instants(value, _tree(kind), iter(f"v{n}" for n in count()))


def _instants(value: str, kind: exp.DataType, names: Any) -> str:
    from sqlglot import exp

    if not any(d.this == exp.DataType.Type.TIMESTAMPTZ for d in kind.find_all(exp.DataType)):
        return value
    inner: list[Any] = kind.expressions
    match kind.this:
        case exp.DataType.Type.ARRAY:
            one = next(names)
            return f"list_transform({value}, lambda {one}: {_instants(one, inner[0], names)})"
        case exp.DataType.Type.MAP:
            one = next(names)
            key, held = (_instants(f"{one}.{part}", k, names) for part, k in zip(("key", "value"), inner, strict=True))
            pairs = f"list_transform(map_entries({value}), lambda {one}: struct_pack(key := {key}, value := {held}))"
            return f"map_from_entries({pairs})"
        case exp.DataType.Type.STRUCT:
            fields = [(name_text(field.name), field.args["kind"]) for field in inner]
            packed = ", ".join(f"{name} := {_instants(f'{value}.{name}', k, names)}" for name, k in fields)
            return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({packed}) END"
        case _:
            return f"make_timestamp(epoch_us({value})) AT TIME ZONE 'UTC'"


def _tree(kind: str) -> exp.DataType:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        found = exp.DataType.build(_FIELD.sub(r"`\1`:", _BOUNDED.sub("string", kind)), dialect="spark")
    except SqlglotError:
        raise ValueError(kind) from None
    types = exp.DataType.Type
    unknown = (types.VARIANT, types.UNKNOWN, types.USERDEFINED, types.NULL)
    if any(d.this in unknown or not isinstance(d.this, types) for d in found.find_all(exp.DataType)):
        raise ValueError(kind)
    return found
