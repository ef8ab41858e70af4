"""With which schema are files read? That of one of them, with wider types and columns that others have."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from backfill_assets.sql.wider_types import widens

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

    from backfill_assets.adapters.types_of_files import TypesOfFiles


def read_as(
    found: StructType, said: StructType, lacking: Collection[str] = (), types: TypesOfFiles | None = None
) -> StructType:
    """The schema to read files with: what Spark found in one of them, with the types that are said where they are
    wider, or where more files have just these (by `types`), and with the columns that are `lacking` there
    (lower-cased), which others may have."""
    from pyspark.sql.types import StructField, StructType

    declared = {field.name.lower(): field.dataType for field in said.fields}
    there = {field.name.lower() for field in found.fields}

    def read(name: str, own: DataType) -> DataType:
        wanted = declared.get(name.lower(), own)
        wider = _wider(own, wanted)
        if wider != own or wanted == own or types is None:
            return wider
        return wanted if types.is_usual(name, wanted.simpleString(), own.simpleString()) else own

    return StructType(
        [
            *(StructField(f.name, read(f.name, f.dataType), True, f.metadata) for f in found.fields),
            *(StructField(f.name, f.dataType) for f in said.fields if f.name.lower() in {*lacking} - there),
        ]
    )


def _wider(found: DataType, said: DataType) -> DataType:
    """What is said where it is wider, inside of nested types as well; what was found otherwise."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    match found, said:
        case ArrayType(), ArrayType():
            return ArrayType(_wider(found.elementType, said.elementType))
        case MapType(), MapType():
            return MapType(_wider(found.keyType, said.keyType), _wider(found.valueType, said.valueType))
        case StructType(), StructType():
            names = [field.name.lower() for field in found.fields]
            if names != [field.name.lower() for field in said.fields[: len(names)]]:
                return found  # others: a cast would go by their places
            both = zip(found.fields, said.fields, strict=False)
            inside = [StructField(f.name, _wider(f.dataType, s.dataType), True, f.metadata) for f, s in both]
            return StructType([*inside, *said.fields[len(names) :]])
        case _:
            return said if widens(found.simpleString(), said.simpleString()) else found
