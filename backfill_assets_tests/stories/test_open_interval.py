"""The interval that is not over: built when asked for, fresher when asked again, whole once it is over (B1, B3, B4)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.ledger_edits import declare_empty, withdraw
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import promote_green, published_context
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.projects import (
    approve,
    build_all,
    commits_per_interval,
    days,
    expected_daily,
    small_project,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OPEN = Request(ignore_cron=True)
MONTHLY = """\
/*
cadence: monthly
start: 2024-01-01
grain: [ds]
*/
SELECT CAST(date_trunc('MONTH', ds) AS DATE) AS ds, sum(n) AS n, sum(total) AS total
FROM daily WHERE ds >= :start AND ds < :end GROUP BY 1
"""


def at(root: Path, clock: str) -> Context:
    """The project when that is the time."""
    settings = root / "backfill.yml"
    before = Context.open(root).project.settings.clock
    assert before is not None
    settings.write_text(settings.read_text().replace(f'"clock": "{_said(settings)}"', f'"clock": "{clock}"'))
    return Context.open(root)


def _said(settings: Path) -> str:
    return settings.read_text().partition('"clock": "')[2].partition('"')[0]


def shown_daily(root: Path, environment: str) -> list[tuple[Any, ...]]:
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


def shown_month(root: Path, environment: str) -> tuple[int, int]:
    [row] = backfill_assets.read("month", project=root, environment=environment).to_pylist()
    return row["n"], int(row["total"] * 100)


def totals(root: Path) -> tuple[int, int]:
    """The month as it is by now, from the files alone."""
    rows = expected_daily(root)
    return sum(n for _, _, n, _ in rows), sum(cents for *_, cents in rows)


def builds(plan: Plan) -> dict[str, str]:
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


def test_today_and_this_month(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Five days and some of the sixth are shown, with the month so far; later rows of the sixth come in when asked for;
    the next morning it is built whole by a routine plan, and the five days were each written once."""
    root = small_project(tmp_path, days=5, batch_size=5, environment=environment)
    (root / "models" / "month.sql").write_text(MONTHLY)
    write_events(root, first="2024-01-06", days=1, per_day=2)
    noon = at(root, "2024-01-06T12:00")
    assert builds(plan_request(noon)) == {"daily": "2024-01-01..2024-01-05", "running": "2024-01-01..2024-01-05"}
    assert all(o.ok for o in build_all(noon, OPEN).values())
    assert promote_plan(noon, OPEN).verdict.open
    assert shown_daily(root, environment) == expected_daily(root)
    assert shown_month(root, environment) == totals(root)
    assert not plan_request(noon, OPEN).work and not plan_request(noon).stages

    write_events(root, first="2024-01-06", days=1, per_day=5)
    afternoon = at(root, "2024-01-06T17:00")
    assert not plan_request(afternoon).stages, "a routine run does not mind"
    assert promote_plan(afternoon).verdict.open
    assert builds(plan_request(afternoon, OPEN)) == {
        "daily": "2024-01-06",
        "month": "2024-01-01..2024-01-31",
        "running": "2024-01-06",
    }
    old = shown_month(root, environment)
    assert all(o.ok for o in build_all(afternoon, OPEN).values())
    assert promote_plan(afternoon, OPEN).verdict.open
    assert shown_daily(root, environment) == expected_daily(root)
    assert shown_month(root, environment) == totals(root) != old
    assert not plan_request(afternoon, OPEN).work

    write_events(root, first="2024-01-06", days=1, per_day=8)
    morning = at(root, "2024-01-07T06:00")
    closed = promote_plan(morning).verdict
    assert {(o.model, str(o.intervals)) for o in closed.obstacles} == {
        ("daily", "2024-01-06"),
        ("running", "2024-01-06"),
    }
    routine = published_context(morning)
    assert all(o.ok for o in build_all(routine).values())
    held = promote_green(routine).held
    assert not held
    assert shown_daily(root, environment) == expected_daily(root)
    assert shown_month(root, environment) != totals(root), "the month is still what it was on the sixth"
    assert {e.through for e in morning.control.ledger.entries(["daily"], kinds=[Kind.BUILT])} == {
        None,
        noon.now(),
        afternoon.now(),
    }
    counts = commits_per_interval(morning, "daily")
    assert {str(i): n for i, n in counts.items()} == {f"2024-01-0{d}": 1 for d in range(1, 6)} | {"2024-01-06": 3}
    assert not plan_request(morning).stages


def test_empty_and_back(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A model declared empty as a whole: its reader is built from a table without rows, and neither is shown. Taken
    back, both are built from the source."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    place = Context.open(root)
    assert {n: str(r) for n, r in declare_empty(place, Request(select=("daily",))).items()} == {
        "daily": "2024-01-01..2024-01-03"
    }
    outcomes = build_all(place)
    assert list(outcomes) == ["running"] and outcomes["running"].ok, outcomes["running"].failures
    assert outcomes["running"].rows == 0
    refused = promote_plan(place).verdict
    assert {o.model for o in refused.obstacles} == {"daily", "running"}
    assert [w.model for w in withdraw(place, [("daily", days("2024-01-01", "2024-01-03"))])] == ["daily", "running"]
    assert all(o.ok for o in build_all(place).values())
    assert promote_plan(place).verdict.open
    assert shown_daily(root, environment) == expected_daily(root)


@pytest.mark.extended
def test_a_restatement_of_every_version(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A branch has built its own version; late rows come, and a day is restated for all: the branch then builds that
    day again, and its rows are those of the source as it is now."""
    root = small_project(tmp_path, days=5, batch_size=5, environment=environment)
    place = Context.open(root)
    build_all(place)
    assert promote_plan(place).verdict.open
    model = root / "models" / "daily.sql"
    published = model.read_text()
    changed = published.replace("sum(amount) AS total", "sum(amount) AS total, max(amount) AS largest")
    model.write_text(changed)
    build_all(Context.open(root))
    model.write_text(published)
    write_events(root, first="2024-01-03", days=1, per_day=9)

    again = Request(restate=(("daily", days("2024-01-03")),), all_versions=True)
    place = Context.open(root)
    branch_version = {s.version: str(s.intervals) for s in plan_request(place, again).invalidations}
    assert list(branch_version.values()) == ["2024-01-03"]
    assert all(o.ok for o in build_all(place, again).values())
    approve(place, again)
    assert promote_plan(place, again).verdict.open
    assert shown_daily(root, environment) == expected_daily(root)

    model.write_text(changed)
    branch = Context.open(root)
    assert branch.project.fingerprints["daily"] in branch_version
    assert builds(plan_request(branch))["daily"] == "2024-01-03"
    assert all(o.ok for o in build_all(branch).values())
    approve(branch)
    assert promote_plan(branch).verdict.open
    assert shown_daily(root, environment) == expected_daily(root)
