"""An audit is added, and refuses a day that others were computed from: they do not count either, nor are they shown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build import audit
from backfill_assets.plan.stages import Audit, Build
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, unsparked

REFUSED = datetime(2024, 1, 2, tzinfo=UTC)
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


def refuse(root: Path) -> None:
    """An audit comes, and a day of `daily` fails it."""
    model = root / "models" / "daily.sql"
    model.write_text(model.read_text().replace("audits:\n", "audits:\n  - unique: [ds, kind]\n"))
    plan, done = build(unsparked(root, red={REFUSED}))
    assert [(type(s), s.model) for s in plan.work] == [(Audit, "daily")] and str(done["daily"].red) == "2024-01-02"


def mend(root: Path) -> None:
    """The source's rows of that day are others."""
    file = root / "data" / "events" / "2024-01-02.csv"
    file.write_text(file.read_text().replace("10.00", "9.00"))


def test_what_read_it_is_computed_again(root: Path) -> None:
    """Through all that read it, each with its window."""
    refuse(root)
    mend(root)
    plan = plan_request(unsparked(root))
    again = {s.model: (str(s.intervals), s.reason) for s in plan.work if isinstance(s, Build)}
    reason = "was built and does not count: read daily 2024-01-02 before unique_ds_kind failed on it"
    assert again["daily"] == ("2024-01-02", "was built and does not count: unique_ds_kind failed")
    assert again["running"] == again["total"] == ("2024-01-02..2024-01-03", reason)
    _, done = build(unsparked(root))
    assert {name: str(outcome.built) for name, outcome in done.items()} == {n: days for n, (days, _) in again.items()}
    assert promote_plan(unsparked(root)).verdict.open


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
