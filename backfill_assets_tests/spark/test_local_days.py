"""How are local days modelled, when intervals are UTC? As docs/models.md says: by lookback, over the clock change."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import utc
from backfill_assets_tests.projects import build_all, commits_per_interval, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HOURLY = """\
/*
cadence: hourly
start: 2024-03-29
grain: [ds]
batch_size: 200
*/
SELECT date_trunc('HOUR', at) AS ds, count(*) AS n FROM raw.events WHERE at >= :start AND at < :end GROUP BY ALL
"""
LOCAL = """\
/*
start: 2024-03-30
grain: [ds]
lookback: 1
batch_size: 2
*/
SELECT day AS ds, sum(n) AS n, count(*) AS hours
FROM (SELECT CAST(from_utc_timestamp(ds, 'Europe/Berlin') AS DATE) AS day, n
      FROM hourly WHERE ds >= :start - INTERVAL 1 DAY AND ds < :end)
WHERE day >= :start AND day < :end
GROUP BY day
"""


def test_local_days_over_the_clock_change(
    spark: SparkSession, tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours and Berlin's days around the night that has 23, on a machine that is set to New York: each hour is built
    once and is there, and each local day holds what Python's own time zones say."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        folder = tmp_path / "data" / "events"
        folder.mkdir(parents=True)
        instants = [utc("2024-03-29") + timedelta(minutes=20 * n) for n in range(5 * 24 * 3)]
        lines = [f"{n},{at:%Y-%m-%dT%H:%M:%SZ},a,1.00" for n, at in enumerate(instants)]
        (folder / "all.csv").write_text("\n".join(["id,at,kind,amount", *lines]))
        models = {"hourly.sql": HOURLY, "local.sql": LOCAL}
        place = Context.open(write_project(tmp_path, models, clock="2024-04-03T06:30", environment=environment))

        outcomes = build_all(place)

        assert all(o.ok for o in outcomes.values()), outcomes
        assert promote_plan(place).verdict.open
        hours = backfill_assets.read("hourly", project=tmp_path, environment=environment).to_pylist()
        assert {row["ds"]: row["n"] for row in hours} == Counter(
            at.replace(minute=0) for at in instants if at < utc("2024-04-03")
        )
        assert set(commits_per_interval(place, "hourly").values()) == {1}
        berlin = ZoneInfo("Europe/Berlin")
        expected = Counter(at.astimezone(berlin).date() for at in instants)
        rows = backfill_assets.read("local", project=tmp_path, environment=environment).to_pylist()
        assert {r["ds"]: r["n"] for r in rows} == {
            day: n for day, n in expected.items() if "2024-03-30" <= f"{day}" <= "2024-04-02"
        }
        assert {f"{r['ds']}": r["hours"] for r in rows}["2024-03-31"] == 23
    finally:
        monkeypatch.undo()
        time.tzset()
