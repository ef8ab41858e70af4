"""A model that begins earlier: what is shown of its readers does not follow by itself, and the plan says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.preview import preview
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.status import read_status
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.gained import begun_earlier
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Request
from backfill_assets.state.releases import PointerMove
from backfill_assets_tests.fakes import a_pointer, days
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.test_settling import a_release
from backfill_assets_tests.unsparked import build, extend, promoted, prove, unsparked

ANA = "ana@example.com"


def begins(root: Path, model: str, day: str) -> None:
    file = root / "models" / f"{model}.sql"
    header, start, rest = file.read_text().partition("start: 2024-01-")
    file.write_text(f"{header}{start}{day}{rest[2:]}")


def from_the_fourth(folder: Path) -> Path:
    """Both models are shown from a later day on than there are rows of."""
    root = small_project(folder, days=10)
    for model in ("daily", "running"):
        begins(root, model, "04")
    return promoted(root)


def test_a_reader_that_looks_back_is_named(tmp_path: Path) -> None:
    """`running` reads the day before: its first day read one that `daily` did not have. Ordinary days are no matter."""
    root = from_the_fourth(tmp_path)
    begins(root, "daily", "02")
    [found] = [w for w in plan_request(unsparked(root)).warnings if "had" in w.what]
    assert found.what == "running 2024-01-04 was computed before daily had 2024-01-02..2024-01-03, and stays as it is"
    assert found.fix == "once this is promoted: backfill apply --restate running:2024-01-04"
    assert found.place == "models/running.sql"


def test_what_is_not_built_yet_comes_first(tmp_path: Path) -> None:
    """A restatement of the reader reads the earlier days: refused until they are there, as the fix makes them."""
    root = from_the_fourth(tmp_path)
    begins(root, "daily", "02")
    request = Request(restate=(("running", Interval.of("2024-01-04", "2024-01-05")),))
    with pytest.raises(PlanError, match="running 2024-01-04 cannot be computed again yet: it reads daily") as said:
        plan_request(unsparked(root), request)
    assert said.value.fix.startswith("backfill apply --promote --select daily, then this")
    place = unsparked(root, user="dev")
    assert make_plan(place.project, replace(place.facts(), keeps_older=True), request).work, "a routine run goes on"
    build(place, Request(select=("daily",)))
    assert promote_plan(place).verdict.open
    _, done = build(unsparked(root, user="dev"), request)
    assert done["running"].ok


def test_a_reader_that_begins_with_it_is_built(tmp_path: Path) -> None:
    """What is to be built anyway reads all there is."""
    root = small_project(tmp_path, days=10)
    begins(root, "daily", "04")
    begins(root, "running", "05")
    promoted(root)
    begins(root, "daily", "02")
    begins(root, "running", "02")
    assert not [w for w in plan_request(unsparked(root)).warnings if "had" in w.what]


def test_it_is_said_until_it_is_restated(tmp_path: Path) -> None:
    """By the promotion that brings the earlier days, and by every plan and status from then on."""
    root = from_the_fourth(tmp_path)
    begins(root, "daily", "02")
    place = unsparked(root, user="dev")
    build(place)
    assert not read_status(place).faults, "nothing of it is shown yet"
    [told] = promote_plan(place).stale
    assert str(told) == (
        "stale: running 2024-01-04: was computed before daily had 2024-01-03; it stays shown\n"
        "  fix: backfill apply --restate running:2024-01-04, which computes these days again, with all that reads them"
    )
    assert not promote_plan(place).stale, "nothing moved"
    assert preview(place, Request()).faults == read_status(place).faults == (told,)
    build(place, Request(restate=(("running", Interval.of("2024-01-04", "2024-01-05")),)))
    done = promote_plan(place, plan=approved(place))
    assert done.verdict.open and not done.stale
    assert preview(place, Request()).faults == read_status(place).faults == ()


def test_a_routine_run_says_it_too(tmp_path: Path) -> None:
    """It publishes what is missing of what is shown, earlier days as well."""
    root = from_the_fourth(tmp_path)
    begins(root, "daily", "02")
    place = unsparked(root, user="dev")
    assert not extend(place)
    assert [(f.model, str(f.intervals)) for f in read_status(place).faults] == [("running", "2024-01-04")]


def approved(place: Context) -> str:
    """The open plan, compared and approved."""
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    approve(replace(place, acting=ANA), ApprovalRequest(plan=plan))
    return plan


def edit(root: Path, model: str, old: str, new: str) -> Context:
    file = root / "models" / f"{model}.sql"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    return unsparked(root, user="dev")


def test_what_older_logic_computed_is_completed_first(tmp_path: Path) -> None:
    """A restatement of it is refused, so it is no remedy."""
    root = from_the_fourth(tmp_path)
    place = edit(root, "running", "sum(now.total) AS", "sum(now.total) + 1 AS")
    build(place, Request(forward_only=utc("2024-01-07")))
    assert promote_plan(place, plan=approved(place)).verdict.open
    begins(root, "daily", "02")
    place, daily = unsparked(root, user="dev"), Request(select=("daily",))
    build(place, daily)
    [told] = promote_plan(place, daily).stale
    newer = "gives running 2024-01-04 the newer logic with all that is of the older one"
    assert told.remedy == f"backfill apply, which {newer}"
    assert "running" in {stage.model for stage in plan_request(place).work}


def test_a_reader_that_moves_after_what_it_did_not_read(tmp_path: Path) -> None:
    """Its promotion says it, as that of the earlier days did of what was shown then."""
    root = from_the_fourth(tmp_path)
    place = edit(root, "running", "sum(now.total) AS", "sum(now.total) + 1 AS")
    build(place)
    plan = approved(place)
    other = edit(root, "running", "sum(now.total) + 1 AS", "sum(now.total) AS")
    begins(root, "daily", "02")
    other, daily = unsparked(root, user="dev"), Request(select=("daily",))
    build(other, daily)
    assert promote_plan(other, daily).stale
    place = edit(root, "running", "sum(now.total) AS", "sum(now.total) + 1 AS")
    done = promote_plan(place, plan=plan)
    assert done.verdict.open and [f.model for f in done.stale] == ["running"]


def test_a_model_that_came_back_later_and_began_earlier_again(tmp_path: Path) -> None:
    """What it showed before it was taken out is no matter."""
    first, later = (a_pointer("daily", version, days(start, "10")) for version, start in (("1", "02"), ("2", "04")))
    again = a_pointer("daily", "2", days("02", "10"))
    moves = (None, first), (first, None), (None, later), (later, again)
    releases = [
        a_release(n, "2024-01-19", 1, PointerMove(model="daily", before=one, after=other))
        for n, (one, other) in enumerate(moves)
    ]
    assert {n: str(d) for n, d in begun_earlier(releases).items()} == {"daily": "2024-01-02..2024-01-03"}
    assert not begun_earlier(releases[:-1])
