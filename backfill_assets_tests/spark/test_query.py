"""What `backfill sql` runs: queries, and what tells of tables. Nothing that writes, however it is put."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.query import first_rows
from backfill_assets.core.errors import BackfillError, BuildError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "DELETE FROM delta.`{table}`", "UPDATE delta.`{table}` SET n = 1", "INSERT INTO delta.`{table}` VALUES (7)",
    "/* SELECT */ DELETE FROM delta.`{table}`", "-- SHOW\nDELETE FROM delta.`{table}`;",
    "WITH a AS (SELECT 7L AS n) INSERT INTO delta.`{table}` SELECT * FROM a",
    "FROM delta.`{table}` INSERT INTO delta.`{table}` SELECT n",
    "MERGE INTO delta.`{table}` AS t USING (SELECT 1L AS n) AS s ON t.n = s.n WHEN MATCHED THEN DELETE",
    "INSERT OVERWRITE DIRECTORY '{table}_out' USING parquet SELECT 1 AS n", "VACUUM delta.`{table}`",
    "CREATE TABLE made USING delta LOCATION '{table}_out' AS SELECT 1 AS n", "CREATE TEMP VIEW made AS SELECT 1 AS n",
    "SET spark.sql.ansi.enabled=false", "SELECT 1) LIMIT 0; DELETE FROM delta.`{table}`",
)  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_are_refused(spark: SparkSession, tmp_path: Path, statement: str) -> None:
    """Before anything is run."""
    table = tmp_path / "table"
    spark.range(3).toDF("n").write.format("delta").save(str(table))
    session = spark.newSession()
    with pytest.raises(BackfillError, match=r"this is no query|cannot be run") as refused:
        first_rows(session, statement.format(table=table), at_most=5, views=())
    assert isinstance(refused.value, UsageError) or "SYNTAX" in refused.value.why
    assert [p.name for p in table.joinpath("_delta_log").glob("*.json")] == ["00000000000000000000.json"]
    assert not Path(f"{table}_out").exists() and not session.catalog.tableExists("made")
    assert session.conf.get("spark.sql.ansi.enabled") == "true"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id FROM range(2) ORDER BY id DESC;", [(1,), (0,)]),
        ("-- one\nWITH a AS (SELECT 1 AS n) SELECT n, n AS n FROM a -- two", [(1, 1)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("(SELECT 1) UNION ALL (SELECT 2)", [(1,), (2,)]),
        ("FROM range(1) SELECT id", [(0,)]),
    ],
)
def test_queries_are_answered(spark: SparkSession, query: str, rows: list[tuple[int, ...]]) -> None:
    """In any form, with comments, and in their own order."""
    assert [tuple(row) for row in first_rows(spark, query, at_most=5, views=())[1]] == rows


def test_what_tells_of_tables_is_answered(spark: SparkSession) -> None:
    for query in ("SHOW SCHEMAS", "DESCRIBE QUERY SELECT 1 AS n", "EXPLAIN SELECT 1", "desc function abs"):
        assert first_rows(spark, query, at_most=5, views=())[1]


@pytest.mark.parametrize(("query", "told"), [("SELECT FORM x y z", "pos 1"), ("SELECT nothing", "UNRESOLVED_COLUMN")])
def test_mistakes_are_told_at_their_places(spark: SparkSession, query: str, told: str) -> None:
    with pytest.raises(BuildError, match="this query cannot be run") as refused:
        first_rows(spark, query, at_most=5, views=("prod.a",))
    assert told in refused.value.why and "prod.a" in refused.value.fix


def test_a_file_that_is_gone_is_told(spark: SparkSession, tmp_path: Path) -> None:
    """In a line, with what to do: no crash."""
    table = tmp_path / "table"
    spark.range(3).coalesce(1).toDF("n").write.format("delta").save(str(table))
    session = spark.newSession()
    session.sql(f"SELECT * FROM delta.`{table}`").createOrReplaceTempView("shown")
    [file] = table.glob("*.parquet")
    file.unlink()
    with pytest.raises(BuildError, match="this query cannot be run") as refused:
        first_rows(session, "SELECT sum(n) FROM shown", at_most=5, views=())
    assert file.name in refused.value.why and "backfill plan" in refused.value.fix


def test_values_that_python_has_not_are_texts(spark: SparkSession) -> None:
    """A day of the year 12024, and a map by arrays: Delta and Spark have them, and so had a model."""
    query = "SELECT 1 AS n, DATE'+12024-01-02' AS n, map(array(1), 2) AS m"
    names, [row] = first_rows(spark, query, at_most=5, views=())
    assert names == ["n", "n", "m"] and [*row] == ["1", "+12024-01-02", "{[1] -> 2}"]
