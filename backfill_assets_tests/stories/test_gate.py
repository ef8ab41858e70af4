"""What is shown stays shown until somebody who may say so has approved exactly the rows that replace it.

One shop, with approvals on: a source that loses rows, an edited audit, a corrupt file, an approval of one day.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets_tests.projects import (
    DAILY,
    RUNNING,
    Said,
    backfill_here,
    expected_daily,
    write_events,
    write_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PEOPLE = {"ana@example.com": {"accounts": ["ana"]}}
HALF = "2024-01-03"


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five days of `daily` and `running` are published; ana owns both."""
    root = tmp_path_factory.mktemp("gate")
    write_events(root, days=5)
    write_project(
        root,
        {
            "daily.sql": DAILY.format(batch_size=5, batch_concurrency=1),
            "running.sql": RUNNING.format(batch_size=5),
        },
        clock="2024-01-06",
        environment="gate_story",
    )
    settings = json.loads((root / "backfill.yml").read_text())
    (root / "backfill.yml").write_text(json.dumps(settings | {"people": PEOPLE}))
    done = backfill_here("apply", "--promote", project=root)
    assert done.code == 0, done
    return root


def shown(root: Path) -> list[tuple[Any, ...]]:
    """What is shown of `daily`, in the form of `expected_daily`."""
    rows = backfill_assets.read("daily", project=root, environment="gate_story").to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


def sums(root: Path) -> dict[date, int]:
    """What is shown of `running`: the total of each day, in cents."""
    rows = backfill_assets.read("running", project=root, environment="gate_story").to_pylist()
    return {r["ds"]: int(r["total"] * 100) for r in rows}


def total(rows: list[tuple[Any, ...]], day: str) -> int:
    return sum(cents for ds, _, _, cents in rows if ds == day)


def obstacles(said: Said) -> str:
    assert said.code == 4, said
    return " | ".join(f"{o['model']}: {o['what']} {o['intervals']} {o['remedy']}" for o in said.json["in_the_way"])


def test_a_source_that_loses_rows_and_an_audit_that_notices(shop: Path) -> None:
    """Half of a published day is gone from the source, and an edited audit fails on that day. Routine goes by the
    promoted audits; apply names the day and leaves it; the restatement is approved and replaces it with its reader."""
    before, model = shown(shop), shop / "models" / "daily.sql"
    write_events(shop, first=HALF, days=1, per_day=3)
    cents = min(c for ds, _, _, c in before if ds == HALF)
    model.write_text(model.read_text().replace("audits:\n", "audits:\n  - sql: not_that\n"))
    (shop / "audits").mkdir()
    (shop / "audits" / "not_that.sql").write_text(f"SELECT * FROM daily WHERE total = {cents / 100:.2f}")

    assert backfill_here("routine", project=shop).code == 0, "edited audits do not run"
    assert shown(shop) == before
    red = backfill_here("apply", project=shop)
    assert red.code == 3, red
    again = backfill_here("apply", "--json", project=shop)
    assert not [s for s in again.json["plan"]["stages"] if s["stage"] == "build"], again.json
    assert backfill_here("routine", project=shop).code == 0 and shown(shop) == before
    (fault,) = backfill_here("plan", "--json", project=shop).json["faults"]
    assert (fault["kind"], fault["model"]) == ("red", "daily") and f"--restate daily:{HALF}" in fault["remedy"]
    for command in ("status", "watch"):
        said = backfill_here(command, project=shop)
        assert "red" in said.out and HALF in said.out and "--restate" in said.out, said

    restate = ("--restate", f"daily:{HALF}")
    applied = backfill_here("apply", "--json", *restate, project=shop)
    assert applied.code == 0, applied
    plan = next(iter(r for r in Context.open(shop).control.plans.all() if r.live and "." in r.versions["daily"])).id
    assert "needs approval by ana@example.com" in obstacles(backfill_here("promote", plan, "--json", project=shop))
    assert backfill_here("approve", plan, user="ana", project=shop).code == 0
    moved = backfill_here("promote", plan, project=shop)
    assert moved.code == 0 and "restated" in moved.out and "more intervals" not in moved.out, moved
    assert shown(shop) == expected_daily(shop) != before
    assert sums(shop)[date.fromisoformat(HALF)] == total(shown(shop), HALF), "the reader moved with it"
    assert backfill_here("plan", "--json", project=shop).json["faults"] == []


def test_a_corrupt_file_is_replaced(shop: Path) -> None:
    """A published file is cut short. It is told, stays where it is, and a restatement replaces it once its owner has
    accepted that nothing could be compared with it."""
    place, day = Context.open(shop), "2024-01-02"
    folder = Path(place.warehouse) / "daily" / place.project.fingerprints["daily"] / f"ds={day}"
    for file in folder.glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-100])
        (folder / f".{file.name}.crc").unlink(missing_ok=True)
    (fault,) = backfill_here("plan", "--json", project=shop).json["faults"]
    assert (fault["kind"], fault["model"]) == ("damaged", "daily") and f"daily:{day}" in fault["remedy"]
    assert f"damaged: daily {day}" in backfill_here("status", project=shop).out

    applied = backfill_here("apply", "--json", "--restate", f"daily:{day}", project=shop)
    assert applied.code == 0, applied
    assert "daily.unreadable" in [f["name"] for f in applied.json["findings"]]
    plan = next(iter(r for r in Context.open(shop).control.plans.all() if r.live and "." in r.versions["daily"])).id
    assert backfill_here("approve", plan, user="ana", project=shop).code == 0
    assert "compared with nothing" in obstacles(backfill_here("promote", plan, "--json", project=shop))
    accepted = ("--accept", "daily.unreadable=the disk was broken")
    assert backfill_here("approve", plan, *accepted, user="ana", project=shop).code == 0
    assert backfill_here("promote", plan, project=shop).code == 0
    assert shown(shop) == expected_daily(shop)


def test_an_approval_of_one_day_opens_one_day(shop: Path) -> None:
    """The whole of history is built and abandoned; new logic from the last day on is approved: a plain promotion of the
    same version is refused for the days before, and moves nothing."""
    before, model = shown(shop), shop / "models" / "daily.sql"
    model.write_text(model.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    whole = backfill_here("apply", "--json", project=shop)
    assert whole.code == 0, whole
    assert backfill_here("abandon", whole.json["plan"]["id"], project=shop).code == 0
    forward = backfill_here("apply", "--json", "--forward-only", "2024-01-05", project=shop)
    assert forward.code == 0, forward
    plan = forward.json["plan"]["id"]
    assert backfill_here("approve", plan, user="ana", project=shop).code == 0
    refused = obstacles(backfill_here("promote", "--json", project=shop))
    assert "needs approval by ana@example.com" in refused and "2024-01-01" in refused
    assert shown(shop) == before
    assert backfill_here("promote", plan, project=shop).code == 0
    after = shown(shop)
    assert [r for r in after if r[0] < "2024-01-05"] == [r for r in before if r[0] < "2024-01-05"]
    assert {r[2] for r in after if r[0] == "2024-01-05"} == {r[2] + 1 for r in before if r[0] == "2024-01-05"}
