"""The log of one table is damaged. That model and what reads it wait, and it is said; all others go on."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.candidate import abandon_plan
from backfill_assets.app.ledger_edits import declare_empty
from backfill_assets.app.preview import preview
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.status import read_status
from backfill_assets.app.watch import watch_environment
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import DamagedLogError
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.faults import FaultKind
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import path_of, small_project
from backfill_assets_tests.unsparked import build, extend, promoted, prove, unsparked


def cut_off(root: Path, model: str, commit: int) -> Path:
    """A log's entry has lost its end. Its table's folder."""
    folder = Path(path_of(unsparked(root), model))
    entry = folder / "_delta_log" / f"{commit:020}.json"
    entry.write_bytes(entry.read_bytes()[:-20])
    return folder


def a_day_later(root: Path) -> None:
    tenth = root / "data" / "events" / "2024-01-10.csv"
    tenth.with_name("2024-01-11.csv").write_text(tenth.read_text().replace("2024-01-10", "2024-01-11"))
    settings = root / "backfill.yml"
    settings.write_text(settings.read_text().replace("2024-01-11", "2024-01-12"))


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """`running` reads `daily`; ten days of both are shown, and the eleventh has come."""
    root = promoted(small_project(tmp_path))
    a_day_later(root)
    return root


@pytest.mark.parametrize(
    ("commit", "altered"),
    [
        pytest.param(10, False, id="the newest entry"),
        pytest.param(5, False, id="an older one"),
        pytest.param(5, True, id="an older one, of a table that others wrote to"),
    ],
)
def test_it_is_told_where_one_looks(shown: Path, commit: int, *, altered: bool) -> None:
    """Plans, the status and `watch` say which rows it is about, and all they say without."""
    if altered:
        DeltaTable(path_of(unsparked(shown), "daily")).alter.set_table_properties(
            {"delta.enableChangeDataFeed": "false"}
        )
    cut_off(shown, "daily", commit)
    place = unsparked(shown)
    plan, status = preview(place, Request()), read_status(place)
    assert {stage.model for stage in plan.plan.work} == {"daily", "running"}
    assert {model.model: str(model.shown) for model in status.models}["running"] == "2024-01-01..2024-01-10"
    for told in (plan.faults, status.faults):
        [fault] = told
        assert (fault.kind, fault.model) == (FaultKind.DAMAGED, "daily") and f"{commit:020}.json" in fault.what
    assert [o.model for o in watch_environment(place).findings] == ["daily"]


def test_others_are_extended(shown: Path) -> None:
    """`running` is damaged: `daily` is built and shown, and stays what its rows are."""
    cut_off(shown, "running", 2)
    assert extend(unsparked(shown)) == ("running",)
    covers = {name: p.covers.span for name, p in unsparked(shown).control.environments.read("prod").pointers.items()}
    assert covers["daily"] == Interval.of("2024-01-01", "2024-01-12")
    assert covers["running"] == Interval.of("2024-01-01", "2024-01-11")


def test_an_older_entry_that_is_found_later(shown: Path) -> None:
    """The newest one is whole: what is wrong is said all the same, by whoever would write to the table."""
    folder = cut_off(shown, "daily", 5)
    last = folder / "_delta_log" / f"{11:020}.json"
    last.write_text((folder / "_delta_log" / f"{10:020}.json").read_text())
    _, done = build(unsparked(shown))
    [failure] = done["daily"].failures
    assert "is damaged; nothing is read from it" in failure.error and "00000000000000000005.json" in failure.error


def test_its_reader_waits(shown: Path) -> None:
    """Nothing is built of what cannot be read, nothing is promoted of it, and no run fails as a whole."""
    cut_off(shown, "daily", 10)
    assert set(extend(unsparked(shown))) == {"daily", "running"}


def test_a_restatement_takes_its_place(shown: Path) -> None:
    """All of it, beside the table that nobody can read. Of that no environment shows a row then: it may be deleted."""
    folder = cut_off(shown, "running", 2)
    request = Request(restate=(("running", Interval.of("2024-01-01", "2024-01-11")),))
    plan, done = build(unsparked(shown, user="dev"), request)
    assert done["running"].ok and done["running"].built
    prove(unsparked(shown), plan.id)
    place = unsparked(shown, user="ana@example.com")
    approve(place, ApprovalRequest(plan=plan.id, reason="its log was cut off"))
    assert promote_plan(place, plan=plan.id).verdict.open
    build(unsparked(shown))
    _, done = build(unsparked(shown))
    [failure] = done["running"].failures
    assert "fix: delete this folder, of which no environment shows a row" in failure.error
    shutil.rmtree(folder)
    assert extend(unsparked(shown)) == ()


@pytest.mark.parametrize(("damaged", "commit"), [("daily", 10), ("running", 2)])
def test_nothing_is_recorded_of_it(tmp_path: Path, damaged: str, commit: int) -> None:
    """What was built from a day that is withdrawn goes with it, and a day that is there is not declared empty: as long
    as nobody can tell, both are refused, and nothing is written."""
    root = small_project(tmp_path)
    build(unsparked(root))
    cut_off(root, damaged, commit)
    place = unsparked(root)
    before = place.control.ledger.entries()
    third = Interval.of("2024-01-03", "2024-01-04")
    with pytest.raises(DamagedLogError):
        withdraw(place.control, place.log, place.project, [("daily", third)], now=datetime.now(UTC), by="dev")
    with pytest.raises(DamagedLogError):
        declare_empty(place, Request(select=(damaged,)))
    every = Request(restate=(("daily", third),), all_versions=True)
    with pytest.raises(DamagedLogError):
        place.facts(every_version=every.all_versions)
    assert place.control.ledger.entries() == before


def test_a_plan_is_abandoned(shown: Path) -> None:
    """Whatever its candidate's table is like."""
    daily = shown / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    build(unsparked(shown, user="dev"))
    cut_off(shown, "daily", 3)
    place = unsparked(shown, user="dev")
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    assert abandon_plan(place, plan).freed
