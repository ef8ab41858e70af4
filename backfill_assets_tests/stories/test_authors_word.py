"""An author knows better than the comparison of code: a word in the header keeps history, and the data checks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.diff import find_drift
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets_tests.projects import approve, backfill, build_all, expected_daily, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_true_word_and_a_false_one(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A filter that drops nothing counts as other rows, for all that code can tell. By the author's word nothing is
    built; with a column more, only that model is, and what reads it keeps its table. A word that is not true shows in
    the data, with the days."""
    root = small_project(tmp_path, days=4, batch_size=4, environment=environment)
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    running = place.control.environments.read(environment).pointers["running"]
    old, path = place.project.fingerprints["daily"], root / "models" / "daily.sql"
    first = path.read_text()

    def said(query: str) -> Context:
        """The project with this query, and a word about it."""
        path.write_text(query)
        plain = Context.open(root)
        assert [s.model for s in plan_request(plain).work] == ["daily", "running"]
        code = plain.project.fingerprints["daily"]
        word = f"same_as: {{version: '{old}', code: '{code}', reason: amounts are never NULL}}\nstart:"
        path.write_text(query.replace("start:", word, 1))
        return Context.open(root)

    filtered = first.replace("at < :end", "at < :end AND amount IS NOT NULL")
    kept = said(filtered)
    assert kept.project.fingerprints == place.project.fingerprints
    assert not plan_request(kept).stages
    told = backfill("plan", project=root)
    assert "declared equivalent (same_as)" in told.out
    assert "because: amounts are never NULL (models/daily.sql:2)" in told.out
    [override] = json.loads(backfill("plan", "--json", project=root).out)["overrides"]
    assert (override["version"], override["reaches"]) == (old, ["running"])

    more = filtered.replace("AS total", "AS total, max(amount) AS largest")
    false = said(more.replace("amount IS NOT NULL", "id <> 7"))
    plan = plan_request(false)
    build_all(false)
    broken, read = find_drift(false, plan, false.facts())
    assert str(broken.intervals) == str(read.intervals) == "2024-01-02", "where the event with that id is"
    assert "models/daily.sql:2 says that it is" in str(broken)
    assert read.kept.readers == ("running",), "which reads what is not the same"

    added = said(more)
    assert added.project.fingerprints["daily"] != false.project.fingerprints["daily"], "not the table of the mistake"
    plan = plan_request(added)
    assert str(plan.changes["daily"]) == "additive, non-breaking: adds largest"
    assert [s.model for s in plan.work] == ["daily"]
    build_all(added)
    assert find_drift(added, plan, added.facts()) == []
    approve(added)
    done = promote_plan(added)
    moved, verdict = done.environment, done.verdict
    assert verdict.open, verdict
    assert moved.pointers["running"] == running
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    assert sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows) == expected_daily(root)
    record = added.control.versions.get("daily", added.project.fingerprints["daily"])
    assert record and record.definition["same_as"], "what was said stays with what was built"
