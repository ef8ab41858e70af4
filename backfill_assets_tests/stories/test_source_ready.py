"""Sources that say themselves when a day is complete: a file in its folder, and rows of a later time (B1).

Half a day is never built, whatever the clock says; once its source is ready it is, and equals pandas.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from deltalake import write_deltalake

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import extend
from backfill_assets_tests.projects import backfill_here, build_all, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = """\
sources:
  - name: raw.orders
    format: parquet
    path: data/orders
    time_column: ds
    ready: {file: _SUCCESS}
    columns: {id: bigint, amount: bigint, ds: date}
  - name: raw.clicks
    path: data/clicks
    time_column: at
    ready: later_rows
"""
REVENUE = """\
/*
start: 2024-01-01
grain: [ds]
batch_size: 9
*/
SELECT ds, count(*) AS orders, sum(amount) AS revenue FROM raw.orders WHERE ds >= :start AND ds < :end GROUP BY ds
"""
CLICKS = """\
/*
start: 2024-01-01
grain: [ds]
batch_size: 9
*/
SELECT CAST(at AS DATE) AS ds, count(*) AS clicks FROM raw.clicks WHERE at >= :start AND at < :end GROUP BY 1
"""
BOTH = """\
/*
start: 2024-01-01
grain: [ds]
batch_size: 9
*/
SELECT c.ds, r.revenue, c.clicks FROM clicks AS c JOIN revenue AS r ON r.ds = c.ds
WHERE c.ds >= :start AND c.ds < :end
"""


NOT_YET = "not expected until the folder of every day has `_SUCCESS` (`every_day`)"


def orders(root: Path, day: int, count: int, *, complete: bool) -> None:
    folder = root / "data" / "orders" / f"ds=2024-01-{day:02}"
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame({"id": range(count), "amount": [day * 100 + n for n in range(count)]})
    frame.to_parquet(folder / "part-0.parquet")
    if complete:
        (folder / "_SUCCESS").touch()


def clicks(root: Path, *instants: str) -> None:
    frame = pd.DataFrame({"at": pd.to_datetime(list(instants), utc=True, format="ISO8601")})
    write_deltalake(root / "data" / "clicks", frame, mode="append")


def expected(root: Path) -> dict[date, tuple[int, int]]:
    """Revenue and clicks by day, of the days that have both, by pandas alone."""
    parts = {f.parent.name[3:]: pd.read_parquet(f) for f in (root / "data" / "orders").rglob("*.parquet")}
    revenue = {date.fromisoformat(day): int(rows["amount"].sum()) for day, rows in parts.items()}
    at = pd.concat(pd.read_parquet(f) for f in (root / "data" / "clicks").glob("*.parquet"))["at"]
    counts = {day: int(n) for day, n in at.dt.date.value_counts().items()}
    return {day: (revenue[day], counts[day]) for day in revenue if day in counts}


def shown(root: Path, environment: str) -> dict[date, tuple[int, int]]:
    rows = backfill_assets.read("both", project=root, environment=environment).to_pylist()
    return {r["ds"]: (r["revenue"], r["clicks"]) for r in rows}


def test_days_that_are_not_complete_wait(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """The clock is at the tenth. Orders are complete through the fourth, clicks have come until the third's evening:
    what reads both has two days. As the sources go on, so do they, and no day was ever built from half of its rows."""
    models = {"revenue.sql": REVENUE, "clicks.sql": CLICKS, "both.sql": BOTH}
    for day in (1, 2, 3, 4):
        orders(tmp_path, day, 5, complete=True)
    orders(tmp_path, 5, 2, complete=False)
    clicks(tmp_path, "2024-01-01T10:00", "2024-01-02T05:00", "2024-01-02T23:59", "2024-01-03T20:00")
    root = write_project(tmp_path, models, sources=SOURCES, clock="2024-01-10", environment=environment)
    place = Context.open(root)
    built = {name: str(o.built) for name, o in build_all(place).items()}
    assert built == {
        "revenue": "2024-01-01..2024-01-04",
        "clicks": "2024-01-01..2024-01-02",
        "both": "2024-01-01..2024-01-02",
    }
    assert promote_plan(place).verdict.open
    first = shown(root, environment)
    assert first == {day: of for day, of in expected(root).items() if day < date(2024, 1, 3)}
    said = " ".join(backfill_here("plan", project=root).out.split())
    assert f"raw.orders is not ready for 5 days of revenue, 2024-01-05..2024-01-09: {NOT_YET}" in said
    assert "raw.clicks is not ready for 7 days of clicks" in said
    assert "until there is a row of a later time" in said

    clicks(tmp_path, "2024-01-03T23:59:59", "2024-01-04T12:00", "2024-01-05T00:00")
    done = extend(Context.open(root))
    assert not done.held
    assert {n: str(o.built) for n, o in done.carried.outcomes.items()} == {
        "clicks": "2024-01-03..2024-01-04",
        "both": "2024-01-03..2024-01-04",
    }
    orders(tmp_path, 5, 7, complete=True)
    orders(tmp_path, 7, 3, complete=True)  # the sixth has not come, and there is nothing of it
    clicks(tmp_path, "2024-01-05T08:00", "2024-01-06T00:00:01")
    routine = backfill_here("routine", project=root)
    assert routine.code == 0, routine.err
    said = " ".join(routine.out.split())
    assert f"raw.orders is not ready for 4 days of revenue, 2024-01-06..2024-01-09: {NOT_YET}" in said
    assert shown(root, environment) == {day: of for day, of in expected(root).items() if day < date(2024, 1, 6)}

    (root / "data" / "orders" / "ds=2024-01-02" / "_SUCCESS").unlink()
    assert not plan_request(Context.open(root)).stages, "what is built stays expected"
