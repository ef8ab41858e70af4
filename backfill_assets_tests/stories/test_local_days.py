"""Days of New York over the night in which its clocks change: built, shown and corrected as pandas has them (B1)."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from deltalake import DeltaTable, write_deltalake

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.routine import extend
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stages import Build, Request
from backfill_assets_tests.projects import backfill_here, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = "sources: [{name: raw.orders, path: data/orders, time_column: at, settle: 1h}]\n"
BY_DAY = """\
/*
start: 2024-03-09
grain: [ds]
time_zone: America/New_York
batch_size: 9
audits: [completeness]
*/
SELECT CAST(from_utc_timestamp(at, 'America/New_York') AS DATE) AS ds, count(*) AS orders, sum(amount) AS amount
FROM raw.orders
WHERE at >= to_utc_timestamp(:start, 'America/New_York') AND at < to_utc_timestamp(:end, 'America/New_York')
GROUP BY 1
"""
BY_HOUR = """\
/*
start: 2024-03-10
cadence: hourly
grain: [ds]
batch_size: 400
*/
SELECT date_trunc('HOUR', at) AS ds, count(*) AS orders, sum(amount) AS amount
FROM raw.orders WHERE at >= :start AND at < :end GROUP BY 1
"""
FROM_HOURS = """\
from backfill_assets import model
from pyspark.sql import functions as F


@model(
    start="2024-03-10", grain=["ds"], time_zone="America/New_York", batch_size=9,
    columns={"ds": {"type": "date"}, "orders": {"type": "bigint"}, "hours": {"type": "bigint"}},
)
def from_hours(by_hour, interval):
    day = F.from_utc_timestamp("ds", "America/New_York").cast("date")
    days = by_hour.select(day.alias("ds"), "orders")
    return days.groupBy("ds").agg(F.sum("orders").alias("orders"), F.count("*").alias("hours"))
"""


def orders(root: Path, times: pd.DatetimeIndex, amount: int) -> None:
    """One order at each of these instants, in one commit."""
    rows = pd.DataFrame({"at": times.astype("datetime64[us, UTC]"), "amount": range(amount, amount + len(times))})
    write_deltalake(root / "data" / "orders", rows, mode="append")


def independent(root: Path, last: str) -> dict[date, tuple[int, int]]:
    """By pandas, from the source's rows: orders and amount of each day on New York's clocks."""
    rows = DeltaTable(root / "data" / "orders").to_pandas()
    rows["ds"] = rows["at"].dt.tz_convert("America/New_York").dt.date
    days = rows.groupby("ds")["amount"].agg(["count", "sum"])
    return {ds: (n, a) for ds, n, a in days.itertuples() if date(2024, 3, 9) <= ds <= date.fromisoformat(last)}


def shown(root: Path, environment: str, model: str, *names: str) -> dict[date, tuple[int, ...]]:
    rows = backfill_assets.read(model, project=root, environment=environment).to_pylist()
    return {row["ds"]: tuple(row[name] for name in names) for row in rows}


def at(root: Path, clock: str) -> Context:
    file = root / "backfill.yml"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"clock": clock}))
    return Context.open(root)


def planned(place: Context) -> dict[str, str]:
    plan = plan_request(place)
    assert not plan.blocked
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


def test_the_night_of_the_change(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """The 10th of March has 23 hours. It is built at its end and not before, from orders and from hours; an order that
    comes late, of half an hour before that end (the 11th by UTC), changes it and no other day."""
    root = write_project(
        tmp_path,
        {"by_day.sql": BY_DAY, "by_hour.sql": BY_HOUR, "from_hours.py": FROM_HOURS},
        sources=SOURCES,
        clock="2024-03-11T03:59:00+00:00",
        environment=environment,
    )
    orders(root, pd.date_range("2024-03-08", "2024-03-11 04:00", freq="17min", tz="UTC"), 1000)
    assert planned(Context.open(root))["by_day"] == "2024-03-09"
    place = at(root, "2024-03-11T04:00:00+00:00")
    assert planned(place) == {
        "by_day": "2024-03-09..2024-03-10",
        "by_hour": "2024-03-10T00:00..2024-03-11T03:00",
        "from_hours": "2024-03-10",
    }
    assert backfill_here("apply", project=root).code == 0
    promoted = backfill_here("promote", project=root)
    assert promoted.code == 0, promoted.err
    before = independent(root, "2024-03-10")
    assert shown(root, environment, "by_day", "orders", "amount") == before
    hours = shown(root, environment, "from_hours", "orders", "hours")
    assert hours == {date(2024, 3, 10): (before[date(2024, 3, 10)][0], 23)}
    assert "2 of 2 days of America/New_York green" in backfill_here("status", project=root).out

    orders(root, pd.DatetimeIndex([datetime(2024, 3, 11, 3, 30)], tz="UTC"), 5)
    orders(root, pd.date_range("2024-03-11 04:01", "2024-03-12 04:05", freq="17min", tz="UTC"), 3000)
    done = extend(at(root, "2024-03-12T04:00:00+00:00"))
    assert not done.held, done.held
    again = {m: str(i) for m, i in done.settled.replaced.items()}
    assert again == {
        "by_day": "2024-03-10",
        "by_hour": "2024-03-11T03:00",
        "from_hours": "2024-03-10",
    }
    after = independent(root, "2024-03-11")
    assert {ds for ds in before if before[ds] != after[ds]} == {date(2024, 3, 10)}
    assert shown(root, environment, "by_day", "orders", "amount") == after
    hours = shown(root, environment, "from_hours", "orders", "hours")
    assert hours == {date(2024, 3, d): (after[date(2024, 3, d)][0], n) for d, n in ((10, 23), (11, 24))}

    file = root / "models" / "by_day.sql"
    file.write_text(BY_DAY.replace("America/New_York", "Europe/Berlin"))
    plan = plan_request(Context.open(root))
    said = f"its days are those of Europe/Berlin; {environment} shows it by those of America/New_York"
    assert plan.because["by_day"] == (said,) and str(plan.changes["by_day"]).startswith("breaking")
    with pytest.raises(PlanError, match="cannot begin with a day"):
        plan_request(Context.open(root), Request(forward_only=utc("2024-03-10")))
