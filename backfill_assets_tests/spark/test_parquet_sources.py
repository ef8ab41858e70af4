"""Are Parquet and ORC files read together that have a column as several types, or not all of the columns?"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from backfill_assets.adapters.inputs import input_frame
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.build.engine import SourceInput
from backfill_assets.core.model import Column, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DAY = dt.date(2024, 1, 2)
WIDER = [
    (pa.int32(), pa.int64(), "bigint", 7, 2**40),
    (pa.int16(), pa.int32(), "int", -7, 70_000),
    (pa.float32(), pa.float64(), "double", 0.5, 0.1),
    (pa.int32(), pa.float64(), "double", 7, 0.25),
    (pa.int32(), pa.decimal128(14, 2), "decimal(14,2)", 7, Decimal("1.25")),
    (pa.decimal128(5, 2), pa.decimal128(12, 4), "decimal(12,4)", Decimal("-1.25"), Decimal("99999.0001")),
    (pa.date32(), pa.timestamp("us"), "timestamp_ntz", DAY, dt.datetime(2024, 1, 3, 4)),
]


def frame(spark: SparkSession, folder: Path, format: str = "parquet", **columns: str) -> DataFrame:
    read = Source(
        name="shop.bills",
        format=format,
        path=str(folder),
        columns=tuple(Column(name=name, type=type_) for name, type_ in columns.items()),
        file=Path("sources.yml"),
    )
    return input_frame(spark, "", SourceInput(source=read, pin=FilePins().pin(read)))


def written(folder: Path, name: str, **columns: pa.Array) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (po if name.endswith(".orc") else pq).write_table(pa.table(columns), folder / name)
    return folder


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize(("narrow", "wide", "type_", "few", "much"), WIDER)
def test_a_declared_wider_type_is_read(
    spark: SparkSession,
    tmp_path: Path,
    narrow: pa.DataType,
    wide: pa.DataType,
    type_: str,
    few: Any,
    much: Any,
    vectorized: str,
) -> None:
    """Whichever file Spark looked into; values are found by a condition as well, which Parquet's reader knows of."""
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    narrow_first = written(tmp_path / "n", "1.parquet", c=pa.array([few, None], narrow))
    written(narrow_first, "2.parquet", c=pa.array([much, None], wide))
    wide_first = written(tmp_path / "w", "1.parquet", c=pa.array([much, None], wide))
    written(wide_first, "2.parquet", c=pa.array([few, None], narrow))
    wanted = {dt.datetime(2024, 1, 2) if few == DAY else few, much, None}
    for folder in (narrow_first, wide_first):
        found = frame(session, folder, C=type_)
        assert {row[0] for row in found.collect()} == wanted
        assert found.dtypes == [("c", type_)]
        assert [row[0] for row in found.where(found["c"] == much).collect()] == [much]


def test_a_column_that_only_some_files_have(spark: SparkSession, tmp_path: Path) -> None:
    """It is NULL in the others, also where Spark looked into one of these; folders say the day."""
    folder = written(tmp_path, "ds=2024-01-01/1.parquet", id=pa.array([1], pa.int32()))
    written(folder, "ds=2024-01-02/2.parquet", ID=pa.array([2], pa.int64()), extra=pa.array(["x"]))
    found = frame(spark, folder, ds="date", id="bigint", Extra="string")
    rows = sorted((row["id"], row["Extra"], str(row["ds"])) for row in found.collect())
    assert rows == [(1, None, "2024-01-01"), (2, "x", "2024-01-02")]


def test_inside_of_nested_types(spark: SparkSession, tmp_path: Path) -> None:
    for name, kind in (("1.parquet", pa.int32()), ("2.parquet", pa.int64())):
        of = pa.array([{"a": 1, "l": [2, None]}, None], pa.struct([("a", kind), ("l", pa.list_(kind))]))
        written(tmp_path, name, s=of)
    found = frame(spark, tmp_path, s="struct<a:bigint,l:array<bigint>>")
    assert [row["s"] and row["s"].asDict() for row in found.collect()] == [{"a": 1, "l": [2, None]}, None] * 2


def test_another_declared_type_is_cast_as_before(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, "1.parquet", k=pa.array(["07"]), n=pa.array([2**40]))
    found = frame(spark, tmp_path, k="int", n="double")
    assert (found.dtypes, list(map(tuple, found.collect()))) == ([("k", "int"), ("n", "double")], [(7, 2.0**40)])


def test_orc_files(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's ORC reader made another number of one that is too large for the type of the file that it looked into."""
    written(tmp_path, "1.orc", id=pa.array([1], pa.int32()))
    written(tmp_path, "2.orc", id=pa.array([2**40], pa.int64()))
    assert {row[0] for row in frame(spark, tmp_path, "orc", id="bigint").collect()} == {1, 2**40}
