"""What the next promotion will refuse beside approvals is said to whoever approves, not to whoever promotes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backfill_assets.app.apply import start_apply
from backfill_assets.app.approve import ApprovalRequest, Approved, approve
from backfill_assets.app.promote import promote_plan
from backfill_assets.cli.approve import print_approved
from backfill_assets.cli.plan_text import print_ahead, print_warnings
from backfill_assets.plan.stages import Request
from backfill_assets.state.proofs import Finding
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, prove, unsparked

OWNED = "owner: ana@example.com\n"


def approved(root: Path, *findings: Finding, owner: str, **said: Any) -> tuple[Approved, bool]:
    """A change of `daily`, of which a comparison found this, that somebody else than its author approves; whether it is
    promoted then."""
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace(OWNED, owner))
    place = unsparked(root, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    place = unsparked(root, user="dev")
    build(place)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan, *findings)
    done = approve(unsparked(root, user="ana@example.com"), ApprovalRequest(plan=plan, **said))
    return done, promote_plan(place, plan=plan).verdict.open


def test_a_model_that_nobody_owns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Approved by somebody, and the gate stays shut: with what to do, before the command that would be refused."""
    done, promoted = approved(small_project(tmp_path, days=2), owner="")
    assert not promoted and [g.what for g in done.gaps] == ["nobody owns it"]
    print_approved(done)
    said = " ".join(capsys.readouterr().out.split())
    assert "Still in the way: daily: nobody owns it; add `owner:" in said
    assert "Then: backfill promote" in said and "Next:" not in said


def test_it_is_said_before_anything_is_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By whoever applies: what preflight misses, and what is odd about the models."""
    root = small_project(tmp_path, days=2)
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace(OWNED, "").replace("at < :end", "at <= :end"))
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace("format: csv", "format: csv\n    time_column: at"))
    build(unsparked(root, user="dev"))
    assert promote_plan(unsparked(root, user="dev")).verdict.open
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    started = start_apply(unsparked(root, user="dev"), Request())
    assert [gap.what for gap in started.gaps] == ["nobody owns it"]
    print_ahead(started.ahead, started.gaps)
    print_warnings(started.whole.warnings)
    said = " ".join(capsys.readouterr().out.split())
    assert "This can be built, but not be shown then: daily: nobody owns it fix: add `owner:" in said
    assert "the query reads what raw.events has at `:end` itself" in said


def test_nothing_else_is_in_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the next step is the promotion."""
    done, promoted = approved(small_project(tmp_path, days=2), owner=OWNED)
    assert promoted and not done.gaps
    print_approved(done)
    said = " ".join(capsys.readouterr().out.split())
    assert "Next: backfill promote" in said and "in the way" not in said


def test_a_finding_that_was_not_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told with its option at once, not when somebody promotes; not where the approval accepts it."""
    found = Finding(name="dash.q", model="daily", text="fewer rows")
    done, promoted = approved(small_project(tmp_path / "one", days=2), found, owner=OWNED)
    assert not promoted and done.unaccepted == ("dash.q",)
    print_approved(done)
    said = " ".join(capsys.readouterr().out.split())
    assert "Still in the way: dash.q was found and is not accepted; who" in said and '--accept dash.q="why"' in said
    done, promoted = approved(small_project(tmp_path / "two", days=2), found, owner=OWNED, accepted={"dash.q": "meant"})
    assert promoted and done.unaccepted == ()


def test_another_owner_is_asked_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who is missing is said to whoever approves, before the command that would be refused."""
    owners = f"{OWNED}contract:\n  validation_owner: fin@example.com\n"
    done, promoted = approved(small_project(tmp_path, days=2), owner=owners)
    assert not promoted and done.missing == ("fin@example.com (validation owner) of daily",)
    print_approved(done)
    said = " ".join(capsys.readouterr().out.split())
    assert "Still in the way: needs approval by fin@example.com (validation owner) of daily Then: backfill" in said
