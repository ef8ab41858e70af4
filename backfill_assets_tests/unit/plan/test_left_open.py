"""A restatement leaves open intervals out: its plan names those that are shown and read what it computes again."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.approve import approval_statements, approve_plan
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.stages import PlanWarning, Request
from backfill_assets_tests.projects import DAILY, write_events, write_project
from backfill_assets_tests.unsparked import build, prove, unsparked

WEEKLY = """/*
cadence: weekly
start: 2024-01-01
owner: ana@example.com
time_column: week
grain: [week]
*/
SELECT CAST(date_trunc('WEEK', ds) AS DATE) AS week, sum(total) AS total
FROM daily WHERE ds >= :start AND ds < :end GROUP BY 1
"""
MONTHLY = WEEKLY.replace("weekly", "monthly").replace("WEEK", "MONTH").replace("week", "month")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Ten days of `daily` are shown, one week of them, and what there is of the next week and of the month."""
    write_events(tmp_path, days=10)
    daily = DAILY.format(batch_size=5, batch_concurrency=1)
    models = {"daily.sql": daily, "weekly.sql": WEEKLY, "monthly.sql": MONTHLY}
    write_project(tmp_path, models, clock="2024-01-11")
    place = unsparked(tmp_path)
    build(place, Request(ignore_cron=True))
    assert promote_plan(place, Request(ignore_cron=True)).verdict.open
    return tmp_path


def warned(root: Path, first: str, end: str) -> list[PlanWarning]:
    request = Request(restate=(("daily", Interval.of(first, end)),))
    return [w for w in plan_request(unsparked(root), request).warnings if "is open" in w.what]


def test_what_is_open_is_named(root: Path) -> None:
    """The week and the month of that day; the fix is the command that computes them."""
    said = "is open, reads what is computed again of daily, and stays as it is"
    found = warned(root, "2024-01-09", "2024-01-10")
    days = {"monthly": "2024-01-01..2024-01-31", "weekly": "2024-01-08..2024-01-14"}
    assert {w.model: w.what for w in found} == {name: f"{name} {part} {said}" for name, part in days.items()}
    for each in found:
        assert "backfill apply --ignore-cron, then backfill promote --ignore-cron" in each.fix


def test_what_is_over_is_computed_again(root: Path) -> None:
    """A day of the week before: only the month is open."""
    assert [w.model for w in warned(root, "2024-01-02", "2024-01-03")] == ["monthly"]


def test_a_rollback_names_them_too(root: Path) -> None:
    """They were computed from the rows that go back, with the command that computes them again; a day that is in none
    of them says nothing."""
    place = unsparked(root, user="dev")
    plan, _ = build(place, Request(restate=(("daily", Interval.of("2024-01-09", "2024-01-10")),)))
    [record] = [r for r in place.control.plans.all() if r.live]
    prove(place, record.id)
    ana = unsparked(root, user="ana@example.com")
    for approval in approval_statements(ana, record.id, by="ana@example.com"):
        approve_plan(ana, approval)
    assert plan.patches and promote_plan(unsparked(root), plan=record.id).verdict.open
    for dry_run in (True, False):
        done = roll_back(unsparked(root), None, dry_run=dry_run)
        told = {w.model: w.what for w in done.left_open}
        assert told.keys() == {"monthly", "weekly"}
        week = "weekly 2024-01-08..2024-01-14"
        assert told["weekly"] == f"{week} is open, reads what goes back of daily, and stays as it is"
    assert done.ended.moved and not done.ended.obstacles
