"""A text that the comparison of code calls unchanged is tried on data: what it gets wrong never reaches prod."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.app.check_texts import check_texts
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets_tests.projects import backfill_here, build_all, built_daily, expected_daily, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_rewrite_is_compared_and_a_wrong_one_is_found(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """An equal rewrite is compared on five days by `apply`, which builds nothing else, and once only. A rewrite that
    the comparison of code got wrong (here: its fingerprint is forced) is found, with the days."""
    root = small_project(tmp_path, days=8, batch_size=8, environment=environment)
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    path, rows = root / "models" / "daily.sql", built_daily(place)
    first = path.read_text()

    path.write_text(first.replace("at >= :start AND at < :end", "at < :end AND at >= :start"))
    said = backfill_here("plan", project=root)
    assert "daily counts as unchanged" in said.out and "5 intervals" in said.out, said
    said = backfill_here("apply", project=root)
    assert (said.code, "compared  daily: 5 intervals" in said.out) == (0, True), said
    assert "counts as unchanged" not in backfill_here("plan", project=root).out
    assert built_daily(Context.open(root)) == rows == expected_daily(root), "the table is not written to"

    path.write_text(first.replace("count(*) AS n", "count(*) + CAST(kind = 'b' AS INT) AS n"))
    wrong = Context.open(root)
    assert wrong.project.fingerprints["daily"] != place.project.fingerprints["daily"]
    wrong.project = replace(wrong.project, fingerprints=place.project.fingerprints, signatures=place.project.signatures)
    plan = plan_request(wrong)
    assert not plan.work
    [check] = check_texts(wrong, plan)
    assert check.differ == check.intervals, "every day has rows of the kind b"
