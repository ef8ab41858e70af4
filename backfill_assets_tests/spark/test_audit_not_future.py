"""Does `not_future` find, on Spark, the rows in which Python finds an instant or a date after the interval?"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import build_all, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ZONE = "America/New_York"
HEADER = """\
/*
start: 2024-03-04
end: 2024-03-18
grain: [ds, id]
{more}
audits:
  - not_future: {{column: seen, severity: warn}}
  - not_future: {{column: day, severity: warn}}
*/
"""
COLUMNS = "id, seen, day FROM raw.rows WHERE at >= "
LOCAL = f"SELECT CAST(from_utc_timestamp(at, '{ZONE}') AS DATE) AS ds, {COLUMNS}"
MODELS = {
    "daily.sql": HEADER.format(more="") + f"SELECT CAST(at AS DATE) AS ds, {COLUMNS}:start AND at < :end",
    "weekly.sql": HEADER.format(more="cadence: weekly")
    + f"SELECT CAST(date_trunc('WEEK', at) AS DATE) AS ds, {COLUMNS}:start AND at < :end",
    "local.sql": HEADER.format(more=f"time_zone: {ZONE}")
    + f"{LOCAL}to_utc_timestamp(:start, '{ZONE}') AND at < to_utc_timestamp(:end, '{ZONE}')",
}


def interval_of(model: str, at: datetime) -> tuple[date, date]:
    """The first day of the interval that an instant is in, and the first one after it."""
    local = at.astimezone(ZoneInfo(ZONE)).date() if model == "local" else at.date()
    first = local - timedelta(days=local.weekday()) if model == "weekly" else local
    return first, first + timedelta(days=7 if model == "weekly" else 1)


def test_rows_after_their_interval(spark: SparkSession, tmp_path: Path) -> None:
    """Days, weeks, and days of a region, one of 23 hours; instants at the ends, dates, NULLs."""
    rng = random.Random(5)
    rows: list[dict[str, Any]] = []
    for number in range(300):
        at = datetime(2024, 3, 4, tzinfo=UTC) + timedelta(minutes=rng.randrange(14 * 24 * 60))
        near = datetime(2024, 3, 4, rng.choice([0, 4, 5]), tzinfo=UTC) + timedelta(days=rng.randrange(17))
        seen = rng.choice([None, at, near, near - timedelta(microseconds=1)])
        day = rng.choice([None, *(at.date() + timedelta(days=n) for n in (-1, 0, 1, 3))])
        rows.append({"at": at, "id": number, "seen": seen, "day": day})
    (tmp_path / "data" / "rows").mkdir(parents=True)
    instant = pa.timestamp("us", tz="UTC")
    schema = pa.schema({"at": instant, "id": pa.int64(), "seen": instant, "day": pa.date32()})
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "data" / "rows" / "all.parquet")
    sources = "sources: [{name: raw.rows, format: parquet, path: data/rows}]"
    write_project(tmp_path, MODELS, sources=sources, clock="2024-03-25")
    built = build_all(Context.open(tmp_path))
    for model, outcome in built.items():
        assert outcome.ok, outcome.failures
        late: dict[tuple[str, date], int] = {}
        for row in rows:
            first, after = interval_of(model, row["at"])
            zone = ZoneInfo(ZONE) if model == "local" else UTC
            if row["seen"] and row["seen"].astimezone(zone).date() >= after:
                late["not_future_seen", first] = late.get(("not_future_seen", first), 0) + 1
            if row["day"] and row["day"] >= after:
                late["not_future_day", first] = late.get(("not_future_day", first), 0) + 1
        results = [r for r in outcome.results if r.check.startswith("not_future")]
        found = {(r.check, r.interval.start.date()): r.failures for r in results if r.failures}
        asked = {r.interval.start.date() for r in results}
        assert found == {key: n for key, n in late.items() if key[1] in asked}
        assert {check for check, _ in found} == {"not_future_seen", "not_future_day"}
        assert all(r.passed == (not r.failures) for r in results)
