"""An audit is added, and refuses a day that others were computed from: they do not count either, nor are they shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build import audit
from backfill_assets.build.built_from import refused_readers
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stages import AuditStage, Build, Plan, Request
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.projects import days, small_project
from backfill_assets_tests.unsparked import build, unsparked

OPEN = Request(ignore_cron=True)
WEEK = days("2024-01-08", "2024-01-14")
TOTAL = """/*
start: 2024-01-01
owner: ana@example.com
grain: [ds]
*/
SELECT ds, total FROM running WHERE ds >= :start AND ds < :end
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`daily` ← `running` (that day and the one before) ← `total`: four days of them are built and green."""
    root = small_project(tmp_path, days=4, batch_size=4)
    (root / "models" / "total.sql").write_text(TOTAL)
    build(unsparked(root))
    return root


def refuse(root: Path, day: str = "2024-01-02") -> Plan:
    """An audit comes, and a day of `daily` fails it. The plan that found it."""
    model = root / "models" / "daily.sql"
    model.write_text(model.read_text().replace("audits:\n", "audits:\n  - unique: [ds, kind]\n"))
    plan, done = build(unsparked(root, red={utc(day)}))
    assert isinstance(plan.work[0], AuditStage) and str(done["daily"].red) == day
    return plan


def mend(root: Path, day: str = "2024-01-02") -> None:
    """The source's rows of that day are others."""
    file = root / "data" / "events" / f"{day}.csv"
    file.write_text(file.read_text() + file.read_text().splitlines()[-1] + "\n")


def test_what_read_it_is_computed_again(root: Path) -> None:
    """Through all that read it, each with its window."""
    assert [s.model for s in refuse(root).work] == ["daily"]
    mend(root)
    plan = plan_request(unsparked(root))
    again = {s.model: (str(s.intervals), s.reason) for s in plan.work if isinstance(s, Build)}
    reason = "was built and does not count: read daily 2024-01-02 before unique_ds_kind failed on it"
    assert again["daily"] == ("2024-01-02", "was built and does not count: unique_ds_kind failed")
    assert again["running"] == again["total"] == ("2024-01-02..2024-01-03", reason)
    _, done = build(unsparked(root))
    assert {name: str(outcome.built) for name, outcome in done.items()} == {n: days for n, (days, _) in again.items()}
    assert promote_plan(unsparked(root)).verdict.open


def test_an_open_interval_that_read_it_is_computed_again(tmp_path: Path) -> None:
    """A week that was built as far as it got."""
    root = small_project(tmp_path, days=10, batch_size=10)
    (root / "models" / "total.sql").write_text(
        TOTAL.replace("start:", "cadence: weekly\nstart:").replace("running", "daily")
    )
    build(unsparked(root), OPEN)
    refuse(root, "2024-01-09")
    mend(root, "2024-01-09")
    assert {s.model: str(s.intervals) for s in plan_request(unsparked(root), OPEN).work}["total"] == str(WEEK)
    build(unsparked(root))  # the days, without the week
    verdict = promote_plan(unsparked(root), OPEN).verdict
    assert not verdict.open and [str(o.intervals) for o in verdict.obstacles if o.model == "total"] == [str(WEEK)]
    build(unsparked(root), OPEN)
    assert promote_plan(unsparked(root), OPEN).verdict.open


def test_other_code_is_left_to_the_gate(root: Path) -> None:
    """By which days a version of other code reads is not what the loaded one says."""
    total = root / "models" / "total.sql"
    daily = unsparked(root).project.fingerprints["total"]
    total.write_text(TOTAL.replace("start:", "lookback: 1\nstart:"))
    refuse(root)
    said = [e for e in unsparked(root).control.ledger.entries(["total"]) if e.kind is Kind.INVALIDATED]
    assert not [e for e in said if e.version == daily]
    total.write_text(TOTAL)
    mend(root)
    build(unsparked(root))
    assert not promote_plan(unsparked(root)).verdict.open


def test_only_what_read_that_batch(root: Path) -> None:
    """A batch that read the day as it was before, or is since, says nothing of this one."""
    place = unsparked(root)
    daily = place.project.fingerprints["daily"]
    said = place.control.ledger.entries(["daily"], kinds=[Kind.BUILT])
    parts = [(days("2024-01-02"), replace(said[0], table_commit=said[0].table_commit + 9))]
    arguments = {"run": "r", "why": "it failed"}
    assert refused_readers(place.control, place.project, ("daily", daily), parts, **arguments) == []
    found = refused_readers(
        place.control, place.project, ("daily", daily), [(days("2024-01-02"), said[0])], **arguments
    )
    assert [(e.model, str(e.interval)) for e in found] == [
        ("running", "2024-01-02..2024-01-03"),
        ("total", "2024-01-02..2024-01-03"),
    ]


def test_what_is_shown_stays_and_so_does_what_read_that(root: Path) -> None:
    """A published day is refused: no plan computes anything again, nor what a candidate read of it."""
    assert promote_plan(unsparked(root)).verdict.open
    total = root / "models" / "total.sql"
    total.write_text(TOTAL.replace("ds, total", "ds, total + 1 AS total"))
    running = root / "models" / "running.sql"
    running.write_text(running.read_text().replace("sum(now.total)", "1 + sum(now.total)"))
    build(unsparked(root))
    refuse(root)
    assert not plan_request(unsparked(root)).work


def test_what_read_other_rows_is_not_promoted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was recorded after that audit had looked: the gate sees that it read other rows."""
    monkeypatch.setattr(audit, "refused_readers", lambda *_, **__: [])
    refuse(root)
    mend(root)
    _, done = build(unsparked(root))
    assert list(done) == ["daily"]
    verdict = promote_plan(unsparked(root)).verdict
    assert [(o.model, str(o.intervals)) for o in verdict.obstacles] == [("running", "2024-01-02..2024-01-03")]
