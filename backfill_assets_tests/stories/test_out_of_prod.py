"""What was taken out of prod comes back with another query: it is compared with what was shown last, and approved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets_tests.projects import backfill_here, newest_plan, release_id, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_after_nothing_was_shown(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """All models are out of sight: what changed is compared with what was shown last, and every text says so."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    assert backfill_here("apply", "--promote", project=root, user="ben").code == 0
    files = {file: file.read_text() for file in (root / "models").iterdir()}
    for file in files:
        file.unlink()
    assert backfill_here("rollback", "nothing", "--select", "daily,running", project=root, user="ben").code == 0
    for file, text in files.items():
        file.write_text(text.replace("sum(amount) AS total", "sum(amount) * 2 AS total"))
    out = f"shown before, until release {release_id(root, -1)} (taken out of {environment})"
    assert out in " ".join(backfill_here("plan", project=root, user="ben").out.split())

    said = backfill_here("apply", "--promote", project=root, user="ben")
    plan = newest_plan(root)
    assert said.code == 4 and "was not compared" not in said.out, said.err + said.out
    assert f"compared  daily  with what was shown until {release_id(root, -1)} took it out; 6 rows → 6" in said.out
    diff = backfill_here("diff", plan, project=root, user="ben").out
    assert f"daily  {environment} (until {release_id(root, -1)} took it out) → plan-{plan}" in diff
    assert "6 changed (100 % of those on both sides)" in diff
    assert backfill_here("evidence", plan, project=root, user="ben").code == 0
    [packet] = root.rglob(f"{plan}/packet.json")
    for model in json.loads(packet.read_text())["models"]:
        assert model["kind"] == "returned" and model["until"] == release_id(root, -1)

    yes = backfill_here("approve", plan, project=root, user="ana@example.com")
    assert yes.code == 0, yes.err
    done = backfill_here("promote", plan, project=root, user="ben")
    assert done.code == 0 and "Promoted 2 models" in done.out, done.out + done.err
