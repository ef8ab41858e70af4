"""A restatement of more days than are shown says which of them it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import DAILY, write_events, write_project
from backfill_assets_tests.unsparked import promoted, unsparked


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Ten days of `daily` are shown."""
    write_events(tmp_path, days=10)
    write_project(tmp_path, {"daily.sql": DAILY.format(batch_size=5, batch_concurrency=1)}, clock="2024-01-11")
    promoted(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("first", "after", "left"),
    [
        ("2023-12-30", "2024-01-03", "2023-12-30..2023-12-31"),
        ("2024-01-02", "2024-01-03", ""),
        ("2024-01-09", "2024-03-01", ""),  # an end that is to come
        ("1000-01-01", "2024-01-03", ""),  # no first day was named
    ],
)
def test_days_before_the_first_are_named(root: Path, first: str, after: str, left: str) -> None:
    """The others are computed again."""
    plan = plan_request(unsparked(root), Request(restate=(("daily", Interval.of(first, after)),)))
    said = [(w.what, w.why) for w in plan.warnings if "not restated" in w.what]
    why = "prod shows 2024-01-01..2024-01-10 of it: there is nothing to compute again"
    assert said == ([(f"daily {left} is not restated", why)] if left else [])
    assert [stage.intervals for stage in plan.work]
