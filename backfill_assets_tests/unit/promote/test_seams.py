"""Where new logic begins with a day, what reads over that day was computed from the older rows that are shown there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from backfill_assets.app.promote import Promoted, promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.test_routine_beside_older import edit
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

SEAM = Request(forward_only=utc("2024-01-06"))


def shop(tmp_path: Path) -> Path:
    """`running` looks two days back at `daily`; nobody has to approve."""
    root = small_project(tmp_path, days=9)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    edit(root / "models" / "running.sql", "lookback: 1", "lookback: 2")
    return promoted(root)


def say(root: Path, text: str) -> None:
    """Daily is this by now."""
    file = root / "models" / "daily.sql"
    file.write_text(re.sub(r"(\d \* )?sum\(amount\)", text, file.read_text()))


def made(root: Path, request: Request | None = None) -> str:
    place = unsparked(root, user="dev")
    build(place, request)
    return [r.id for r in place.control.plans.all() if r.live][-1]


def show(root: Path, plan: str) -> Promoted:
    place = unsparked(root, user="dev")
    prove(place, plan)
    return promote_plan(place, plan=plan)


def told(found: Promoted) -> dict[str, str]:
    return {o.model: str(o.intervals) for o in found.verdict.obstacles if "other rows" in o.what}


def go_back(root: Path) -> None:
    assert roll_back(unsparked(root, user="dev"), None, reason="as it was").ended.moved is not None


def built_over_what_is_gone(root: Path) -> str:
    """New logic from a day on, built while other rows were shown before that day."""
    say(root, "2 * sum(amount)")
    assert show(root, made(root)).verdict.open
    say(root, "3 * sum(amount)")
    plan = made(root, SEAM)
    go_back(root)
    return plan


def built_as_a_whole(root: Path) -> str:
    """New logic of all days, which is asked for from a day on when its days are there already."""
    say(root, "2 * sum(amount)")
    assert show(root, made(root)).verdict.open
    go_back(root)
    return made(root, SEAM)


@pytest.mark.parametrize("way", [built_over_what_is_gone, built_as_a_whole])
def test_rows_of_a_third_logic_were_read_over_the_seam(tmp_path: Path, way: object) -> None:
    """The days that look back over it are named, and computed again: then all is shown."""
    root = shop(tmp_path)
    plan = way(root)  # type: ignore[operator]
    closed = show(root, plan)
    assert told(closed) == {"running": "2024-01-06..2024-01-07"}
    [obstacle] = closed.verdict.obstacles
    assert "backfill withdraw running:2024-01-06..2024-01-07" in obstacle.remedy
    place = unsparked(root, user="dev")
    days = Interval(utc("2024-01-06"), utc("2024-01-08"))
    withdraw(place.control, place.log, place.project, [("running", days)], now=utc("2024-02-01"), by="dev")
    again = made(root, SEAM)
    assert show(root, again).verdict.open


def test_what_was_read_is_what_is_shown(tmp_path: Path) -> None:
    """As it was built it is promoted."""
    root = shop(tmp_path)
    say(root, "2 * sum(amount)")
    assert show(root, made(root, SEAM)).verdict.open
