"""The campaign story on the demo's own models (A1, A3, A5 to A8): three columns more, then another meaning for one.

A time zone is wrong at first. Each release is compared with a second computation in DuckDB.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.demo.generate import generate
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests import reference
from backfill_assets_tests.campaign import LOCAL_TIMESTAMP, MORE_COLUMNS, REAL_TIMESTAMP, edit
from backfill_assets_tests.projects import Said, backfill_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, END = date(2025, 1, 1), date(2025, 3, 1)
DAYS = (END - FIRST).days
PEOPLE = {
    "marketing-analytics@example.com": {"accounts": ["maria"]},
    "growth@example.com": {"accounts": ["gus"]},
    "finance@example.com": {"accounts": ["fay"]},
}
"""fay validates `roi_analysis`."""
PERFORMANCE = "campaign_performance"


@pytest.fixture(scope="module")
def demo(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two months of the demo in prod, with its owners' approvals required."""
    root = tmp_path_factory.mktemp("campaign")
    shutil.copytree(EMBEDDED_PROJECT / "models", root / "models", ignore=shutil.ignore_patterns("__pycache__"))
    for model in (root / "models").iterdir():
        model.write_text(model.read_text().replace("2024-01-01", FIRST.isoformat()))
    shutil.copy(EMBEDDED_PROJECT / "sources.yml", root)
    consumers = (EMBEDDED_PROJECT / "consumers.yml").read_text()
    assert consumers.count("min_rows: 12") == 1
    (root / "consumers.yml").write_text(consumers.replace("min_rows: 12", "min_rows: 2"))
    settings = {"name": "campaigns", "clock": f"{END}T06:00:00+00:00", "people": PEOPLE}
    cost = {"currency": "USD", "per_core_hour": 1000, "cores": 2}
    (root / "backfill.yml").write_text(json.dumps(settings | {"cost": cost}))
    generate(root / ".backfill" / "data", events=60_000, days=DAYS, start=FIRST)
    assert run(root, "apply", "--promote").code == 0
    return root


def run(root: Path, *arguments: str, user: str = "dev", code: int = 0) -> Said:
    """A command of dev's, who owns nothing here."""
    said = backfill_here(*arguments, project=root, user=user)
    assert said.code == code, said
    return said


def shown(root: Path, model: str = PERFORMANCE) -> pa.Table:
    return backfill_assets.read(model, project=root).sort_by([("ds", "ascending"), ("campaign_id", "ascending")])


def pointers(root: Path) -> dict[str, str]:
    return {n: p.version for n, p in Context.open(root).control.environments.read("prod").pointers.items()}


def category(plan: dict[str, Any], model: str) -> str:
    return str(plan["changes"][model]["category"])


def sums(table: pa.Table) -> dict[str, Decimal]:
    """Cost per acquisition, summed by day: what a diff draws."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for row in table.to_pylist():
        found[f"{row['ds']}"] += row["cost_per_acquisition"] or 0
    return found


def told(root: Path, plan: str) -> tuple[str, dict[str, dict[str, str]]]:
    """The migration note of a plan as one line of text, and its tables: model → column → what it says of it."""
    run(root, "runbook", plan, "--out", str(root / plan))
    lines = (root / plan / "migration_note.md").read_text().replace("\\", "").splitlines()
    said: dict[str, dict[str, str]] = defaultdict(dict)
    model = ""
    for line in lines:
        if line.startswith("prod."):
            model = line.removeprefix("prod.").partition(":")[0]
        elif line.startswith("| ") and not line.startswith("| column"):
            column, what, *_ = (cell.strip() for cell in line.strip("|").split("|"))
            said[model][column] = what
    return " ".join(lines), dict(said)


def spread(rows: pa.Table) -> str:
    """On how many days there are rows, the first and the last one, as a note says them."""
    days = sorted(set(rows.column("ds").to_pylist()))
    return f"{len(days)} days, from {days[0]:%-d %B} to {days[-1]:%-d %B %Y}"


def other_values(old: pa.Table, new: pa.Table) -> dict[str, str]:
    """The columns in which two tables of the same keys are not the same, row by row."""
    assert old.column_names == new.column_names and old.num_rows == new.num_rows
    return {c: "other values" for c in old.column_names if not old.column(c).equals(new.column(c))}


def test_three_columns_more(demo: Path) -> None:
    """Additive, non-breaking: one model is built, its readers keep their tables, and the owner approves."""
    data, before, rows = demo / ".backfill" / "data", pointers(demo), shown(demo)
    edit(demo, MORE_COLUMNS)

    plan = run(demo, "plan", "--json").json
    assert [s["model"] for s in plan["stages"] if s["stage"] == "build"] == [PERFORMANCE]
    assert plan["stages"][0]["count"] == DAYS
    text = " ".join(run(demo, "plan").out.split())
    added = "conversion_value, assisted_conversions, view_through_conversions"
    assert f"additive, non-breaking: adds {added}" in text
    assert text.count(f"reads none of what changed in campaign_performance ({added})") == 2
    assert f"Rebuilding everything ({DAYS} days of campaign_performance, 2 months of" in text and "USD" in text

    run(demo, "apply")
    assert pointers(demo) == before, "nothing moves before somebody says so"
    refused = run(demo, "promote", plan["id"], "--json", code=4).json
    assert {o["model"] for o in refused["in_the_way"]} == {PERFORMANCE}
    run(demo, "approve", plan["id"], user="maria")
    run(demo, "promote", plan["id"])

    after = pointers(demo)
    assert {name for name in after if after[name] != before[name]} == {PERFORMANCE}
    new = shown(demo)
    assert new.select(rows.column_names).equals(rows)
    expected = reference.with_more_columns(data, FIRST, END)
    assert new.num_rows == expected.num_rows > 0
    for name in added.split(", "):
        assert new.column(name).to_pylist() == expected.column(name).to_pylist(), name
    note, columns = told(demo, plan["id"])
    assert columns == {PERFORMANCE: {c: "new" for c in new.column_names if c not in rows.column_names}}
    assert f"{PERFORMANCE}: all of it, {spread(new)}" in note, note


def test_cost_per_acquisition_by_the_conversion(demo: Path) -> None:
    """Breaking for what reads it, and only for that. A wall clock that is read as UTC is seen in the diff and named in
    the packet; the plan is abandoned, mended, approved by both owners and by who validates, and moves both at once."""
    data, before, rows = demo / ".backfill" / "data", pointers(demo), shown(demo)
    read = shown(demo, "roi_analysis")
    model = demo / "models" / f"{PERFORMANCE}.sql"
    committed = model.read_text()

    edit(demo, LOCAL_TIMESTAMP)
    wrong = run(demo, "plan", "--json").json
    assert [category(wrong, n) for n in (PERFORMANCE, "roi_analysis", "campaign_trends_monthly")] == [
        "breaking",
        "breaking",
        "unchanged",
    ]
    assert wrong["changes"][PERFORMANCE]["columns"] == ["cost_per_acquisition"]
    run(demo, "apply", "--why", "cost on the day of the conversion")
    diff = run(demo, "diff", "--json").json
    [drawn] = [s for s in diff["series"] if (s["model"], s["column"]) == (PERFORMANCE, "cost_per_acquisition")]
    bad = sums(reference.cost_by_conversion_day(data, FIRST, END, local=True))
    assert drawn["between_days"]
    assert [Decimal(str(v)) for v in drawn["old"]] == [sums(rows)[day] for day in drawn["days"]]
    assert [Decimal(str(v)) for v in drawn["new"]] == [bad[day] for day in drawn["days"]]
    reads = "cost_per_acquisition now reads raw.conversions.converted_at_local"
    clock = "The same instant on the customer's wall clock, without a zone"
    text = " ".join(run(demo, "diff").out.split())
    assert reads in text and clock in text and "a time zone?" in text
    run(demo, "evidence", wrong["id"])
    packet = demo / ".backfill" / "warehouse" / "evidence" / wrong["id"] / "packet.html"
    assert "converted_at_local" in packet.read_text() and "wall clock, without a zone" in packet.read_text()
    run(demo, "abandon", wrong["id"])
    assert pointers(demo) == before and shown(demo).equals(rows), "prod never knew"

    model.write_text(committed)
    edit(demo, REAL_TIMESTAMP)
    right = run(demo, "plan", "--json").json
    run(demo, "apply")
    run(demo, "approve", right["id"], user="maria")
    waiting = run(demo, "promote", right["id"], "--json", code=4).json
    assert {o["model"] for o in waiting["in_the_way"]} == {"roi_analysis"}
    run(demo, "approve", right["id"], user="gus")
    [signs] = run(demo, "promote", right["id"], "--json", code=4).json["in_the_way"]
    assert "needs approval by finance@example.com (validation owner)" in signs["what"]
    run(demo, "approve", right["id"], user="fay")
    run(demo, "promote", right["id"])
    after = pointers(demo)
    assert {name for name in after if after[name] != before[name]} == {PERFORMANCE, "roi_analysis"}
    expected = reference.cost_by_conversion_day(data, FIRST, END).column("cost_per_acquisition").to_pylist()
    assert shown(demo).column("cost_per_acquisition").to_pylist() == expected
    assert shown(demo, "roi_analysis").column("cost_per_acquisition").to_pylist() == expected
    assert expected != rows.column("cost_per_acquisition").to_pylist()
    note, columns = told(demo, right["id"])
    moved = {PERFORMANCE: (rows, shown(demo)), "roi_analysis": (read, shown(demo, "roi_analysis"))}
    assert columns == {name: other_values(*sides) for name, sides in moved.items()}
    for name, (_, new) in moved.items():
        assert f"{name}: all of it, {spread(new)}" in note, note
    run(demo, "verify", right["id"])


def test_back_to_the_code_of_before(demo: Path) -> None:
    """A revert is called one and builds nothing: both tables of before are shown again, after the owners approved."""
    model = demo / "models" / f"{PERFORMANCE}.sql"
    text, after = model.read_text(), pointers(demo)
    for old, new in REAL_TIMESTAMP:
        text = text.replace(new, old)
    model.write_text(text)

    plan = run(demo, "plan", "--json").json
    assert not [s for s in plan["stages"] if s["stage"] == "build"]
    assert set(plan["reverts"]) == {PERFORMANCE, "roi_analysis"}
    run(demo, "apply")
    for user in ("maria", "gus", "fay"):
        run(demo, "approve", plan["id"], user=user)
    run(demo, "promote", plan["id"])
    now = pointers(demo)
    assert {name for name in now if now[name] != after[name]} == {PERFORMANCE, "roi_analysis"}
    expected = reference.with_more_columns(demo / ".backfill" / "data", FIRST, END).column("cost_per_acquisition")
    for name in (PERFORMANCE, "roi_analysis"):
        assert shown(demo, name).column("cost_per_acquisition").to_pylist() == expected.to_pylist()
