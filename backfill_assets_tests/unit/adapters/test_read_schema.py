"""With which schema are files read that have a column as several types? No JVM; rows are in `spark/`."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from backfill_assets.adapters.read_schema import read_as
from backfill_assets.sql.wider_types import widens

INT, LONG, TEXT = IntegerType(), LongType(), StringType()


def schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, type_) for name, type_ in columns.items()])


def test_a_wider_type_that_is_declared_is_read() -> None:
    """By the name that the files give it; another type is left to a cast, a column that nobody declares as it is."""
    found = schema(ID=INT, day=DateType(), text=TEXT, narrow=LONG, other=INT)
    said = schema(narrow=INT, text=LONG, id=LONG, DAY=TimestampNTZType())
    assert read_as(found, said) == schema(ID=LONG, day=TimestampNTZType(), text=TEXT, narrow=LONG, other=INT)


def test_a_column_that_the_file_lacks_is_added_where_a_plan_looked_for_it() -> None:
    found, said = schema(Id=INT), schema(extra=TEXT, id=INT)
    assert read_as(found, said) == found
    assert read_as(found, said, ["extra", "id"]) == schema(Id=INT, extra=TEXT)


def test_inside_of_nested_types() -> None:
    def nested(inner: DataType, **more: DataType) -> StructType:
        of = schema(a=inner, **more)
        return schema(list=ArrayType(inner), map=MapType(TEXT, inner), one=of, many=ArrayType(of))

    assert read_as(nested(INT), nested(LONG)) == nested(LONG)
    assert read_as(nested(LONG), nested(INT)) == nested(LONG)
    assert read_as(nested(INT), nested(INT, b=TEXT)) == nested(INT, b=TEXT), "a field that only some files have"


def test_fields_of_other_names_are_left_to_a_cast() -> None:
    found, said = schema(one=schema(a=INT, b=INT)), schema(one=schema(b=LONG, a=LONG))
    assert read_as(found, said) == found


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("bigint", "int"),
        ("bigint", "double"),
        ("int", "float"),
        ("int", "decimal(10,2)"),
        ("timestamp", "timestamp_ntz"),
        ("timestamp_ntz", "timestamp"),
        ("date", "timestamp"),
        ("date", "int"),
        ("timestamp", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("decimal(10,2)", "double"),
        ("int", "int"),
        ("string", "binary"),
    ],
)
def test_what_loses_something_or_is_no_other_type_is_none(found: str, said: str) -> None:
    assert not widens(found, said)
