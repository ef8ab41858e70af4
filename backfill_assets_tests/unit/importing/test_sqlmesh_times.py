"""What `start`, `end` and time columns of SQLMesh's models say is what SQLMesh was seen to compute by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.wording import day_text
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing.foreign import sqlmesh_model
from backfill_assets_tests.unit.importing.test_sqlmesh import GOOD, imported, noted

MOMENTS = "SELECT id, moment AS day, amount FROM raw.orders WHERE moment BETWEEN @start_dt AND @end_dt"
WEEKS = "SELECT id, date_trunc('week', day)::DATE AS day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
FULL = "MODEL (name shop.m, kind FULL, grain id, end '2024-02-05');\nSELECT id, day FROM raw.orders"


@pytest.mark.parametrize(("query", "cron", "start", "end", "first", "after"), [
    (GOOD, "@daily", "2024-01-03", "2024-01-05", "2024-01-03", "2024-01-06"),
    (GOOD, "@daily", "2024-01-03 06:00:00", "2024-01-07 06:00:00", "2024-01-03", "2024-01-08"),
    (GOOD, "@daily", "2024-01-03 00:00:00", "2024-01-07 00:00:00", "2024-01-03", "2024-01-07"),
    (GOOD, "@daily", "20240103", "20240107", "2024-01-03", "2024-01-08"),
    (GOOD, "@daily", "2024/01/03", "2024/01/07", "2024-01-03", "2024-01-07"),
    (GOOD, "@daily", "2024-1-3", "2024-01-07T02:00:00+03:00", "2024-01-03", "2024-01-07"),
    (GOOD, "@weekly", "2024-01-03", "2024-01-23", "2024-01-03", "2024-01-24"),
    (GOOD, "@monthly", "2024-01-01", "2024-01-31", "2024-01-01", "2024-02-01"),
    (GOOD, "@monthly", "2024-01-15", "2024-02-05", "2024-01-01", "2024-03-01"),
    (MOMENTS, "@hourly", "2024-01-02 06:30:00", "2024-01-04", "2024-01-02T06:00", "2024-01-05"),
    (MOMENTS, "@hourly", "2024-01-02 06:00:00", "2024-01-04 05:30:00", "2024-01-02T06:00", "2024-01-04T06:00"),
])  # fmt: skip
def test_the_same_intervals_are_computed(
    tmp_path: Path, query: str, cron: str, start: str, end: str, first: str, after: str
) -> None:
    """A day that `end` says is the last one there; a time is the first moment that is not. The interval in which
    either lies is computed whole."""
    more = f",\n  cron '{cron}', start '{start}', end '{end}'"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=more)})
    found = load_project(root).models["m"]
    assert found.end is not None
    assert (day_text(found.start), day_text(found.end)) == (first, after)
    assert "is written" not in " ".join(noted(done).values())


@pytest.mark.parametrize("end", ["yesterday", "1 week ago", "2024-02-31", "9999-12-31", "@x"])
def test_an_end_that_nobody_can_tell_is_not_written(tmp_path: Path, end: str) -> None:
    more = f",\n  start '2024-01-03', end '{end}'"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD, more=more)})
    assert load_project(root).models["m"].end is None
    assert f"`end {end}`" in noted(done)["models/m.sql:5"]


def test_a_part_of_a_longer_interval_is_said(tmp_path: Path) -> None:
    """A model of weeks here, of days there: its last week is built whole."""
    more = ",\n  start '2024-01-01', end '2024-01-23'"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(WEEKS, more=more)})
    found = load_project(root).models["m"]
    assert found.end is not None and day_text(found.end) == "2024-01-29"
    assert "nothing is computed from 2024-01-24 on" in noted(done)["models/m.sql:1"]


def test_the_end_of_a_table_leaves_out_no_day(tmp_path: Path) -> None:
    root, done = imported(tmp_path, {"models/m.sql": FULL})
    assert load_project(root).models["m"].end is None
    assert "`end 2024-02-05`" in noted(done)["models/m.sql:1"]


@pytest.mark.parametrize(("form", "column", "here"), [
    ("%Y%m%d", "strftime(day, '%Y%m%d')", "to_date(`dk`, 'yyyyMMdd')"),
    ("%d.%m.%Y", "strftime(day, '%d.%m.%Y')", "to_date(`dk`, 'dd.MM.yyyy')"),
    ("%Y%m%d", "strftime(day, '%Y%m%d')::VARCHAR", "to_date(`dk`, 'yyyyMMdd')"),
    ("yyyyMMdd", "strftime(day, '%Y%m%d')", "to_date(`dk`, 'yyyyMMdd')"),
])  # fmt: skip
def test_texts_of_a_form_tell_days_by_that_form(tmp_path: Path, form: str, column: str, here: str) -> None:
    """They stay as they are, and a column with the day is added: Spark casts no text of another form to a date."""
    query = f"SELECT id, {column} AS dk FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
    text = sqlmesh_model(query, kind=f"time_column (dk, '{form}')").replace("grain (day, id)", "grain id")
    root, done = imported(tmp_path, {"models/m.sql": text})
    found = load_project(root).models["m"]
    assert found.time_column == "ds" and f"WHERE {here} >= :start AND {here} < :end" in found.code
    assert f"CAST({here} AS DATE) AS ds" in found.code and "AS DATE) AS `dk`" not in found.code
    said = noted(done)["models/m.sql:3"]
    assert "format" in said and ("its rows are others" in said) == form.startswith("%d")


@pytest.mark.parametrize("form", ["%b %d %Y", "%Y%m", "%j", "yyyyDDD"])
def test_texts_that_spark_does_not_read_are_not_translated(tmp_path: Path, form: str) -> None:
    query = "SELECT id, strftime(day, '%Y%m%d') AS dk FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, kind=f"time_column (dk, '{form}')")})
    [left] = done.left
    assert "the form of the time column `dk`" in left.what and left.fix


def test_a_date_needs_no_form(tmp_path: Path) -> None:
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD, kind="time_column (day, '%j')")})
    assert not done.left and "to_date" not in load_project(root).models["m"].code


@pytest.mark.parametrize(("column", "texts"), [("day", False), ("status", True)])
def test_what_is_compared_with_a_date_has_its_own_type(tmp_path: Path, column: str, texts: bool) -> None:
    """Whatever the time column is made to be."""
    query = f"SELECT id, strftime(day, '%Y-%m-%d') AS dk FROM raw.orders WHERE {column} BETWEEN @start_ds AND @end_ds"
    query += " AND day BETWEEN @start_ds AND @end_ds"
    text = sqlmesh_model(query, kind="time_column dk").replace("grain (day, id)", "grain id")
    _, done = imported(tmp_path, {"models/m.sql": text})
    said = " ".join(noted(done).values())
    assert "`day` is" not in said and ("`status` is string" in said) == texts
