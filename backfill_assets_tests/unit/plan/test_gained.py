"""A model that begins earlier: what is shown of its readers does not follow by itself, and the plan says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.plan import plan_request
from backfill_assets.app.preview import preview
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.status import read_status
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, extend, promoted, prove, unsparked

ANA = "ana@example.com"


def begins(root: Path, model: str, day: str) -> None:
    file = root / "models" / f"{model}.sql"
    header, start, rest = file.read_text().partition("start: 2024-01-")
    file.write_text(f"{header}{start}{day}{rest[2:]}")


def test_a_reader_that_looks_back_is_named(tmp_path: Path) -> None:
    """`running` reads the day before: its first day read one that `daily` did not have. Ordinary days are no matter."""
    root = small_project(tmp_path, days=10)
    for model in ("daily", "running"):
        begins(root, model, "04")
    promoted(root)
    begins(root, "daily", "02")
    [found] = [w for w in plan_request(unsparked(root)).warnings if "had" in w.what]
    assert found.what == "running 2024-01-04 was computed before daily had 2024-01-02..2024-01-03, and stays as it is"
    assert found.fix == "once this is promoted: backfill apply --restate running:2024-01-04"
    assert found.place == "models/running.sql"


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
    root = small_project(tmp_path, days=10)
    for model in ("daily", "running"):
        begins(root, model, "04")
    promoted(root)
    begins(root, "daily", "02")
    place = unsparked(root, user="dev")
    build(place)
    assert not read_status(place).faults, "nothing of it is shown yet"
    [told] = promote_plan(place).stale
    assert str(told) == (
        "stale: running 2024-01-04: was computed before daily had 2024-01-03; it stays shown\n"
        "  fix: backfill apply --restate running:2024-01-04, which puts other rows beside them with all that reads them"
    )
    assert not promote_plan(place).stale, "nothing moved"
    assert preview(place, Request()).faults == read_status(place).faults == (told,)
    build(place, Request(restate=(("running", Interval.of("2024-01-04", "2024-01-05")),)))
    [record] = [r for r in place.control.plans.all() if r.live]
    prove(place, record.id)
    approve(replace(place, acting=ANA), ApprovalRequest(plan=record.id))
    done = promote_plan(place, plan=record.id)
    assert done.verdict.open and not done.stale
    assert preview(place, Request()).faults == read_status(place).faults == ()


def test_a_routine_run_says_it_too(tmp_path: Path) -> None:
    """It publishes what is missing of what is shown, earlier days as well."""
    root = small_project(tmp_path, days=10)
    for model in ("daily", "running"):
        begins(root, model, "04")
    promoted(root)
    begins(root, "daily", "02")
    place = unsparked(root, user="dev")
    assert not extend(place)
    assert [(f.model, str(f.intervals)) for f in read_status(place).faults] == [("running", "2024-01-04")]
