"""Prod moves on while one consumer is kept on a release: it reads the rows of then, and prod's afterwards (F8)."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.janitor import remove_garbage
from backfill_assets.app.promote import promote_plan
from backfill_assets_tests.projects import approve, backfill_here, build_all, small_project
from backfill_assets_tests.stories.test_routine import run, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Rows = list[tuple[str, str, int, int]]
QUERY = "SELECT CAST(ds AS STRING) AS ds, kind, n, CAST(total * 100 AS BIGINT) AS cents FROM {}.daily ORDER BY ds, kind"


def summed(root: Path, days: int, times: int) -> Rows:
    """What `daily` shows of the first days when `total` is so many times the sum: by hand, from the files alone."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for day in range(1, days + 1):
        with (root / "data" / "events" / f"2024-01-{day:02}.csv").open() as file:
            for row in csv.DictReader(file):
                found[row["at"][:10], row["kind"]].append(round(float(row["amount"]) * 100))
    return sorted((ds, kind, len(cents), times * sum(cents)) for (ds, kind), cents in found.items())


def asked(root: Path, schema: str) -> Rows:
    """What `backfill sql` gives of a schema's view."""
    said = backfill_here("sql", QUERY.format(schema), "--limit", "1000", "--json", project=root)
    assert said.code == 0, said.err
    return [(r["ds"], r["kind"], r["n"], r["cents"]) for r in said.json]


def read(root: Path, **who: str) -> Rows:
    table: list[dict[str, Any]] = backfill_assets.read("daily", project=root, **who).to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in table)


def test_one_consumer_stays_while_others_move(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A release, a change, new days, a janitor with a short retention; then it is let go, and reads what all read."""
    root = small_project(tmp_path, days=4, batch_size=4, environment=environment)
    (root / "consumers.yml").write_text(
        "last_verified: 2024-01-05\nconsumers:\n"
        "  - {name: cfo_weekly_export, owner: cfo@example.com, how: export, notice: 7 days, reads: [daily]}\n"
    )
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    [first] = place.control.releases.all(environment)
    saved = asked(root, environment)
    assert saved == summed(root, 4, 1)

    said = backfill_here("pin", "cfo_weekly_export", first.id, "--until", "2024-01-31", project=root)
    assert said.code == 0 and "pin_cfo_weekly_export.daily" in said.out, said.err
    assert asked(root, "pin_cfo_weekly_export") == saved

    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount) AS total", "sum(amount) * 2 AS total"))
    told = backfill_here("plan", project=root).out
    assert "cfo_weekly_export" in told and f"kept on release {first.id} until 2024-01-31" in told
    place = Context.open(root)
    build_all(place)
    approve(place)
    assert promote_plan(place).verdict.open
    until(root, "2024-01-06")
    run(root)
    assert asked(root, environment) == summed(root, 6, 2), "prod moved, and grew"
    assert asked(root, "pin_cfo_weekly_export") == read(root, consumer="cfo_weekly_export") == saved

    # nothing but the pin needs the first versions by now; the janitor comes long after the retention
    settings = (root / "backfill.yml").read_text()
    later = datetime.now(UTC) + timedelta(days=40)
    (root / "backfill.yml").write_text(settings.replace("2024-01-07", f"{later:%Y-%m-%d}"))
    swept = remove_garbage(Context.open(root), today=later.date()).swept
    first_daily, first_running = (m.after.version for m in sorted(first.moves, key=lambda m: m.model) if m.after)
    assert swept is not None and [r.version for r in swept.removed] == [first_running], "what nobody is kept on goes"
    (root / "backfill.yml").write_text(settings)
    assert (Path(place.warehouse) / "daily" / first_daily).exists()
    assert asked(root, "pin_cfo_weekly_export") == saved

    said = backfill_here("unpin", "cfo_weekly_export", project=root)
    assert "other rows: 2024-01-01..2024-01-04; new intervals: 2024-01-05..2024-01-06" in said.out, said.out
    assert read(root, consumer="cfo_weekly_export") == read(root) == summed(root, 6, 2)
    assert "pin-cfo_weekly_export" not in Context.open(root).control.environments.names()
