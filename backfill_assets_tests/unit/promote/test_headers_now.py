"""Published code beside other code: an end or a mask that a header says, or said, loses no day and shows no value."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.routine import published_context
from backfill_assets.app.watch import look_at_sources
from backfill_assets.watch.late import late_sources
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory
from backfill_assets_tests.unit.promote.test_routine_beside_older import edit
from backfill_assets_tests.unsparked import promoted, unsparked

FIRST = a_model("a", "raw")
BACK = {"a": "a-1 2024-01-01..2024-01-10; a-1 2024-01-11..2024-01-12"}


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 3"])
@pytest.mark.parametrize("end", ["08", "11"])
def test_an_end_that_is_loaded_stops_no_rollback(end: str, text: str) -> None:
    """Neither one that the shown version's header says by now, nor one of code that nobody promoted."""
    history = ProjectHistory(FIRST)
    history.release()
    history.change(a="2")
    history.release()
    history.a_day()
    history.a_day()
    history.models = (replace(FIRST, code=text, text=text, end=days(end).start),)
    history.change(a="2" if text == FIRST.code else "3")
    ended = history.back()
    assert ended.obstacles == () and ended.moved is not None and history.shown() == BACK


def test_an_end_that_was_taken_out_stops_no_rollback() -> None:
    """The version was first built under an `end:`; later days were shown of it, and then of the next one."""
    history = ProjectHistory(replace(FIRST, end=days("08").start))
    history.release()
    history.models = (FIRST,)
    history.change()
    history.release()
    history.change(a="2")
    history.release()
    history.a_day()
    history.a_day()
    ended = history.back()
    assert ended.obstacles == () and ended.moved is not None and history.shown()["a"].endswith("2024-01-12")


def test_late_rows_of_what_is_shown_are_told(tmp_path: Path) -> None:
    """Also of days after an end that newer code says."""
    root = small_project(tmp_path, days=9)
    edit(root / "sources.yml", "format: csv\n", "format: csv\n    time_column: at\n")
    promoted(root)
    daily, late = root / "models" / "daily.sql", root / "data" / "events" / "2024-01-07.csv"
    edit(daily, "sum(amount)", "2 * sum(amount)")
    edit(daily, "start: 2024-01-01\n", "start: 2024-01-01\nend: 2024-01-05\n")
    late.write_text(late.read_text() + "999,2024-01-07T05:00:00Z,a,1.00\n")
    os.utime(late, (late.stat().st_mtime + 5,) * 2)
    told = [notice for notice in late_sources(look_at_sources(unsparked(root))) if notice.model == "daily"]
    assert [str(notice.intervals) for notice in told] == ["2024-01-07"]


@pytest.mark.parametrize("newer", ["total", "person"])
def test_a_mask_of_a_source_follows_into_published_code(tmp_path: Path, newer: str) -> None:
    """By its own lineage: newer code may call the column otherwise."""
    root = small_project(tmp_path, days=9)
    daily = root / "models" / "daily.sql"
    edit(daily, "sum(amount) AS total", "sum(amount) AS total, max(id) AS contact")
    promoted(root)
    edit(root / "sources.yml", "format: csv\n", "format: csv\n    mask: [id]\n")
    edit(daily, "max(id) AS contact", f"max(id) AS {newer}" if newer == "person" else "max(id) + 1 AS contact")
    assert "contact" in published_context(unsparked(root)).project.models["daily"].mask
