"""How are files read that have some values as another type than is read of all? Without these, in whose place stands an
expression that fails.

Where a struct has such a value the rest of it is read: queries that do not need the value cost nothing. What is in an
array, or a map, is refused with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from backfill_assets.adapters.batch_rows import column
from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.adapters.types_of_files import Others, Way, other_type_text
from backfill_assets.core.model import Source
from backfill_assets.sql.text import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


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
    rest: Collection[Way],
    files: Sequence[SourceFile],
) -> DataFrame:
    """Some files of a source with these columns. It fails where one of `others` is needed, the values of which they
    have another type; `rest` is what else they have in the same columns. Other rows and columns cost nothing."""
    read = values_read(schema)
    texts: dict[Way, str] = {}
    for way, type_ in others:
        text = other_type_text(source, files, ".".join(way), type_, read[way])
        texts.setdefault(_place(schema, way, rest), text)
    frame = load(_without(schema, (), texts), files)
    return frame.select(
        *(
            _filled(column(field.name), (field.name.lower(),), field.dataType, texts).alias(field.name)
            for field in schema.fields
        )
    )


def _place(schema: StructType, way: Way, rest: Collection[Way]) -> Way:
    """The field to refuse for a value: the last one on the way to it within structs, or one above where nothing else of
    the struct would be read: of such a struct Spark's readers say NULL, or nothing."""
    from pyspark.sql.types import StructType

    place, type_ = way[:1], _field(schema, way[0])
    while isinstance(type_, StructType):
        name = way[len(place)]
        place, type_ = (*place, name), _field(type_, name)
    while len(place) > 1 and not any(other[: len(place) - 1] == place[:-1] for other in rest):
        place = place[:-1]
    return place


def _field(struct: StructType, name: str) -> DataType:
    return next(field.dataType for field in struct.fields if field.name.lower() == name)


def _without(struct: StructType, above: Way, refused: Collection[Way]) -> StructType:
    """The struct without the fields that are refused."""
    from pyspark.sql.types import StructField, StructType

    left: list[StructField] = []
    for field in struct.fields:
        way, type_ = (*above, field.name.lower()), field.dataType
        if way not in refused:
            type_ = _without(type_, way, refused) if isinstance(type_, StructType) else type_
            left.append(StructField(field.name, type_, field.nullable, field.metadata))
    return StructType(left)


def _filled(there: Column, way: Way, type_: DataType, refused: Mapping[Way, str]) -> Column:
    """The column as all files have it, from what is read of some of them; NULL where it is."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    if way in refused:
        return F.raise_error(F.lit(refused[way])).cast(type_)
    if not isinstance(type_, StructType) or not any(other[: len(way)] == way for other in refused):
        return there
    inside = {f.name: (*way, f.name.lower()) for f in type_.fields}
    fields = {f.name: _filled(there.getField(f.name), inside[f.name], f.dataType, refused) for f in type_.fields}
    filled = there
    for name in (n for n in fields if inside[n] in refused):
        filled = filled.withField(quoted(name), fields[name])
    for name, value in fields.items():  # a field that is added stands last: by this all stand in their order
        filled = filled.dropFields(quoted(name)).withField(quoted(name), value)
    return filled
