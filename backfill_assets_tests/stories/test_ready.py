"""Yesterday's rows are there at six in the morning: whoever runs before that publishes nothing of half a day (B1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.app.apply import build_plan, check_plan, start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import extend
from backfill_assets.plan.stages import Build, Request
from backfill_assets_tests.projects import build_all, expected_daily, small_project, write_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MONTH = """\
/*
cadence: monthly
start: 2024-01-01
grain: [ds]
*/
SELECT CAST(date_trunc('MONTH', ds) AS DATE) AS ds, sum(n) AS n
FROM daily WHERE ds >= :start AND ds < :end GROUP BY 1
"""


def at(root: Path, clock: str) -> Context:
    settings = root / "backfill.yml"
    before = settings.read_text().partition('"clock": "')[2].partition('"')[0]
    settings.write_text(settings.read_text().replace(f'"clock": "{before}"', f'"clock": "{clock}"'))
    return Context.open(root)


def shown(root: Path, environment: str) -> list[tuple[Any, ...]]:
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


def planned(place: Context, request: Request | None = None) -> Mapping[str, str]:
    plan = plan_request(place, request)
    assert not plan.blocked
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


def routine(place: Context) -> dict[str, str]:
    """What a routine run has built, with nothing held back."""
    done = extend(place)
    assert not done.held, done.held
    return {name: str(o.built) for name, o in done.carried.outcomes.items()}


def test_routine_runs_wait_for_six(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Half of the fourth has come at three: a routine run leaves it, with what reads it and says nothing of `ready`.
    Somebody looks at it beforehand; at six all of it is built and shown, and equals the files."""
    root = small_project(tmp_path, days=3, batch_size=31, environment=environment)
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("owner:", 'ready: "0 6 * * *"\nowner:'))
    (root / "models" / "month.sql").write_text(MONTH)
    midnight = at(root, "2024-01-04T00:00")
    assert planned(midnight) == {"daily": "2024-01-01..2024-01-02", "running": "2024-01-01..2024-01-02"}
    build_all(at(root, "2024-01-04T06:00"))
    assert promote_plan(Context.open(root)).verdict.open
    assert shown(root, environment) == expected_daily(root)
    version = Context.open(root).project.fingerprints["daily"]

    before = expected_daily(root)
    write_events(root, first="2024-01-04", days=1, per_day=2)
    assert routine(at(root, "2024-01-05T03:00")) == {}
    assert shown(root, environment) == before

    early = at(root, "2024-01-05T03:30")
    look = Request(ignore_cron=True, select=("daily",), end=early.now().replace(hour=0, minute=0))
    assert planned(early, look) == {"daily": "2024-01-04"}
    started = start_apply(early, look)
    built = build_plan(early, started)
    check_plan(early, built)
    assert str(built.carried.outcomes["daily"].partial) == "2024-01-04"
    assert shown(root, environment) == before, "only its candidate has it"
    assert routine(at(root, "2024-01-05T05:59")) == {}

    write_events(root, first="2024-01-04", days=1, per_day=6)
    assert routine(at(root, "2024-01-05T06:00")) == {"daily": "2024-01-04", "running": "2024-01-04"}
    assert shown(root, environment) == expected_daily(root) != before
    assert Context.open(root).project.fingerprints["daily"] == version

    write_events(root, days=31)
    assert "2024-01-30" in routine(at(root, "2024-02-01T05:00"))["daily"]
    assert not planned(Context.open(root)), "the month ends with its last day, at six"
    assert routine(at(root, "2024-02-01T06:00"))["daily"] == "2024-01-31"
    assert planned(Context.open(root)) == {"month": "2024-01-01..2024-01-31"}
    build_all(Context.open(root))
    assert promote_plan(Context.open(root)).verdict.open
    [month] = backfill_assets.read("month", project=root, environment=environment).to_pylist()
    assert month["n"] == sum(n for _, _, n, _ in expected_daily(root)) == 31 * 6
