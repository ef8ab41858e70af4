"""What other tools were reported to do to people's history, each as a story that ends well here.

More of them have a file of their own: a promotion that dies in the middle (`test_kill_during_promotion.py`), tampering
with a packet or a table (`test_evidence.py`), readers during a promotion (`test_concurrent_reader.py`).
"""

from __future__ import annotations

import hashlib
import shutil
from datetime import date, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.gate import judge_plan
from backfill_assets.app.ledger_edits import declare_empty
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import (
    DAILY,
    RUNNING,
    Said,
    an_environment,
    backfill_here,
    build_all,
    days,
    say_yes,
    write_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = """\
sources:
  - name: raw.events
    path: data/events
    time_column: at
"""
FIRST, LAST = date(2024, 1, 1), date(2024, 1, 6)


@pytest.fixture(scope="module")
def environment() -> str:
    """One for all tests of this file: each has a copy of what is published there."""
    return an_environment()


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, environment: str) -> Path:
    """`daily` and `running` over a Delta source of six days, published."""
    folder = tmp_path_factory.mktemp("published")
    load(folder, [FIRST + timedelta(days=n) for n in range(6)], "2.50")
    root = write_project(
        folder,
        {"daily.sql": DAILY.format(batch_size=6, batch_concurrency=1), "running.sql": RUNNING.format(batch_size=6)},
        sources=SOURCE,
        clock="2024-01-07",
        environment=environment,
    )
    assert backfill_here("apply", "--promote", project=root).code == 0
    return root


@pytest.fixture
def shop(published: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(published, tmp_path, dirs_exist_ok=True)


def load(root: Path, when: list[date], amount: str) -> None:
    """Three events of each day, each day in a file of its own."""
    for day in when:
        rows = pa.table(
            {
                "id": pa.array(range(3), pa.int64()),
                "at": pa.array([utc(day) + timedelta(hours=n) for n in range(3)], pa.timestamp("us", "UTC")),
                "kind": ["a"] * 3,
                "amount": pa.array([Decimal(amount)] * 3, pa.decimal128(10, 2)),
            }
        )
        write_deltalake(root / "data" / "events", rows, mode="append")


def empty(root: Path, day: date) -> None:
    """The source loses a day's rows."""
    DeltaTable(root / "data" / "events").delete(f"at >= '{day}' AND at < '{day + timedelta(days=1)}'")


def shown(root: Path, environment: str) -> list[dict[str, Any]]:
    """What the environment shows of both models, read without Spark."""
    found = [backfill_assets.read(name, project=root, environment=environment) for name in ("daily", "running")]
    return [row for table in found for row in table.sort_by("ds").to_pylist()]


def files(root: Path) -> dict[str, str]:
    """Every file of the version tables, logs included, by its content."""
    tables = [root / ".backfill" / "warehouse" / name for name in ("daily", "running")]
    assert all(t.is_dir() for t in tables)
    return {
        str(f.relative_to(root)): hashlib.sha256(f.read_bytes()).hexdigest()
        for table in tables
        for f in sorted(table.rglob("*"))
        if f.is_file()
    }


def in_the_way(said: Said) -> str:
    """What a refused promotion says, as one text."""
    assert said.code == 4, said
    return " ".join(f"{o['model']}: {o['what']} {o['intervals']}" for o in said.json["in_the_way"])


def test_a_failed_restatement_leaves_prod_byte_identical(shop: Path, environment: str) -> None:
    """A bad correction fails its audit. Nothing of what prod shows was rewritten, moved or removed, not a byte."""
    before, was = shown(shop, environment), files(shop)
    place = Context.open(shop)
    pointers = place.control.environments.read(environment).pointers
    empty(shop, date(2024, 1, 3))
    load(shop, [date(2024, 1, 3)], "-9.00")  # the model's audit wants totals of at least 0

    failed = backfill_here("apply", "--json", "--restate", "daily:2024-01-03", project=shop)

    assert failed.code != 0 and "range" in failed.out
    assert shown(shop, environment) == before
    assert place.control.environments.read(environment).pointers == pointers
    now = files(shop)
    assert {name: now[name] for name in was} == was
    refused = backfill_here("promote", "--json", "--restate", "daily:2024-01-03", project=shop)
    assert "daily" in in_the_way(refused)
    assert shown(shop, environment) == before


@pytest.mark.parametrize("day", [date(2024, 1, 3), LAST])
def test_an_emptied_source_day_leaves_no_stale_rows_and_is_flagged(shop: Path, environment: str, day: date) -> None:
    """The watch tells of it; the day that is computed again has no row, old ones least of all; the gate says so."""
    before = shown(shop, environment)
    empty(shop, day)
    watched = backfill_here("watch", "--json", project=shop)
    assert watched.code == 3 and f"{day}" in watched.out and "--restate" in watched.out

    again = backfill_here("apply", "--json", "--restate", f"daily:{day}", project=shop)
    assert again.code != 0 and "completeness" in again.out
    refused = backfill_here("promote", "--json", "--restate", f"daily:{day}", project=shop)
    assert f"{day}" in in_the_way(refused)
    assert shown(shop, environment) == before

    # Its owner knows that there was nothing on that day: the audit goes, and the day has no rows, not those of before.
    daily = shop / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("  - completeness\n", ""))
    applied = backfill_here("apply", "--json", "--restate", f"daily:{day}", project=shop)
    assert applied.code == 0
    say_yes(Context.open(shop), applied.json["plan"]["id"])
    unaccepted = backfill_here("promote", "--json", "--restate", f"daily:{day}", project=shop)
    assert "is left, and none came" in in_the_way(unaccepted)
    say_yes(Context.open(shop), applied.json["plan"]["id"], why="nothing was sold on that day")
    promoted = backfill_here("promote", "--json", "--restate", f"daily:{day}", project=shop)
    assert promoted.code == 0, promoted
    rows = backfill_assets.read("daily", project=shop, environment=environment).to_pylist()
    assert {row["ds"] for row in rows} == {FIRST + timedelta(days=n) for n in range(6)} - {day}


def test_no_option_promotes_an_empty_or_a_shrunken_table(shop: Path, environment: str) -> None:
    """A model that starts later than what is shown, days that are only said to be complete: whatever is asked for."""
    before = shown(shop, environment)
    daily = shop / "models" / "daily.sql"
    text = daily.read_text()
    daily.write_text(
        text.replace("start: 2024-01-01", "start: 2024-01-03").replace("count(*) AS n", "count(*) + 1 AS n")
    )
    place = Context.open(shop)
    build_all(place)
    flags = product([(), ("daily",), ("daily+",)], [False, True], [False, True])
    for select, end_bounded, ignore_cron in flags:
        request = Request(select=select, end_bounded=end_bounded, ignore_cron=ignore_cron)
        verdict = promote_plan(place, request).verdict
        assert any(o.what.endswith(f"{environment} would lose") for o in verdict.obstacles), (request, verdict)
    for first, last in [("2024-01-01", "2024-01-02"), ("2024-01-05", "2024-01-06")]:
        span = days(first, last)
        verdict = promote_plan(place, Request(start=span.start, end=span.end)).verdict
        assert not verdict.pointers, verdict
    assert shown(shop, environment) == before

    daily.write_text(text.replace("count(*) AS n", "count(*) + 2 AS n"))
    place = Context.open(shop)
    assert set(declare_empty(place, Request())) == {"daily"}, "running reads nothing of what changed"
    for select, ignore_cron in product([(), ("daily",)], [False, True]):
        verdict = promote_plan(place, Request(select=select, ignore_cron=ignore_cron)).verdict
        assert verdict.obstacles and not verdict.pointers, verdict
    assert shown(shop, environment) == before


def test_an_approval_does_not_survive_a_later_write(shop: Path, environment: str) -> None:
    """The owner approved rows. Others took their place since, by the same plan: that approval is none."""
    daily = shop / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    before = shown(shop, environment)
    applied = backfill_here("apply", "--json", project=shop)
    assert applied.code == 0, applied
    plan = applied.json["plan"]["id"]
    say_yes(Context.open(shop), plan)
    assert judge_plan(Context.open(shop), Request(), Context.open(shop).facts(), plan_request(Context.open(shop))).open

    assert backfill_here("withdraw", "daily:2024-01-04", project=shop).code == 0
    empty(shop, date(2024, 1, 4))
    load(shop, [date(2024, 1, 4)], "7.00")
    assert backfill_here("apply", "--json", project=shop).code == 0

    refused = backfill_here("promote", "--json", project=shop)
    assert "needs approval by ana@example.com" in in_the_way(refused)
    assert shown(shop, environment) == before
