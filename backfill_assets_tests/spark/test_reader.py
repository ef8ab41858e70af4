"""Does `backfill_assets.read` give what Spark's views show, without Spark?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import backfill_assets
from backfill_assets.adapters.spark_views import show_environment
from backfill_assets.app.context import Context
from backfill_assets.app.export import ExportRequest, export_views
from backfill_assets.app.promote import promote_plan
from backfill_assets_tests.projects import (
    build_all,
    clean_environment,
    finish,
    script,
    start,
    write_events,
    write_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODEL = """\
/*
start: 2024-01-01
grain: [ds, id]
batch_size: 2
*/
SELECT
  CAST(at AS DATE) AS ds, id, at, kind, amount,
  CAST(amount AS DECIMAL(38, 18)) / 3 AS third,
  CAST(amount AS DOUBLE) / 7 AS ratio,
  CAST(id AS FLOAT) / 3 AS short_ratio,
  CAST(id AS INT) AS small, CAST(id % 100 AS TINYINT) AS tiny,
  id % 2 = 0 AS even,
  CAST(kind AS BINARY) AS raw,
  CAST(NULL AS STRING) AS nothing,
  array(kind, NULL, 'ä€') AS words,
  named_struct('n', id, 'inner', named_struct('at', at, 'cents', amount)) AS nested,
  array(named_struct('x', id)) AS many,
  map(kind, amount) AS pairs,
  CASE WHEN id % 2 = 0 THEN DATE '1969-12-31' END AS some_day
FROM raw.events WHERE at >= :start AND at < :end
"""


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A table with a column of every type, promoted."""
    root = tmp_path_factory.mktemp("reader")
    write_events(root, days=3)
    project = write_project(root, {"wide.sql": MODEL}, clock="2024-01-04", environment="env_reader")
    found = Context.open(project)
    outcomes = build_all(found)
    assert outcomes["wide"].ok, outcomes["wide"].failures
    promote_plan(found)
    return found


def test_every_type_reads_as_in_spark(spark: SparkSession, place: Context) -> None:
    """The same rows, columns, order of columns and values as the view's: decimals, dates, instants, nested ones."""
    table = backfill_assets.read("wide", project=place.project.root)
    show_environment(spark, place.control.environments.read("env_reader"), place.warehouse)
    frame = spark.sql("SELECT * FROM env_reader.wide")

    assert table.column_names == frame.columns
    assert table.num_rows == 18
    assert by_key(table) == sorted(
        (plain(row.asDict(recursive=True)) for row in frame.collect()), key=lambda row: row["id"]
    )
    types = {field.name: field.type for field in table.schema}
    assert types["ds"] == pa.date32()
    assert types["at"] == pa.timestamp("us", tz="UTC")
    assert types["third"] == pa.decimal128(38, 18) or types["third"].scale > 6
    assert types["ratio"] == pa.float64() and types["tiny"] == pa.int8()


def test_duckdb_reads_every_type_as_spark(spark: SparkSession, place: Context) -> None:
    """The exported view of files that Spark wrote: the same rows, columns and order, in a session far from UTC."""
    script = export_views(place, ExportRequest(dialect="duckdb")).script
    show_environment(spark, place.control.environments.read("env_reader"), place.warehouse)
    frame = spark.sql("SELECT * FROM env_reader.wide")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        connection.execute(script)
        table = connection.sql("SELECT * FROM env_reader.wide").to_arrow_table()
    assert table.column_names == frame.columns
    expected = sorted((plain(row.asDict(recursive=True)) for row in frame.collect()), key=lambda row: row["id"])
    assert len(expected) == 18 and list(map(plain, by_key(table))) == expected
    assert table.schema.field("at").type.tz and table.schema.field("third").type.scale > 6


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (None, None, {1, 2, 3}),
        ("2024-01-02", None, {2, 3}),
        (None, datetime(2024, 1, 3, tzinfo=UTC), {1, 2}),
        ("2024-01-02", "2024-01-03", {2}),
        ("2024-05-01", None, set()),
    ],
)
def test_a_range_cuts_half_open(place: Context, start: Any, end: Any, found: set[int]) -> None:
    """`start` is included, `end` is not; a range without rows is an empty table with the same columns."""
    table = backfill_assets.read("wide", project=place.project.root, start=start, end=end, columns=["id", "ds"])
    assert table.column_names == ["id", "ds"]
    assert {day.day for day in table["ds"].to_pylist()} == found


def test_reading_opens_no_jvm(place: Context) -> None:
    """A process that only reads imports neither pyspark nor dagster, and needs no Java."""
    text = """
        import sys
        import backfill_assets
        rows = backfill_assets.read("wide", project=sys.argv[1]).num_rows
        heavy = [name for name in ("pyspark", "py4j", "dagster") if name in sys.modules]
        print(rows, heavy)
    """
    environment = clean_environment(JAVA_HOME="/nowhere")
    said = finish(start(*script(text, place.project.root), env=environment))
    assert (said.code, said.out) == (0, "18 []\n")


def by_key(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(map(unpaired, table.to_pylist()), key=lambda row: row["id"])


def unpaired(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"pairs": dict(row["pairs"])}  # Arrow gives maps as pairs


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Spark's or DuckDB's row in Arrow's Python values: instants are UTC, bytes are bytes."""

    def value(one: Any) -> Any:
        if isinstance(one, datetime):
            return one.astimezone(UTC)
        if isinstance(one, dict):
            return {k: value(v) for k, v in one.items()}
        if isinstance(one, list):
            return [value(v) for v in one]
        return bytes(one) if isinstance(one, bytearray) else one

    return {k: value(v) for k, v in row.items()}
