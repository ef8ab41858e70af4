"""Old and new side by side before a promotion; then the plan is abandoned, and prod never knew (A7, A8, A9)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.core.errors import StateError
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def shown(project: Path, environment: str = "prod") -> list[dict[str, Any]]:
    """The rows that an environment shows of `daily`, read without Spark."""
    rows = backfill_assets.read("daily", environment=environment, project=project).to_pylist()
    return sorted(rows, key=lambda row: (row["ds"], row["kind"]))


def test_a_plan_is_looked_at_and_abandoned(spark: SparkSession, tmp_path: Path) -> None:
    """Build, query both, abandon: only the record is left. Another person's plan is told of it at once meanwhile."""
    project = small_project(tmp_path, days=3, batch_size=3)
    first = backfill("apply", "--promote", project=project)
    assert first.code == 0, first
    assert [p["status"] for p in backfill("plans", "--json", project=project).json] == ["promoted"]
    before = shown(project)

    daily = project / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount) AS total", "sum(2 * amount) AS total"))
    planned = backfill("plan", "--json", project=project).json
    applied = backfill("apply", "--json", project=project)
    assert applied.code == 0, applied.err
    assert applied.json["plan"]["id"] == planned["id"]
    candidate = applied.json["candidate"]
    assert candidate == f"plan-{planned['id']}"

    asked = backfill(
        "sql",
        "--json",
        "--environment",
        candidate,
        f"SELECT old.total AS old, new.total AS new, r.total AS running FROM prod.daily AS old "
        f"JOIN `{candidate}`.daily AS new USING (ds, kind) JOIN {candidate}.running AS r USING (ds)",
        project=project,
    )
    assert asked.code == 0, asked.err
    both = asked.json
    assert len(both) == len(before)
    assert all(float(row["new"]) == 2 * float(row["old"]) <= float(row["running"]) for row in both)

    daily.write_text(daily.read_text().replace("sum(2 * amount)", "sum(3 * amount)"))
    told = backfill("plan", project=project, user="bob")
    assert told.code == 0 and f"plan {planned['id']} (by " in told.out and "also changes daily, running" in told.out
    refused = backfill("apply", project=project, user="bob")
    assert refused.code == 1, refused
    assert (
        f"fix: wait until it is promoted and plan again, or end it with `backfill abandon {planned['id']}`"
        in refused.err
    )

    unknown = backfill("abandon", "zzzz", project=project)
    assert unknown.code == 1 and "no plan zzzz" in unknown.err and planned["id"] in unknown.err
    done = backfill("abandon", planned["id"], project=project)
    assert done.code == 0, done.err
    assert "prod was not touched" in done.out and "The janitor will free" in done.out
    again = backfill("abandon", "--json", planned["id"], project=project)
    assert again.code == 0 and again.json["already"] and again.json["status"] == "abandoned"
    freed = {(f["model"], f["version"]) for f in again.json["freed"]}
    built = {s["model"]: s["version"] for s in planned["stages"] if s["stage"] == "build"}
    assert freed == set(built.items()) and all(f["bytes"] > 0 and Path(f["path"]).is_dir() for f in again.json["freed"])

    assert shown(project) == before
    with pytest.raises(StateError, match=f"{candidate} does not show daily"):
        shown(project, candidate)
    assert [p["status"] for p in backfill("plans", "--json", project=project).json] == ["promoted", "abandoned"]
