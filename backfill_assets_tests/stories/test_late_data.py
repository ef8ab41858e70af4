"""Routine runs while conversions land up to 14 days late: every settled day is right, and stays (G1)."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import backfill_assets
from backfill_assets.adapters.spark_views import PROVISIONAL
from backfill_assets.app.context import Context
from backfill_assets.app.routine import extend
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.demo.generate import generate
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests.projects import backfill_here, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, BEGIN, END = date(2024, 1, 1), date(2024, 2, 2), date(2024, 2, 6)
SOURCES = (EMBEDDED_PROJECT / "sources.yml").read_text().replace("path: .backfill/", "path: ")
"""The demo's: they say how late rows come."""
NAMES = ["ds", "campaign_id", "impressions", "clicks", "spend", "conversions"]


def as_late_as_may_be(delivered: Path) -> None:
    """Each tenth row, and what lands more than a day after its own, lands on the last day on which it may."""
    for name, time, most in (("ad_events", "event_time", 3), ("conversions", "click_time", 14)):
        rows = DeltaTable(delivered / name).to_pyarrow_table()
        landed, at = pd.to_datetime(rows["landed_on"].to_pandas()), rows[time].to_pandas()
        day = at.dt.tz_convert("UTC").dt.tz_localize(None).dt.normalize()
        late = (landed > day + timedelta(days=1)) | (landed.index % 10 == 0)
        days = pa.array(landed.where(~late, day + timedelta(days=most)).dt.date, pa.date32())
        rows = rows.set_column(rows.schema.get_field_index("landed_on"), "landed_on", days)
        write_deltalake(delivered / name, rows, mode="overwrite", partition_by=["landed_on"])


def land(delivered: Path, root: Path, first: date, last: date) -> None:
    """What arrives from a day to another, both included: one commit each table."""
    for name in ("ad_events", "conversions"):
        rows = DeltaTable(delivered / name).to_pyarrow_table(
            filters=[("landed_on", ">=", first), ("landed_on", "<=", last)]
        )
        write_deltalake(root / "data" / name, rows, mode="append", partition_by=["landed_on"])


def clock(root: Path, day: date) -> None:
    file = root / "backfill.yml"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"clock": f"{day}T06:00:00+00:00"}))


def shown(root: Path, environment: str, *, settled: bool) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    rows = backfill_assets.read(
        "campaign_performance", columns=NAMES, settled=settled, project=root, environment=environment
    ).to_pylist()
    return {(r["ds"], r["campaign_id"]): tuple(r[name] for name in NAMES[2:]) for r in rows}


def january(root: Path, environment: str) -> dict[int, int]:
    """The impressions of each campaign in the month that reads the days."""
    columns = ["campaign_id", "impressions"]
    rows = backfill_assets.read("campaign_trends_monthly", columns=columns, project=root, environment=environment)
    return {r["campaign_id"]: r["impressions"] for r in rows.to_pylist()}


def independent(delivered: Path) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """From all that the platforms ever delivered, by pandas: one row an event and a conversion, by the UTC day."""
    events = DeltaTable(delivered / "ad_events").to_pyarrow_table().to_pandas()
    events["ds"] = pd.to_datetime(events["event_time"], utc=True).dt.date
    events = events.drop_duplicates("event_id")
    events["click"] = events["event_type"] == "click"
    ads = events.groupby(["ds", "campaign_id"]).agg(
        impressions=("click", lambda c: int((~c).sum())), clicks=("click", "sum"), spend=("spend", "sum")
    )
    bought = DeltaTable(delivered / "conversions").to_pyarrow_table().to_pandas()
    bought["ds"] = pd.to_datetime(bought["click_time"], utc=True).dt.date
    bought = bought.drop_duplicates("conversion_id").groupby(["ds", "campaign_id"]).size()
    return {
        key: (row.impressions, row.clicks, row.spend, int(bought.get(key, 0)))
        for key, row in zip(ads.index, ads.itertuples(index=False), strict=True)
    }


def test_late_conversions(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Each morning a day has landed. Nobody approves anything; what `settled=True` said once is never said otherwise,
    and in the end it is what all deliveries amount to. One of the runs is Dagster's."""
    delivered = tmp_path / "delivered"
    generate(delivered, events=40_000, days=(END - FIRST).days + 15)
    as_late_as_may_be(delivered)
    models = EMBEDDED_PROJECT / "models"
    (tmp_path / "data").mkdir()
    (delivered / "campaigns").rename(tmp_path / "data" / "campaigns")
    land(delivered, tmp_path, FIRST, BEGIN - timedelta(days=1))
    names = ("campaign_performance.sql", "campaign_trends_monthly.sql")
    root = write_project(
        tmp_path,
        {name: (models / name).read_text() for name in names},
        sources=SOURCES,
        clock=f"{BEGIN}T06:00:00+00:00",
        environment=environment,
    )
    assert backfill_here("apply", project=root).code == 0
    assert backfill_here("promote", project=root).code == 0
    said: dict[tuple[Any, ...], tuple[Any, ...]] = shown(root, environment, settled=True)
    first, month = shown(root, environment, settled=False), january(root, environment)
    for number in range((END - BEGIN).days):
        today = BEGIN + timedelta(days=number + 1)
        land(delivered, root, today - timedelta(days=1), today - timedelta(days=1))
        clock(root, today)
        if number == 2:
            job = build_definitions(root).resolve_job_def("routine")
            with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
                assert job.execute_in_process(instance=instance).success
        else:
            done = extend(Context.open(root))
            assert not done.held and done.settled.replaced, (today, done.held)
        settled = shown(root, environment, settled=True)
        assert {key: settled[key] for key in said} == said, "a settled day changed"
        assert max(ds for ds, _ in settled) == today - timedelta(days=16)
        said = settled
    assert {key[0].day for key in said if said[key] != first[key]} >= {19, 20, 21}, "each on its last day"
    truth = independent(delivered)
    assert said == {key: row for key, row in truth.items() if key[0] <= END - timedelta(days=16)}
    days = pd.Series({key: row[0] for key, row in truth.items() if key[0].month == 1})
    assert month != january(root, environment) == days.groupby(level=1).sum().to_dict()

    status = backfill_here("status", "--json", project=root).json["models"]
    assert {m["model"]: m["provisional"][0][0][:10] for m in status} == {
        "campaign_performance": "2024-01-22",
        "campaign_trends_monthly": "2024-01-01",
    }
    read = f"SHOW TBLPROPERTIES {environment}.campaign_performance ('{PROVISIONAL}')"
    said = backfill_assets.spark(project=root, environment=environment).sql(read).collect()
    assert [row["value"] for row in said] == ["2024-01-22..2024-02-05"], "SQL reads it"
    control = Context.open(root).control
    assert not control.approvals.of([record.id for record in control.plans.all()])
