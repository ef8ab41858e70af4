"""Routine runs while conversions land up to 14 days late: every settled day is right, and stays (G1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
from backfill_assets.app.evidence import read_release_evidence
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
COUNTED = """/*
owner: ana@example.com
start: 2024-01-01
time_column: ds
grain: [ds, campaign_id]
batch_size: 30
*/
SELECT CAST(click_time AS DATE) AS ds, campaign_id, count(DISTINCT conversion_id) AS conversions
FROM raw.conversions
WHERE click_time >= :start AND click_time < :end AND landed_on >= :start AND landed_on < date_add(:end, 14)
GROUP BY CAST(click_time AS DATE), campaign_id
"""
"""What of the demo's `campaign_performance` comes late: a run over it alone takes a few seconds."""


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
    bought = conversions(delivered)
    return {
        key: (row.impressions, row.clicks, row.spend, bought.get(key, 0))
        for key, row in zip(ads.index, ads.itertuples(index=False), strict=True)
    }


def conversions(delivered: Path) -> dict[tuple[Any, ...], int]:
    """By day of the click and campaign, each once, from all that was ever delivered: by pandas."""
    rows = DeltaTable(delivered / "conversions").to_pyarrow_table().to_pandas()
    rows["ds"] = pd.to_datetime(rows["click_time"], utc=True).dt.date
    each = rows.drop_duplicates("conversion_id").groupby(["ds", "campaign_id"]).size()
    return {key: int(n) for key, n in each.items()}


def counted(root: Path, environment: str, *, settled: bool) -> dict[tuple[Any, ...], int]:
    rows = backfill_assets.read("conversions", settled=settled, project=root, environment=environment).to_pylist()
    return {(r["ds"], r["campaign_id"]): r["conversions"] for r in rows}


def shop(
    root: Path, environment: str, models: Mapping[str, str], *, begin: date, end: date, events: int
) -> tuple[Path, Path]:
    """A project of these models over the demo's sources, with what landed before a day; and where all is that the
    platforms deliver of the days until the end."""
    delivered = root / "delivered"
    generate(delivered, events=events, days=(end - FIRST).days + 15)
    as_late_as_may_be(delivered)
    (root / "data").mkdir()
    (delivered / "campaigns").rename(root / "data" / "campaigns")
    land(delivered, root, FIRST, begin - timedelta(days=1))
    write_project(root, models, sources=SOURCES, clock=f"{begin}T06:00:00+00:00", environment=environment)
    return root, delivered


@pytest.mark.extended
@pytest.mark.timeout(1800)
def test_a_month_of_routine_runs(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """From the second day of a shop on, a run each morning, and nobody else does anything: each settled day is what all
    deliveries amount to, when it settles and when the month is over; what is marked as provisional is the rest."""
    begin, end = date(2024, 1, 3), date(2024, 2, 2)
    models = {"conversions.sql": COUNTED}
    root, delivered = shop(tmp_path, environment, models, begin=begin, end=end, events=60_000)
    truth = conversions(delivered)
    assert backfill_here("apply", "--promote", project=root).code == 0
    late, first_seen = 0, counted(root, environment, settled=False)
    for number in range((end - begin).days):
        today = begin + timedelta(days=number + 1)
        land(delivered, root, today - timedelta(days=1), today - timedelta(days=1))
        clock(root, today)
        done = extend(Context.open(root))
        assert not done.held and done.promoted.verdict.open and done.settled.replaced, (today, done.held)
        first_seen |= {
            key: row for key, row in counted(root, environment, settled=False).items() if key not in first_seen
        }
        until = today - timedelta(days=16)
        if until >= FIRST:
            settled = counted(root, environment, settled=True)
            assert settled == {key: row for key, row in truth.items() if key[0] <= until}, today
            late = sum(row != first_seen[key] for key, row in settled.items())
    assert number == 29 and late > 10, "rows came late, so that the first look at many days was wrong"

    provisional = [f"{end - timedelta(days=15)}T00:00:00+00:00", f"{end}T00:00:00+00:00"]
    [status] = backfill_here("status", "--json", project=root).json["models"]
    assert status["provisional"] == [provisional]
    [*_, last] = Context.open(root).control.releases.all(environment)
    said = read_release_evidence(Context.open(root), last.id).said
    assert said["models"][0]["provisional"] == [provisional], "the packet of the last release"
    everything = counted(root, environment, settled=False)
    assert {ds for ds, _ in everything.keys() - settled.keys()} == {end - timedelta(days=n) for n in range(1, 16)}


def test_late_conversions(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Each morning a day has landed. Nobody approves anything; what `settled=True` said once is never said otherwise,
    and in the end it is what all deliveries amount to. One of the runs is Dagster's."""
    names = ("campaign_performance.sql", "campaign_trends_monthly.sql")
    models = {name: (EMBEDDED_PROJECT / "models" / name).read_text() for name in names}
    root, delivered = shop(tmp_path, environment, models, begin=BEGIN, end=END, events=40_000)
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
