"""Days that a rollback builds anew read the sources of today: what stays beside them may have read other rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.ledger_edits import withdraw
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.watch import find_outdated, watch_environment
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.stages import Request
from backfill_assets.watch.notice import NoticeKind
from backfill_assets_tests.projects import backfill_here, days, small_project, write_events
from backfill_assets_tests.unsparked import build, changed, extend, promoted, prove, unsparked


@pytest.fixture
def gone_on(tmp_path: Path) -> Path:
    """`daily` changes in a column that `running` does not read; then a routine run adds the fourth day to both."""
    root = small_project(tmp_path, days=3)
    sources, settings = root / "sources.yml", root / "backfill.yml"
    sources.write_text(sources.read_text().replace("format: csv", "format: csv\n    time_column: at"))
    said = json.loads(settings.read_text()) | {"approvals": {"required": False}}
    settings.write_text(json.dumps(said))
    promoted(root)
    place, plan = changed(root)
    assert promote_plan(place, plan=plan).verdict.open
    write_events(root, days=4)
    settings.write_text(json.dumps(said | {"clock": "2024-01-05"}))
    assert extend(unsparked(root)) == ()
    return root


def drifted(place: Context) -> list[tuple[str, str]]:
    found = watch_environment(place).notices
    return [(n.model, str(n.intervals)) for n in found if n.kind is NoticeKind.UPSTREAM]


def late(root: Path, day: str) -> None:
    (root / "data" / "events" / "late.csv").write_text(f"id,at,kind,amount\n99,{day}T12:00:00Z,a,5.00\n")


def test_a_reader_of_the_rows_before_is_not_left_beside_them(gone_on: Path) -> None:
    """A row came to the fourth day: the old version's has it, and `running` was computed without. Whoever takes that
    into the bargain is told of it for as long as it is so."""
    late(gone_on, "2024-01-04")
    ended = roll_back(unsparked(gone_on, user="dev"), None).ended
    assert ended.moved is None
    assert [(o.model, str(o.intervals)) for o in ended.obstacles] == [("running", "2024-01-04")]
    assert "backfill apply --restate running:2024-01-04" in ended.obstacles[0].remedy
    place = unsparked(gone_on, user="dev")
    assert roll_back(place, None, at_once=True).ended.moved is not None
    assert drifted(place) == [("running", "2024-01-04")]
    with pytest.raises(PlanError, match="running 2024-01-04 was built from it, and is published") as said:
        withdraw(place, [("daily", Interval(utc("2024-01-04"), utc("2024-01-05")))])
    assert "load the code that is shown, and compute running again by that" in said.value.fix, "that of `daily` is not"


@pytest.mark.parametrize("day", ["", "2024-01-02"])
def test_what_came_elsewhere_is_no_matter(gone_on: Path, day: str) -> None:
    """The old version's rows of the second day are those that it had, and `running` was computed from their like."""
    if day:
        late(gone_on, day)
    place = unsparked(gone_on, user="dev")
    ended = roll_back(place, None).ended
    assert ended.moved is not None, ended.obstacles
    assert drifted(place) == []


def test_what_a_restatement_replaced_is_not_held_back(gone_on: Path) -> None:
    """A row came late, and its day was restated. A routine run leaves the rows of before alone: they were shown, and a
    rollback shows them again."""
    late(gone_on, "2024-01-02")
    place = unsparked(gone_on, user="dev")
    build(place, Request(restate=(("daily", days("2024-01-02")),)))
    [plan] = [record.id for record in place.control.plans.all() if record.live]
    prove(place, plan)
    assert promote_plan(place, plan=plan).verdict.open
    place = unsparked(gone_on, user="dev")
    assert find_outdated(place, place.facts()) == {}
    assert roll_back(place, None, dry_run=True).ended.obstacles == ()


def test_what_was_held_back_and_is_older_by_now(gone_on: Path) -> None:
    """Nobody was shown the fifth day yet when a row of it came."""
    write_events(gone_on, days=5)
    settings = gone_on / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"clock": "2024-01-06"}))
    build(unsparked(gone_on, user="dev"))
    late(gone_on, "2024-01-05")
    place = unsparked(gone_on, user="dev")
    assert {name: str(found) for name, found in find_outdated(place, place.facts()).items()} == {"daily": "2024-01-05"}


def test_it_is_rolled_back_once(gone_on: Path) -> None:
    """The same command again moves nothing; a dry run says so as well."""
    assert roll_back(unsparked(gone_on, user="dev"), None).ended.moved is not None
    place = unsparked(gone_on, user="dev")
    shown = place.control.environments.read("prod")
    assert roll_back(place, None, dry_run=True).ended.found.done is not None
    again = roll_back(place, None).ended
    assert again.moved is None and again.obstacles == () and again.found.done is not None
    assert place.control.environments.read("prod") == shown
    said = backfill_here("rollback", project=gone_on, user="dev")
    assert said.code == 0 and f"was rolled back already: {again.found.done.id}" in said.out
    assert f"backfill rollback {again.found.undo}" in said.out and "Rolled back" not in said.out


def test_rows_that_stay_are_not_held_against_what_came(tmp_path: Path) -> None:
    """`daily` was changed in a column that `running` does not read, after a row came: nobody was in the way. New logic
    of `running` from a day on leaves the days before as they are shown."""
    root = small_project(tmp_path, days=5)
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace("format: csv", "format: csv\n    time_column: at"))
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    promoted(root)
    late(root, "2024-01-02")
    place, plan = changed(root)
    assert promote_plan(place, plan=plan).verdict.open
    running = root / "models" / "running.sql"
    running.write_text(running.read_text().replace("sum(total)", "sum(total) + 1"))
    place = unsparked(root, user="dev")
    build(place, Request(forward_only=utc("2024-01-04")))
    [plan] = [record.id for record in place.control.plans.all() if record.live]
    prove(place, plan)
    assert promote_plan(place, plan=plan).verdict.obstacles == ()
