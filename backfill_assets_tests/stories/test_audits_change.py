"""Audits that change are run again before promotion; what differs from prod is told by group (D1, D2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.stages import AuditStage
from backfill_assets_tests.projects import build_all, days, expected_daily, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_changed_query_is_asked_again_before_promotion(spark: SparkSession, tmp_path: Path) -> None:
    """Another text in audits/*.sql: nothing is built, all days are audited; a day that fails now holds them back."""
    root = small_project(tmp_path, days=4, batch_size=4)
    model, query = root / "models" / "daily.sql", root / "audits" / "no_cheap_day.sql"
    model.write_text(model.read_text().replace("audits:\n", "audits:\n  - sql: no_cheap_day\n"))
    query.parent.mkdir()
    query.write_text("SELECT * FROM daily WHERE total < 0")
    first = Context.open(root)
    assert all(outcome.ok for outcome in build_all(first).values())
    version = first.project.fingerprints["daily"]
    head = first.log.head("daily", version)

    query.write_text("SELECT ds, kind, total FROM daily WHERE total < 35 AND ds >= :start AND ds < :end")
    again = Context.open(root)
    assert again.project.fingerprints["daily"] == version
    plan = plan_request(again)
    (stage,) = plan.work
    assert isinstance(stage, AuditStage) and stage.intervals == Ranges((days("2024-01-01", "2024-01-04"),))
    verdict = promote_plan(again).verdict
    assert [o.what for o in verdict.obstacles if o.model == "daily"] == ["4 days lack audits:"]

    outcome = build_all(again)["daily"]
    assert not outcome.built and again.log.head("daily", version) == head
    assert outcome.red == Ranges((days("2024-01-01"),))
    cheap = [(ds, kind, cents) for ds, kind, _, cents in expected_daily(root) if cents < 3500]
    (failed,) = [r for r in outcome.results if not r.passed]
    assert (failed.check, failed.failures) == ("no_cheap_day", len(cheap)) == ("no_cheap_day", 2)
    assert failed.sample == tuple(f'{{"ds":"{ds}","kind":"{k}","total":{c / 100:.2f}}}' for ds, k, c in cheap)
    verdict = promote_plan(again).verdict
    assert not verdict.open and not again.control.environments.read("prod").pointers

    query.write_text("SELECT ds FROM daily WHERE total < 30")
    last = Context.open(root)
    mended = build_all(last)
    assert mended["daily"].built == Ranges((days("2024-01-01"),)) and all(o.ok for o in mended.values())
    verdict = promote_plan(last).verdict
    assert verdict.open


def test_a_release_that_differs_from_prod_says_where(spark: SparkSession, tmp_path: Path) -> None:
    """`reconcile` with prod passes while there is none; then it names the groups that moved, and holds them back."""
    root = small_project(tmp_path, days=3, batch_size=3)
    model = root / "models" / "daily.sql"
    audit = "audits:\n  - reconcile: {metric: sum(total), of: prod, by: [kind], within_percent: 1}\n"
    model.write_text(model.read_text().replace("audits:\n", audit))
    first = Context.open(root)
    outcome = build_all(first)["daily"]
    assert outcome.ok
    said = {r.observed for r in outcome.results if r.check == "reconcile_prod"}
    assert said == {"nothing in prod to compare with"}
    assert promote_plan(first).verdict.open

    model.write_text(model.read_text().replace("sum(amount) AS", "sum(amount) * if(kind = 'b', 2, 1) AS"))
    second = Context.open(root)
    outcome = build_all(second)["daily"]
    assert outcome.red == Ranges((days("2024-01-01", "2024-01-03"),))
    totals = {(ds, kind): cents / 100 for ds, kind, _, cents in expected_daily(root)}
    found = {f"{r.interval}": r.sample for r in outcome.results if not r.passed}
    assert found == {
        ds: (f"kind=b, {2 * total:.2f} here, {total:.2f} in prod",)
        for (ds, kind), total in totals.items()
        if kind == "b"
    }
    assert not promote_plan(second).verdict.open
