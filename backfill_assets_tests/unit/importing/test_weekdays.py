"""Days of the week keep their numbers: the texts were compared with DuckDB in Spark, for two weeks of days."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing.foreign import sqlmesh_model
from backfill_assets_tests.unit.importing.test_sqlmesh import imported, noted

SUNDAY, MONDAY = "(DAYOFWEEK(day) - 1)", "(WEEKDAY(day) + 1)"
EDGES = "may differ at its edges"


@pytest.mark.parametrize(("dialect", "said", "here"), [
    ("duckdb", "dayofweek(day)", SUNDAY), ("duckdb", "isodow(day)", MONDAY), ("duckdb", "weekday(day)", SUNDAY),
    ("duckdb", "date_part('dow', day)", SUNDAY), ("duckdb", "extract(dow FROM day)", SUNDAY),
    ("duckdb", "extract(isodow FROM day)", MONDAY), ("duckdb", "date_part('isodow', day)", MONDAY),
    ("postgres", "extract(dow FROM day)", SUNDAY), ("postgres", "date_part('isodow', day)", MONDAY),
    ("redshift", "date_part(dow, day)", SUNDAY), ("snowflake", "dayofweekiso(day)", MONDAY),
    ("trino", "day_of_week(day)", MONDAY), ("duckdb", "2 * dayofweek(day)", f"2 * {SUNDAY}"),
])  # fmt: skip
def test_a_day_of_the_week_keeps_its_number(tmp_path: Path, dialect: str, said: str, here: str) -> None:
    """It is nothing to be checked that it is computed in another way."""
    query = f"SELECT id, day, {said} AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  dialect {dialect}")})
    code = "".join(load_project(root).models["m"].code.replace("`", "").split())
    assert "".join(f"day, {here} AS x".split()) in code
    assert EDGES not in " ".join(noted(done).values())


def test_what_a_session_decides_is_told_as_another_number(tmp_path: Path) -> None:
    query = "SELECT id, day, dayofweek(day) AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=",\n  dialect snowflake")})
    said = noted(done)["models/m.sql:7"]
    assert "differs in all rows" in said and EDGES not in said


@pytest.mark.parametrize(
    ("dialect", "said"), [("bigquery", "extract(dayofweek FROM day)"), ("spark", "dayofweek(day)")]
)
def test_spark_counts_as_some_others_do(tmp_path: Path, dialect: str, said: str) -> None:
    query = f"SELECT id, day, {said} AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  dialect {dialect}")})
    code = load_project(root).models["m"].code
    assert "- 1" not in code and "WEEKDAY" not in code
