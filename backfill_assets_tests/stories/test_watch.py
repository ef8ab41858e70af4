"""Rows arrive late behind what prod shows: noticed, proposed as a restatement, and gone once that is promoted (F6)."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.core.intervals import utc
from backfill_assets_tests.projects import DAILY, RUNNING, backfill_here, say_yes, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = """\
sources:
  - name: raw.events
    path: data/events
    time_column: at
    freshness: 30h
"""


def load(root: Path, *days: str, each: int = 6) -> None:
    """One commit: so many events of each of these days of January 2024."""
    at = [utc(f"2024-01-{d}") + timedelta(hours=n) for d in days for n in range(each)]
    rows = pa.table(
        {
            "id": pa.array(range(len(at)), pa.int64()),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "kind": ["ab"[n % 2] for n in range(len(at))],
            "amount": pa.array([Decimal("2.50")] * len(at), pa.decimal128(10, 2)),
        }
    )
    write_deltalake(root / "data" / "events", rows, mode="append")


def clock(root: Path, day: str) -> None:
    file = root / "backfill.yml"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"clock": day}))


def is_right(root: Path, environment: str) -> bool:
    """Whether prod shows what the source has, counted without Spark."""
    source = Counter(
        (f"{at:%Y-%m-%d}", kind)
        for at, kind in zip(
            *(DeltaTable(root / "data" / "events").to_pyarrow_table()[c].to_pylist() for c in ("at", "kind")),
            strict=True,
        )
    )
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    return {(f"{r['ds']}", r["kind"]): r["n"] for r in rows} == source


def test_late_rows(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Quiet after the promotion; late rows of two days are told with the command that makes up for them, which is run
    as it is printed; then prod is right and quiet again, and so it is after the next daily run."""
    for day in range(1, 9):
        load(tmp_path, f"{day:02}")
    root = write_project(
        tmp_path,
        {"daily.sql": DAILY.format(batch_size=8, batch_concurrency=1), "running.sql": RUNNING.format(batch_size=8)},
        sources=SOURCE,
        clock="2024-01-09",
        environment=environment,
    )
    assert backfill_here("apply", project=root).code == 0
    assert backfill_here("promote", project=root).code == 0
    quiet = backfill_here("watch", project=root)
    assert quiet.code == 0 and "still watching, 0 h of 24: quiet since the promotion" in quiet.out, quiet

    load(tmp_path, "03", "05", each=2)
    late = backfill_here("watch", "--json", project=root)
    assert "Nothing to do" not in (planned := backfill_here("plan", project=root).out) and "--restate" in planned
    text = (running := root / "models" / "running.sql").read_text()
    running.write_text(text.replace("sum(", "2 * sum("))
    beside = backfill_here("plan", project=root).out
    assert "left as they are by this plan\n  daily 2024-01-03..2024-01-05: built before its source" in beside, beside
    assert "Once this plan is promoted:\n    backfill apply --restate daily:2024-01-03..2024-01-05\n" in beside, beside
    (told,) = backfill_here("plan", "--json", project=root).json["late"]
    assert told["model"] == "daily", told
    running.write_text(text)
    assert late.code == 3, late
    (notice,) = late.json["notices"]
    assert notice["kind"] == "late_source_data" and notice["model"] == "daily"
    # One file holds the rows of both days: what lies between cannot be told apart.
    assert late.json["restate"] == "backfill apply --restate daily:2024-01-03..2024-01-05"
    assert [(r["start"][:10], r["end"][:10]) for r in notice["downstream"]["running"]] == [("2024-01-03", "2024-01-07")]
    assert not is_right(root, environment)
    command = shlex.split(late.json["restate"])[1:]
    applied = backfill_here(*command, project=root)
    assert applied.code == 0, applied
    assert backfill_here("watch", project=root).code == 3, "prod still shows the old rows"
    built = backfill_here("plan", *command[1:], project=root).out
    assert "left as they are by this plan" not in built, "they are built again, and wait to be promoted"
    named = re.search(r"backfill promote (\w+)", applied.out)
    assert named, applied
    say_yes(Context.open(root), named[1])
    assert backfill_here("promote", named[1], project=root).code == 0
    assert is_right(root, environment)
    assert backfill_here("watch", project=root).code == 0

    clock(root, "2024-01-10")
    load(tmp_path, "09")
    assert backfill_here("watch", project=root).code == 0, "a day that is to be built is no late data"
    assert backfill_here("routine", project=root).code == 0
    done = backfill_here("watch", project=root)
    assert done.code == 0 and "extended since: daily" in done.out, done
    assert is_right(root, environment)
