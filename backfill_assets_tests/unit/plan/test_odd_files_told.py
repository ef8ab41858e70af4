"""Where is it told that a file lacks a column that a model reads? By plan, apply, and routine runs that publish it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from backfill_assets.app.apply import start_apply
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import extend
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import write_project
from backfill_assets_tests.unsparked import build, unsparked

MODEL = """\
/*
start: 2024-01-01
grain: [ds, id]
*/
SELECT CAST(at AS DATE) AS ds, id, amount FROM raw.orders WHERE at >= :start AND at < :end
"""
SOURCES = """\
sources:
  - {name: raw.orders, format: parquet, path: data, time_column: at}
"""
TOLD = "2.parquet of raw.orders lacks the column amount, which orders reads: it is NULL in these rows"


def rows(root: Path, day: int, **columns: pa.Array) -> None:
    (root / "data").mkdir(exist_ok=True)
    at = pa.array([utc(f"2024-01-{day:02}")])
    pq.write_table(pa.table({"at": at, "id": pa.array([1], pa.int32()), **columns}), root / "data" / f"{day}.parquet")


def test_by_plan_apply_and_routine(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    rows(root, 1, amount=pa.array([1.5]))
    write_project(root, {"orders.sql": MODEL}, sources=SOURCES, approvals={"required": False})
    place = unsparked(root, user="dev")
    plan, _ = build(place)
    assert not plan.warnings and promote_plan(place).verdict.open

    rows(root, 2)
    place = unsparked(root, user="dev")
    assert [w.what for w in plan_request(place).warnings] == [TOLD]
    assert "amount" in json.dumps(plan_request(place).to_json()["warnings"])
    assert [w.what for w in start_apply(place, Request()).whole.warnings] == [TOLD]
    done = extend(unsparked(root, user="dev"))
    assert [w.what for w in done.odd] == [TOLD] and done.promoted.verdict.open
