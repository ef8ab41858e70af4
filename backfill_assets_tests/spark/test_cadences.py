"""Do models of every cadence build, each row in the interval that it belongs to?"""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import Interval
from backfill_assets_tests.projects import build_all, commits_per_interval, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODEL = """\
/*
cadence: {cadence}
start: {start}
grain: [ds]
batch_size: {batch_size}
audits: [completeness]
*/
SELECT {ds} AS ds, count(*) AS n FROM raw.events WHERE at >= :start AND at < :end GROUP BY {ds}
"""
INSTANTS = ["2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "2024-01-01T00:59:59Z", "2024-01-01T01:00:00Z",
            "2024-01-01T02:30:00Z", "2024-01-08T00:00:00Z", "2024-01-31T23:59:59Z", "2024-02-01T00:00:00Z",
            "2024-02-29T12:00:00Z"]  # fmt: skip


def hour(number: int) -> datetime:
    return datetime(2024, 1, 1, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cadence", "start", "clock", "ds", "batch_size", "expected"),
    [
        pytest.param(
            "hourly", "2024-01-01", "2024-01-01T03:20", "date_trunc('HOUR', at)", 2,
            {hour(0): 2, hour(1): 1, hour(2): 1}, id="hourly",
        ),
        pytest.param(
            "daily", "2023-12-31", "2024-01-02T12:00", "CAST(at AS DATE)", 2,
            {date(2023, 12, 31): 1, date(2024, 1, 1): 4}, id="daily",
        ),
        pytest.param(
            "weekly", "2023-12-27", "2024-01-15", "CAST(date_trunc('WEEK', at) AS DATE)", 1,
            {date(2024, 1, 1): 4, date(2024, 1, 8): 1}, id="weekly",
        ),
        pytest.param(
            "monthly", "2023-12-01", "2024-03-05", "CAST(date_trunc('MONTH', at) AS DATE)", 2,
            {date(2023, 12, 1): 1, date(2024, 1, 1): 6, date(2024, 2, 1): 2}, id="monthly",
        ),
    ],
)  # fmt: skip
def test_a_cadence_builds(
    spark: SparkSession, tmp_path: Path, environment: str,
    cadence: str, start: str, clock: str, ds: str, batch_size: int, expected: dict[Any, int],
) -> None:  # fmt: skip
    """Every whole interval that is over is built once, audited and promoted; its rows are those of its time."""
    folder = tmp_path / "data" / "events"
    folder.mkdir(parents=True)
    lines = [f"{n},{at},a,1.00" for n, at in enumerate(INSTANTS)]
    (folder / "all.csv").write_text("\n".join(["id,at,kind,amount", *lines]))
    text = MODEL.format(cadence=cadence, start=start, batch_size=batch_size, ds=ds)
    place = Context.open(write_project(tmp_path, {"counted.sql": text}, clock=clock, environment=environment))

    outcome = build_all(place)["counted"]

    assert outcome.ok, outcome.failures
    counts = commits_per_interval(place, "counted")
    assert len(counts) == len(expected) and set(counts.values()) == {1}
    assert all(isinstance(i, Interval) for i in counts)
    promote_plan(place)
    shown = backfill_assets.read("counted", project=tmp_path, environment=environment).to_pylist()
    assert {row["ds"]: row["n"] for row in shown} == expected
