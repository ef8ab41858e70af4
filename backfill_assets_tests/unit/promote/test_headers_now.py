"""Published code beside other code: an end or a mask that a header says, or said, loses no day and shows no value."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import plan_rollback
from backfill_assets.app.routine import published_context
from backfill_assets.app.watch import look_at_sources
from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.apply import apply
from backfill_assets.contracts.publish import publish_contracts
from backfill_assets.core.model import Audit, Model
from backfill_assets.plan.dropped_columns import with_stored_definitions
from backfill_assets.plan.stages import Request
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.watch.late import late_sources
from backfill_assets_tests.fakes import Cell, a_model, a_project, days
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory
from backfill_assets_tests.unit.promote.test_routine_beside_older import edit, forward, later, shown_until
from backfill_assets_tests.unsparked import build, extend, promoted, prove, unsparked

FIRST = a_model("a", "raw")
BACK = {"a": "a-1 2024-01-01..2024-01-10; a-1 2024-01-11..2024-01-12"}


def one_model(tmp_path: Path, days: int = 9) -> tuple[Path, Path]:
    """A project of daily alone, and its file."""
    root = small_project(tmp_path, days=days)
    (root / "models" / "running.sql").unlink()
    return root, root / "models" / "daily.sql"


def alone(tmp_path: Path) -> tuple[Path, Path]:
    """The same, promoted."""
    root, daily = one_model(tmp_path)
    return promoted(root), daily


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 3"])
@pytest.mark.parametrize("end", ["08", "11"])
def test_an_end_that_is_loaded_stops_no_rollback(end: str, text: str) -> None:
    """Neither one that the shown version's header says by now, nor one of code that nobody promoted."""
    history = ProjectHistory(FIRST)
    history.release()
    history.change(a="2")
    history.release()
    history.a_day()
    history.a_day()
    history.models = (replace(FIRST, code=text, text=text, end=days(end).start),)
    history.change(a="2" if text == FIRST.code else "3")
    ended = history.back()
    assert ended.obstacles == () and ended.moved is not None and history.shown() == BACK


def test_an_end_that_was_taken_out_stops_no_rollback() -> None:
    """The version was first built under an `end:`; later days were shown of it, and then of the next one."""
    history = ProjectHistory(replace(FIRST, end=days("08").start))
    history.release()
    history.models = (FIRST,)
    history.change()
    history.release()
    history.change(a="2")
    history.release()
    history.a_day()
    history.a_day()
    ended = history.back()
    assert ended.obstacles == () and ended.moved is not None and history.shown()["a"].endswith("2024-01-12")


@pytest.mark.parametrize("text", ["sum(amount)", "2 * sum(amount)"])
def test_late_rows_of_what_is_shown_are_told(tmp_path: Path, text: str) -> None:
    """Also of days after an end that the loaded header says, of the published code and of newer one."""
    root = small_project(tmp_path, days=9)
    edit(root / "sources.yml", "format: csv\n", "format: csv\n    time_column: at\n")
    promoted(root)
    daily, late = root / "models" / "daily.sql", root / "data" / "events" / "2024-01-07.csv"
    edit(daily, "sum(amount)", text)
    edit(daily, "start: 2024-01-01\n", "start: 2024-01-01\nend: 2024-01-05\n")
    late.write_text(late.read_text() + "999,2024-01-07T05:00:00Z,a,1.00\n")
    soon = late.stat().st_mtime + 5
    os.utime(late, (soon, soon))
    told = [notice for notice in late_sources(look_at_sources(unsparked(root))) if notice.model == "daily"]
    assert [str(notice.intervals) for notice in told] == ["2024-01-07"]


@pytest.mark.parametrize("newer", ["total", "person"])
def test_a_mask_of_a_source_follows_into_published_code(tmp_path: Path, newer: str) -> None:
    """By its own lineage: newer code may call the column otherwise."""
    root = small_project(tmp_path, days=9)
    daily = root / "models" / "daily.sql"
    edit(daily, "sum(amount) AS total", "sum(amount) AS total, max(id) AS contact")
    promoted(root)
    edit(root / "sources.yml", "format: csv\n", "format: csv\n    mask: [id]\n")
    edit(daily, "max(id) AS contact", f"max(id) AS {newer}" if newer == "person" else "max(id) + 1 AS contact")
    assert "contact" in published_context(unsparked(root)).project.models["daily"].mask


def test_an_end_that_was_promoted_holds_when_the_file_is_gone(tmp_path: Path) -> None:
    """The version was built without one: it is the header's of the last promotion."""
    root, daily = alone(tmp_path)
    edit(daily, "start: 2024-01-01\n", "start: 2024-01-01\nend: 2024-01-11\n")
    promoted(root)
    daily.rename(daily.with_name("other.sql"))
    later(root, 12)
    assert extend(unsparked(root)) == ()
    assert shown_until(root) == "2024-01-10"


def test_a_rollback_builds_by_the_audits_that_were_promoted_last() -> None:
    history = ProjectHistory(FIRST)
    history.release()
    strict = replace(FIRST, audits=(Audit(name="strict", kind="range", arguments={"column": "id", "min": 1}),))
    publish_contracts(a_project(strict), history.world.control, history.prod, ["a"], at=history.now)
    history.change(a="2")
    history.release()
    history.a_day()
    found, _ = history.look()
    assert found.project is not None and [a.name for a in found.project.models["a"].audits] == ["strict"]
    [step] = found.steps
    assert str(step.missing) == "2024-01-11"
    digest = audits_digest(strict)
    batch: dict[str, Any] = {"model": "a", "version": "a-1", "interval": days("11"), "batch": "b", "at": history.now}
    made = history.world.tables.write("a", "a-1", "b", days("11"), {days("11").start: Cell(batch="b")})
    history.world.control.ledger.append(
        [
            Entry(kind=Kind.BUILT, table_commit=made.table_commit, **batch),
            Entry(kind=Kind.AUDITED, table_commit=made.table_commit, audits=digest, **batch),
        ]
    )
    [step] = history.look()[0].steps
    assert not step.lacks and str(step.taken.covers) == "2024-01-11"


def test_days_that_become_weeks_and_days_again(tmp_path: Path) -> None:
    """The week that is shown in part has days that are not there yet: nobody can have them, also not who goes back."""
    root, daily = one_model(tmp_path, days=10)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    promoted(root)
    text = daily.read_text()
    daily.write_text(
        text.replace("grain:", "cadence: weekly\ngrain:").replace(
            "CAST(at AS DATE)", "CAST(date_trunc('WEEK', at) AS DATE)"
        )
    )
    for now, until in (("weekly", "2024-01-14"), ("daily", "2024-01-10")):
        if now == "daily":
            daily.write_text(text)
        place = unsparked(root, user="dev")
        plan, _ = build(place)
        [stored] = [r.id for r in place.control.plans.all() if r.live]
        prove(place, stored)
        gone = "2024-01-11..2024-01-14 of a weekly interval that is not over is shown no more"
        assert any(gone in reason for reason in plan.because.get("daily", ())) == (now == "daily")
        if now == "daily":
            back, _ = plan_rollback(place)
            assert not back.losses and not back.obstacles
        assert promote_plan(place, plan=stored).verdict.open
        assert shown_until(root) == until


STRICT = replace(FIRST, audits=(Audit(name="strict", kind="range", arguments={"column": "id", "min": 1}),))


@pytest.mark.parametrize("built", [False, True])
def test_a_rollback_is_judged_by_no_audits_that_nobody_promoted(built: bool) -> None:
    """The older version's text is loaded again, without its audits: what was built since passed none that counts."""
    history = ProjectHistory(STRICT)
    history.release()
    history.change(a="2")
    history.release()
    history.a_day()
    history.models = (replace(STRICT, audits=()),)
    history.change()
    if built:
        plan = history.world.plan(Request(), history.now)
        apply(history.world.bench(patches=plan.patches), plan)
    [step] = history.look()[0].steps
    assert step.lacks and not step.taken
    assert history.back().moved is not None


def shown_as(root: Path) -> Model:
    return published_context(unsparked(root)).project.models["daily"]


@pytest.mark.parametrize("then", ["gone", "other", "same"])
def test_what_was_promoted_as_masked_stays_so(tmp_path: Path, then: str) -> None:
    """Masks are no part of a version: its record may not have them. Who takes one out has that promoted."""
    root, daily = alone(tmp_path)
    edit(daily, "grain:", "mask: [total]\ngrain:")
    promoted(root)
    if then == "gone":
        daily.rename(daily.with_name("other.sql"))
    else:
        edit(daily, "mask: [total]\n", "")
        edit(daily, "sum(amount)", "sum(amount)" if then == "same" else "2 * sum(amount)")
    assert "total" in shown_as(root).mask
    if then == "same":
        assert "total" not in shown_as(promoted(root)).mask


def test_an_end_below_what_is_shown_was_promoted(tmp_path: Path) -> None:
    """It was not passed since, and holds when the file is gone."""
    root, daily = alone(tmp_path)
    edit(daily, "start: 2024-01-01\n", "start: 2024-01-01\nend: 2024-01-06\n")
    promoted(root)
    daily.rename(daily.with_name("other.sql"))
    later(root, 12)
    before = shown_until(root)
    assert extend(unsparked(root)) == () and shown_until(root) == before


def test_other_days_have_their_own_pace(tmp_path: Path) -> None:
    root, daily = alone(tmp_path)
    own = shown_as(root)
    edit(daily, "sum(amount)", "2 * sum(amount)")
    edit(daily, "batch_size: 1\n", "batch_size: 30\ncadence: weekly\nready: '0 6 1 * *'\nretries: 9\n")
    found = shown_as(root)
    assert (found.batch_size, found.ready, found.retries) == (own.batch_size, own.ready, 9)


@pytest.mark.parametrize(("text", "begins"), [("sum(amount)", "2024-01-01"), ("2 * sum(amount)", "2024-01-04")])
def test_an_earlier_start_of_newer_code_waits(tmp_path: Path, text: str, begins: str) -> None:
    """Else its days would be built by the older code, which nobody asked for."""
    root, daily = one_model(tmp_path)
    edit(daily, "start: 2024-01-01\n", "start: 2024-01-04\n")
    promoted(root)
    edit(daily, "start: 2024-01-04\n", "start: 2024-01-01\n")
    edit(daily, "sum(amount)", text)
    assert f"{shown_as(root).start:%Y-%m-%d}" == begins


@pytest.mark.parametrize("start", ["2023-12-28", "2024-01-20"])
@pytest.mark.parametrize("text", ["2 * sum(amount)", "3 * sum(amount)"])
def test_no_new_logic_before_the_older(tmp_path: Path, start: str, text: str) -> None:
    """A change was made forward only: whatever start is loaded, its days follow those of the older logic."""
    root = forward(tmp_path)
    daily = root / "models" / "daily.sql"
    edit(daily, "2 * sum(amount)", text)
    edit(daily, "start: 2024-01-01\n", f"start: {start}\n")
    later(root, 11)
    extend(unsparked(root))
    shown = unsparked(root).control.environments.read("prod").pointers["daily"]
    assert str(shown.covers) == "2024-01-01..2024-01-11" and str(shown.older.covers) == "2024-01-01..2024-01-08"


@pytest.mark.parametrize("grain", ["[kind, ds]", "[ds, KIND]"])
def test_a_grain_in_another_order_is_none_that_was_promoted(tmp_path: Path, grain: str) -> None:
    """What is shown was audited by it as it was written."""
    root, daily = alone(tmp_path)
    edit(daily, "grain: [ds, kind]", f"grain: {grain}")
    assert not plan_request(published_context(unsparked(root)), resume=False).work
    promoted(root)
    edit(daily, "sum(amount)", "2 * sum(amount)")
    assert not plan_request(published_context(unsparked(root)), resume=False).work


def test_a_column_that_goes_on_unseen_is_masked(tmp_path: Path) -> None:
    """The code has it no more, its version goes on with it, and its source is masked by now."""
    root, daily = one_model(tmp_path)
    edit(daily, "sum(amount) AS total", "sum(amount) AS total, max(id) AS contact")
    promoted(root)
    edit(daily, ", max(id) AS contact", "")
    edit(root / "sources.yml", "format: csv\n", "format: csv\n    mask: [id]\n")
    place = unsparked(root)
    assert place.project.hidden
    made = with_stored_definitions(place.project, place.control.versions.all()).models["daily"]
    assert "contact" in made.code and "contact" in made.mask
