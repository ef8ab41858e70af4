"""A model gets another time column and key: no row of it can be paired with one that is shown. It has a way to prod."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets_tests.projects import backfill_here, newest_plan, write_events, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOTALS = """\
/*
start: 2024-01-01
cadence: {cadence}
time_column: {column}
owner: ana@example.com
grain: [{column}]
*/
SELECT {first} AS {column}, sum(amount) AS total FROM raw.events WHERE at >= :start AND at < :end GROUP BY {first}
"""
READER = """\
last_verified: 2024-01-15
consumers:
  - name: board
    owner: eva@example.com
    reads: {{daily: [{column}, total]}}
    queries:
      - {{name: all, sql: "SELECT {column}, total FROM {environment}.daily", min_rows: 2}}
"""


def test_from_one_time_column_to_another(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Older days cannot stay beside it; all of it is built, compared with nothing, which its owner accepts by name. A
    consumer's query that is mended meanwhile is asked again."""
    write_events(tmp_path, days=14)
    people = {"ana@example.com": {"accounts": ["ana"]}, "eva@example.com": {"accounts": ["eva"]}}

    def write(cadence: str, column: str, first: str) -> None:
        model = {"daily.sql": TOTALS.format(cadence=cadence, column=column, first=first)}
        write_project(tmp_path, model, clock="2024-01-15", environment=environment)
        settings = (tmp_path / "backfill.yml").read_text()
        (tmp_path / "backfill.yml").write_text(settings.replace("{", f'{{"people": {people}, '.replace("'", '"'), 1))

    def read_by(column: str) -> None:
        (tmp_path / "consumers.yml").write_text(READER.format(column=column, environment=environment))

    read_by("ds")
    write("daily", "ds", "CAST(at AS DATE)")
    assert backfill_here("apply", "--promote", project=tmp_path, user="dev").code == 0
    before = backfill_assets.read("daily", project=tmp_path, environment=environment).sort_by("ds").to_pydict()
    write("weekly", "wk", "CAST(date_trunc('WEEK', at) AS DATE)")
    refused = backfill_here("plan", "--forward-only", "2024-01-08", project=tmp_path, user="dev")
    assert refused.code == 1 and "its time column is `wk`, and `ds` in the rows" in " ".join(refused.err.split())

    applied = backfill_here("apply", project=tmp_path, user="dev")
    assert applied.code == 0, applied
    plan = newest_plan(tmp_path)
    closed = " ".join(backfill_here("promote", plan, project=tmp_path, user="dev").out.split())
    assert "the grain is wk, and no column of it is on both sides" in closed
    assert "the query all of board it fails" in closed and "mend it, then backfill apply" in closed
    read_by("wk")
    again = backfill_here("apply", project=tmp_path, user="dev")
    assert again.code == 0 and "1 of 1 queries answer as expected" in " ".join(again.out.split()), again
    closed = backfill_here("promote", plan, project=tmp_path, user="dev")
    assert "board" not in closed.out and "daily.unpaired" in closed.out, closed
    reason = "--accept", "daily.unpaired=weeks are not days"
    approved = backfill_here("approve", plan, *reason, project=tmp_path, user="ana")
    assert approved.code == 0, approved
    assert backfill_here("promote", plan, project=tmp_path, user="dev").code == 0
    after = backfill_assets.read("daily", project=tmp_path, environment=environment).to_pydict()
    weeks = [sum(before["total"][:7]), sum(before["total"][7:])]
    assert [total for _, total in sorted(zip(after["wk"], after["total"], strict=True))] == weeks
