"""A column more, other values in one column, and back: what is rebuilt, kept and shown (A1, A5, A6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.adapters.workspace import Workspace
from backfill_assets_tests.projects import backfill_here, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows(project: Path, model: str) -> list[dict[str, Any]]:
    found = backfill_assets.read(model, project=project).to_pylist()
    return sorted(found, key=lambda row: tuple(str(v) for v in row.values()))


def test_a_column_more_another_value_and_back(spark: SparkSession, tmp_path: Path) -> None:
    """`running` reads `total` of `daily`: it is kept when a column is added, rebuilt when `total` changes, and both are
    there at once when the code goes back."""
    project = small_project(tmp_path, days=4, batch_size=4)
    daily = project / "models" / "daily.sql"

    def go() -> tuple[dict[str, str], list[str]]:
        """Apply and promote; the categories that the plan said, and the models that were built."""
        done = backfill_here("apply", "--json", project=project)
        assert done.code == 0, done.err
        moved = backfill_here("promote", project=project)
        assert moved.code == 0, moved.out
        said = {name: change["category"] for name, change in done.json["plan"]["changes"].items()}
        return said, [s["model"] for s in done.json["plan"]["stages"] if s["stage"] == "build"]

    def shown() -> dict[str, str]:
        return {n: p.version for n, p in Workspace.open(project).control.environments.read("prod").pointers.items()}

    original = daily.read_text()
    assert go() == ({"daily": "new", "running": "new"}, ["daily", "running"])
    first, first_versions = {m: rows(project, m) for m in ("daily", "running")}, shown()

    daily.write_text(original.replace("sum(amount) AS total", "sum(amount) AS total, max(amount) AS largest"))
    assert go() == ({"daily": "additive", "running": "unchanged"}, ["daily"])
    assert [{k: v for k, v in row.items() if k != "largest"} for row in rows(project, "daily")] == first["daily"]
    assert all(row["largest"] is not None for row in rows(project, "daily"))
    assert rows(project, "running") == first["running"]
    assert shown()["running"] == first_versions["running"], "the same table, not a copy"

    daily.write_text(original.replace("sum(amount) AS total", "CAST(sum(2 * amount) AS DECIMAL(20, 2)) AS total"))
    said, built = go()
    assert said == {"daily": "breaking", "running": "breaking"} and built == ["daily", "running"]
    assert [row["total"] for row in rows(project, "running")] == [2 * row["total"] for row in first["running"]]

    daily.write_text(original)
    said, built = go()
    assert said == {"daily": "breaking", "running": "breaking"} and built == []
    assert shown() == first_versions
    assert {m: rows(project, m) for m in ("daily", "running")} == first
