"""Which columns does a table of files have? Read from Delta's log or a Parquet footer, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from backfill_assets.core.model import Column
from backfill_assets.project.folder_types import folder_types
from backfill_assets.project.object_store import arrow_path, delta_options
from backfill_assets.sql.types import spark_type

Way: TypeAlias = tuple[str, ...]
"""A column, and what leads from there to a value through structs, arrays (`element`) and maps (`key`, `value`)."""
Values: TypeAlias = tuple[tuple[Way, str], ...]
"""Values by their ways, in lower case, and their types."""


def read_schema(format: str, path: str) -> tuple[Column, ...]:
    """The columns at a path or URI. Raises what the reader raises when there is nothing to read.

    deltalake and pyarrow are imported here only: most projects declare their columns, and they are slow to import.
    """
    return _delta(path) if format == "delta" else _parquet(path)


def _delta(path: str) -> tuple[Column, ...]:
    from deltalake import DeltaTable

    schema = json.loads(DeltaTable(path, storage_options=delta_options(path)).schema().to_json())
    return tuple(Column(name=f["name"], type=_delta_type(f["type"])) for f in schema["fields"])


def _delta_type(type_: Any) -> str:
    if isinstance(type_, str):
        return spark_type(type_)
    match type_["type"]:
        case "array":
            return f"array<{_delta_type(type_['elementType'])}>"
        case "map":
            return f"map<{_delta_type(type_['keyType'])},{_delta_type(type_['valueType'])}>"
        case _:
            fields = (f"{f['name']}:{_delta_type(f['type'])}" for f in type_["fields"])
            return f"struct<{','.join(fields)}>"


def _parquet(path: str) -> tuple[Column, ...]:
    from pyarrow import dataset

    if "://" not in path and not Path(path).exists():
        raise FileNotFoundError(f"nothing at {path}")
    system, place = arrow_path(path)
    found = dataset.dataset(place, filesystem=system, format="parquet")
    folders = folder_types(file.removeprefix(place.rstrip("/")) for file in found.files)
    said = {name.lower(): type_ for name, type_ in folders.items()}  # as in Spark: what a folder says counts
    own = [Column(name=c.name, type=said.get(c.name.lower(), c.type)) for c in arrow_columns(found.schema)]
    there = {c.name.lower() for c in own}
    return (*own, *(Column(name=name, type=type_) for name, type_ in folders.items() if name.lower() not in there))


def arrow_columns(schema: Any) -> tuple[Column, ...]:
    """The columns of an Arrow schema, without a type where it is not plain."""
    return tuple(Column(name=f.name, type=arrow_type(f.type)) for f in schema)


def arrow_values(fields: Iterable[Any], above: Way = ()) -> Iterator[tuple[Way, Any]]:
    """The values of Arrow fields that hold no others, in the order of Parquet's columns, in the file's letters, with
    their types."""
    import pyarrow as pa
    from pyarrow import types

    for field in fields:
        way, type_ = (*above, field.name), field.type
        if types.is_struct(type_):
            yield from arrow_values(type_, way)
        elif types.is_map(type_):
            yield from arrow_values([pa.field("key", type_.key_type), pa.field("value", type_.item_type)], way)
        elif types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
            yield from arrow_values([pa.field("element", type_.value_type)], way)
        else:
            yield way, type_


def arrow_type(type_: Any) -> str | None:
    """The Spark type of an Arrow type, None when it is not plain."""
    from pyarrow import types

    names = {
        "bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float": "float",
        "double": "double", "string": "string", "large_string": "string", "binary": "binary", "date32[day]": "date",
    }  # fmt: skip
    if types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    return names.get(str(type_))
