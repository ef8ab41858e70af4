"""How are files read that have some values as another type than is read of all? In place of these stands an expression
that fails.

Where a struct has such a value the rest of it is read: queries that do not need the value cost nothing. What is in an
array, or a map, is refused with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from backfill_assets.adapters.batch_rows import column
from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.adapters.types_of_files import Others, other_type_text
from backfill_assets.core.model import Source
from backfill_assets.project.file_schema import Way
from backfill_assets.sql.text import quoted
from backfill_assets.sql.types import MOST_DIGITS, decimal_parts
from backfill_assets.sql.wider_types import as_signed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

_MOST_FIELDS = 50
"""Of a column more fields than these are not replaced one by one: the JVM goes as deep as they are many."""


def values_read(schema: StructType) -> dict[Way, str]:
    """The types of what holds no other values, by the way to it."""
    return {way: type_.simpleString() for way, type_ in _values(schema, ())}


def _values(type_: DataType, above: Way) -> Iterator[tuple[Way, DataType]]:
    from pyspark.sql.types import ArrayType, MapType, StructType

    match type_:
        case StructType():
            for field in type_.fields:
                yield from _values(field.dataType, (*above, field.name.lower()))
        case ArrayType():
            yield from _values(type_.elementType, (*above, "element"))
        case MapType():
            yield from _values(type_.keyType, (*above, "key"))
            yield from _values(type_.valueType, (*above, "value"))
        case _:
            yield above, type_


def refusing(
    load: Callable[[StructType, Sequence[SourceFile]], DataFrame],
    source: Source,
    schema: StructType,
    others: Others,
    files: Sequence[SourceFile],
) -> DataFrame:
    """Some files of a source with these columns. It fails where one of `others` is needed, the values of which they
    have another type. Other rows, and other columns, cost nothing."""
    read, texts = values_read(schema), dict[Way, str]()
    for way, type_ in others:
        text = other_type_text(source, files, ".".join(way), type_, read[way])
        texts.setdefault(_place(schema, way), text)
    there = cast("StructType", _as_there(schema, (), dict(others)))
    return load(there, files).select(*(_refused(field, texts).alias(field.name) for field in schema.fields))


def _place(schema: StructType, way: Way) -> Way:
    """The field to refuse for a value: the last one on the way to it within structs."""
    from pyspark.sql.types import StructType

    length, type_ = 0, cast("DataType", schema)
    while isinstance(type_, StructType):
        type_, length = _field(type_, way[length]).dataType, length + 1
    return way[:length]


def _field(struct: StructType, name: str) -> StructField:
    return next(field for field in struct.fields if field.name.lower() == name)


def _as_there(type_: DataType, way: Way, others: Mapping[Way, str]) -> DataType:
    """The type with those that the files have: what is refused is read as well, if only beside others of its struct."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    match type_:
        case StructType():
            fields = ((f, _as_there(f.dataType, (*way, f.name.lower()), others)) for f in type_.fields)
            return StructType([StructField(f.name, own, f.nullable, f.metadata) for f, own in fields])
        case ArrayType():
            return ArrayType(_as_there(type_.elementType, (*way, "element"), others), type_.containsNull)
        case MapType():
            key = _as_there(type_.keyType, (*way, "key"), others)
            return MapType(key, _as_there(type_.valueType, (*way, "value"), others), type_.valueContainsNull)
        case _:
            found = as_signed(others.get(way, ""))
            known = found and (decimal_parts(found) or (0, 0))[0] <= MOST_DIGITS
            return cast("StructType", StructType.fromDDL(f"c {found}")).fields[0].dataType if known else type_


def _refused(field: StructField, texts: Mapping[Way, str]) -> Column:
    """The column as all files have it; NULL where it is."""
    from pyspark.sql import functions as F

    there, top = column(field.name), (field.name.lower(),)
    mine = [way for way in texts if way[0] == top[0]]
    if top in mine or len(mine) > _MOST_FIELDS:
        return F.raise_error(F.lit(texts[mine[0]])).cast(field.dataType)
    for way in mine:
        names, type_ = list[str](), field.dataType
        for name in way[1:]:
            inside = _field(cast("StructType", type_), name)
            type_ = inside.dataType
            names.append(quoted(inside.name))
        there = there.withField(".".join(names), F.raise_error(F.lit(texts[way])).cast(type_))
    return there
