"""Does Spark take the names of folders for the types that planning does?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill_assets.project.file_schema import read_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FOLDERS = [
    ("1", "2"), ("01", "12"), ("-2147483648", "2147483647"), ("1", "2147483648"), ("9999999999", "10000000000"),
    ("9.5", "10.5"), ("1", "10.5"), ("9999999999", "0.5"), ("2024-01-01", "2024-02-29"), ("2024-01-01", "2024-02-30"),
    ("2024-01-01", "1"), ("2024-01-01 10:00:00", "2024-01-02 10:00:00.5"), ("2024-01-01", "2024-01-02 10:00:00"),
    ("a", "b"), ("a", "1"), ("2024-1-1", "2024-01-02"), ("20240101", "20240102"), ("true", "false"),
    ("__HIVE_DEFAULT_PARTITION__", "7"), ("__HIVE_DEFAULT_PARTITION__",), ("99999999999999999999999999",), ("1_000",),
    ("1.5", "2024-01-01"), (".5", "-1.25"), ("+5", "6"), ("1d", "2f"),
    ("NaN", "1.5"), ("2024-01-01 10:00:00.123456",), ("2024-01-01 10:00:00.5", "2024-01-01 10:00:00"),
    ("-1.",), ("1.",),
]  # fmt: skip


def test_types_of_folders(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark takes for a decimal, which these names seldom are, or for nothing, is text here, and read as text."""
    for number, values in enumerate(FOLDERS):
        for value in values:
            folder = tmp_path / str(number) / f"part={quote(value)}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"n": [1]}), folder / "a.parquet")
        place = str(tmp_path / str(number))
        theirs = spark.read.parquet(place).schema["part"].dataType.simpleString()
        [ours] = [c.type for c in read_schema("parquet", place) if c.name == "part"]
        assert ours == ("string" if theirs.startswith(("decimal", "void")) else theirs), (values, theirs)
