"""Truncations of times have Spark's units; what Spark does not have is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing.foreign import sqlmesh_model
from backfill_assets_tests.unit.importing.test_spans import WITHIN, ours, whole
from backfill_assets_tests.unit.importing.test_sqlmesh import imported


@pytest.mark.parametrize(("dialect", "said", "written"), [
    ("duckdb", "date_trunc('d', moment)", "DATE_TRUNC('DAY', moment)"),
    ("duckdb", "date_trunc('weeks', moment)", "DATE_TRUNC('WEEK', moment)"),
    ("redshift", "date_trunc('w', moment)", "DATE_TRUNC('WEEK', moment)"),
    ("trino", "date_trunc('dy', moment)", "DATE_TRUNC('DAY', moment)"),
    ("postgres", "date_trunc('min', moment)", "DATE_TRUNC('MINUTE', moment)"),
    ("snowflake", "date_trunc('h', moment)", "DATE_TRUNC('HOUR', moment)"),
    ("bigquery", "DATE_TRUNC(day, ISOWEEK)", "TRUNC(day, 'WEEK')"),
    ("bigquery", "DATE_TRUNC(day, WEEK(MONDAY))", "TRUNC(day, 'WEEK')"),
    ("bigquery", "DATE_TRUNC(day, DAY)", "CAST(DATE_TRUNC('DAY', day) AS DATE)"),
    ("bigquery", "DATETIME_TRUNC(moment, ISOWEEK)", "DATE_TRUNC('WEEK', moment)"),
    ("clickhouse", "dateTrunc('hour', moment)", "DATE_TRUNC('HOUR', moment)"),
    ("tsql", "DATETRUNC(iso_week, moment)", "DATE_TRUNC('WEEK', moment)"),
    ("spark", "date_trunc('decade', moment)", "DATE_TRUNC('DECADE', moment)"),
])  # fmt: skip
def test_units_of_time_are_those_of_spark(tmp_path: Path, dialect: str, said: str, written: str) -> None:
    """Of one that it does not know, Spark makes NULL: all rows would be of no time."""
    query = f"SELECT {said} AS at, day, id {WITHIN}"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  dialect {dialect}")})
    assert not done.left, done.left
    assert f"{written} AS at" in load_project(root).models["m"].code


@pytest.mark.parametrize("said", ["date_trunc('d', moment)", "date_trunc('weeks', day)", "date_trunc('h', moment)"])
def test_units_of_time_give_the_same_rows(tmp_path: Path, said: str) -> None:
    query = f"SELECT day, {said} AS at, count(*) AS n {WITHIN} GROUP BY 1, 2"
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert ours(root) == whole(query)


@pytest.mark.parametrize(("dialect", "said", "word"), [
    ("bigquery", "DATE_TRUNC(day, WEEK)", "Monday"), ("bigquery", "DATE_TRUNC(day, WEEK(SUNDAY))", "Monday"),
    ("bigquery", "TIMESTAMP_TRUNC(moment, WEEK)", "Monday"), ("tsql", "DATETRUNC(week, day)", "Monday"),
    ("tsql", "DATETRUNC(wk, day)", "Monday"), ("duckdb", "date_trunc('decade', day)", "NULL"),
    ("oracle", "TRUNC(day, 'DAY')", "Monday"),
    ("bigquery", "TIMESTAMP_TRUNC(moment, DAY, 'Asia/Tokyo')", "time zone"),
    ("postgres", "date_trunc('week', moment, 'Asia/Tokyo')", "time zone"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["day", "at"])
def test_times_that_spark_does_not_truncate_to_are_refused(
    tmp_path: Path, dialect: str, said: str, word: str, name: str
) -> None:
    """Also in a column that tells no intervals: its values would be others."""
    more = "" if name == "day" else "day, "
    query = f"SELECT {more}id,\n{said} AS {name} {WITHIN}"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  dialect {dialect}")})
    [left] = done.left
    assert word in left.why and left.fix and left.place == "models/m.sql:8"
