"""Less than all of history would do (F1, E5): a plan says which days its consumers read, and what it offers gives them
the rows that a full rebuild gives, by a second computation and by a second project."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

import backfill_assets
from backfill_assets.demo.generate import generate
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests import reference
from backfill_assets_tests.campaign import REAL_TIMESTAMP, edit
from backfill_assets_tests.projects import Said, backfill_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, END = date(2025, 1, 1), date(2025, 3, 1)
READ = END - timedelta(days=28)
"""`budget_agent` reads 28 days of `roi_analysis`: the one consumer who reads anything of what changes."""
NEEDED = READ - timedelta(days=6)
"""`roi_analysis` looks back six days into `campaign_performance`."""
DAY = timedelta(days=1)


def released(root: Path) -> Path:
    """Two months of the demo in prod; nobody has to approve."""
    shutil.copytree(EMBEDDED_PROJECT / "models", root / "models", ignore=shutil.ignore_patterns("__pycache__"))
    for model in (root / "models").iterdir():
        model.write_text(model.read_text().replace("2024-01-01", FIRST.isoformat()))
    shutil.copy(EMBEDDED_PROJECT / "sources.yml", root)
    consumers = (EMBEDDED_PROJECT / "consumers.yml").read_text()
    assert consumers.count("min_rows: 12") == 1
    (root / "consumers.yml").write_text(consumers.replace("min_rows: 12", "min_rows: 2"))
    settings: dict[str, Any] = {"name": "campaigns", "clock": f"{END}T06:00:00+00:00", "approvals": {"required": False}}
    settings["cost"] = {"currency": "USD", "per_core_hour": 1000, "cores": 2}
    (root / "backfill.yml").write_text(json.dumps(settings))
    generate(root / ".backfill" / "data", events=15_000, days=(END - FIRST).days, start=FIRST)
    run(root, "apply", "--promote")
    return root


def run(root: Path, *arguments: str, code: int = 0) -> Said:
    said = backfill_here(*arguments, project=root)
    assert said.code == code, said
    return said


def rows(root: Path, model: str, first: date = FIRST, end: date = END) -> list[dict[str, Any]]:
    table = backfill_assets.read(model, project=root).sort_by([("ds", "ascending"), ("campaign_id", "ascending")])
    return [row for row in table.to_pylist() if first <= row["ds"] < end]


def costs(data: Path) -> dict[tuple[date, int], Decimal | None]:
    """By DuckDB, from the deliveries: spend per conversion of the day on which it happened."""
    made = reference.cost_by_conversion_day(data, FIRST, END).to_pylist()
    return {(row["ds"], row["campaign_id"]): row["cost_per_acquisition"] for row in made}


def mean(values: Iterable[Decimal | None]) -> float | None:
    known = [float(v) for v in values if v is not None]
    return fmean(known) if known else None


def test_what_is_offered_serves_all_who_read(spark: SparkSession, tmp_path: Path) -> None:
    """The window is the one counted by hand. Its rows are those of a second computation, and of a project that builds
    all; what is older stays as it was, and everybody is told since when which logic it is."""
    root = released(tmp_path / "some")
    whole = shutil.copytree(root, tmp_path / "all")  # the same until it builds all
    before = rows(root, "campaign_performance"), rows(root, "roi_analysis")
    for project in (root, whole):
        edit(project, REAL_TIMESTAMP)

    plan = run(root, "plan", "--json").json
    offered = plan["smallest"]
    assert offered["command"] == f"backfill apply --forward-only {NEEDED}"
    assert [r["consumer"] for r in offered["readers"]] == ["budget_agent"]
    assert {name: need[0][:10] for name, need in offered["needs"].items()} == {
        "campaign_performance": f"{NEEDED}",
        "roi_analysis": f"{READ}",
    }
    assert plan["estimate"]["smallest"]["total"]["cost"]["likely"] < plan["estimate"]["total"]["cost"]["likely"]
    text = " ".join(run(root, "plan").out.split())
    assert "budget_agent reads 28 days of roi_analysis" in text and offered["command"] in text
    assert f"Instead: `{offered['command']}`" in run(root, "plan", "--markdown").out

    made = run(root, *offered["command"].split()[1:], "--json").json["plan"]
    said = " ".join(run(root, *offered["command"].replace("apply", "plan").split()[1:]).out.split())
    assert "Less history would do" not in said
    run(root, "promote", made["id"])
    run(whole, "apply", "--promote")

    for model in ("campaign_performance", "roi_analysis"):
        first = NEEDED if model == "campaign_performance" else READ
        assert rows(root, model, first) == rows(whole, model, first)
    assert (rows(root, "campaign_performance", FIRST, NEEDED), rows(root, "roi_analysis", FIRST, NEEDED)) == tuple(
        [row for row in old if row["ds"] < NEEDED] for old in before
    )
    expected = costs(root / ".backfill" / "data")
    read = rows(root, "roi_analysis", READ)
    assert read and {row["ds"] for row in read} == {READ + n * DAY for n in range(28)}
    for row in read:
        cost = expected[row["ds"], row["campaign_id"]]
        week = mean(expected.get((row["ds"] - n * DAY, row["campaign_id"])) for n in range(7))
        index = float(cost) / week if cost is not None and week else None
        assert row["cost_per_acquisition"] == cost
        assert row["acquisition_cost_index"] == (index if index is None else pytest.approx(index, rel=1e-6)), row
    assert [r["cost_per_acquisition"] for r in read] != [
        r["cost_per_acquisition"] for r in before[1] if r["ds"] >= READ
    ], "the change changes nothing: the test shows nothing"

    note = (root / ".backfill" / "warehouse" / "evidence" / made["id"] / "release_note.md").read_text()
    assert "**This release covers a part of history only.**" in note
    assert "Only a part of the history of campaign_performance is new: 34 days" in note
