"""An owner who approves rows is told of the audits that only warn of them, and so is whoever lets them go up."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.promote import promote_plan
from backfill_assets.cli.approve import print_approved
from backfill_assets.core.intervals import utc
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, prove, unsparked

SOFT = "audits:\n  - range: {column: n, max: 10, severity: warn}\n"
RED = {utc("2024-01-03"), utc("2024-01-05")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = small_project(tmp_path, days=5)
    (project / "models" / "running.sql").unlink()  # whose first audit blocks
    daily = project / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("audits:\n", SOFT))
    return project


def test_what_is_shown_for_the_first_time(root: Path) -> None:
    place = unsparked(root, user="dev", red=RED)
    build(place)
    first = promote_plan(place)
    [warned] = first.warned
    assert str(warned).startswith(
        "daily.range_n gave a warning on 2 days, the first of them 2024-01-03: 1 failing of 10"
    )
    assert promote_plan(place).warned == (), "nothing went up"


def test_what_an_owner_approves(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also by the command's words. What was shown before, and stays, is not told again."""
    place = unsparked(root, user="dev", red={utc("2024-01-02")})
    build(place)
    assert len(promote_plan(place).warned) == 1
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    place = unsparked(root, user="dev", red=RED)
    build(place)
    [plan] = [record.id for record in place.control.plans.all() if record.live]
    prove(place, plan)
    ana = unsparked(root, user="ana@example.com")
    given = approve(ana, ApprovalRequest(plan=plan))
    assert [one.count for one in given.warned] == [2]
    print_approved(given)
    assert "Audits: daily.range_n gave a warning on 2 days, the first of them 2024-01-03" in capsys.readouterr().out
    assert [one.count for one in promote_plan(unsparked(root, user="dev"), plan=plan).warned] == [2]
