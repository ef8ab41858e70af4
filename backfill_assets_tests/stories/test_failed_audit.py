"""A bad day stops itself, what reads it, and the promotion; nothing else (B7, D2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.core.intervals import Ranges
from backfill_assets_tests.projects import (
    backfill,
    build_all,
    built_daily,
    commits_per_interval,
    days,
    expected_daily,
    small_project,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_bad_day(spark: SparkSession, tmp_path: Path) -> None:
    """Red day, waiting downstream, a refused promotion that says what to do; all green once the source is mended."""
    root = small_project(tmp_path, days=6, batch_size=6)
    write_events(root, days=6, bad="2024-01-04")
    place = Context.open(root)

    outcomes = build_all(place)

    bad = days("2024-01-04")
    daily, running = outcomes["daily"], outcomes["running"]
    assert daily.red == Ranges((bad,))
    assert daily.green == Ranges((days("2024-01-01", "2024-01-03"), days("2024-01-05", "2024-01-06")))
    (failed,) = [r for r in daily.results if not r.passed]
    assert (failed.check, failed.interval, failed.failures) == ("range_total", bad, 1)
    assert "`total` < 0" in failed.expected and failed.sample == ("ds=2024-01-04, kind=a, total=-419.58",)
    # running looks one day back: the bad day and the one after it wait
    assert running.green == Ranges((days("2024-01-01", "2024-01-03"), days("2024-01-06")))
    (waits,) = running.waits
    assert (waits.upstream, waits.intervals, waits.needs) == (
        "daily",
        Ranges((days("2024-01-04", "2024-01-05"),)),
        Ranges((bad,)),
    )

    refused = backfill("promote", project=root)
    assert refused.code == 4, refused
    assert "2024-01-04" in refused.out and "fix: backfill apply\n" in refused.out
    assert backfill("promote", "--json", project=root).json["open"] is False
    assert not place.control.environments.read("prod").pointers

    write_events(root, days=6)
    mended = Context.open(root)
    assert plan_request(mended).stages[0].intervals == Ranges((bad,))  # type: ignore[union-attr]
    again = build_all(mended)

    assert again["daily"].built == Ranges((bad,)) and all(o.ok for o in again.values())
    counts = commits_per_interval(mended, "daily")
    assert {day for day, n in counts.items() if n == 2} == {bad} and len(counts) == 6
    assert built_daily(mended) == expected_daily(root)
    promoted = backfill("promote", project=root)
    assert promoted.code == 0, promoted
    assert backfill_assets.read("running", project=root).num_rows == 6
