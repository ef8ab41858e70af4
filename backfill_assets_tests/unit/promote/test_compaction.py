"""Many tables of corrections become one. Nobody sees another row, an older release finds all of it, no death hurts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from backfill_assets.core.errors import PromotionError, StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.plan.stages import Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.compaction import Corrections, compact, compaction_case, find_many_corrections
from backfill_assets.promote.janitor import find_unreachable
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets.promote.release import Mover, release_case
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Kind
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import Cell, Crash, Life, MortalStore, attempted, days, ranges, sealed
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

CORRECTED = ("02", "04", "05", "08")


@pytest.fixture
def history() -> ProjectHistory:
    """Four days of `a`, and what reads them, were restated one after the other; each has 11 to 14 rows since."""
    history = ProjectHistory()
    history.release()
    for number, day in enumerate(CORRECTED, start=11):
        rows = number
        history.world.engine.cell = lambda job, unit, rows=rows: Cell(rows=rows)
        history.release(Request(restate=(("a", days(day)),)))
    history.world.engine.cell = lambda job, unit: Cell()
    return history


def crowded(history: ProjectHistory, most: int = 3, control: Control | None = None) -> dict[str, Corrections]:
    world = history.world
    found = find_many_corrections(control or world.control, world.tables, world.project, history.prod, most=most)
    return {crowd.pointer.model: crowd for crowd in found}


def run(history: ProjectHistory, crowd: Corrections, control: Control | None = None) -> Environment:
    world = history.world
    model = world.project.models[crowd.pointer.model]
    control = control or world.control
    return compact(crowd, control, world.tables, model, world.open_engine, show=shower(history, crowd, control))


def shower(history: ProjectHistory, crowd: Corrections, control: Control) -> Callable[[Pointer], Environment]:
    """What `remove_garbage` shows a copy by."""
    world = history.world

    def show(pointer: Pointer) -> Environment:
        def look() -> Case:
            return compaction_case(crowd, pointer, control, world.project, world.facts(history.now), world.tables)

        done = release_case(
            Mover(control=control, log=world.tables, environment="prod", views=None, by="eva"),
            attempted(look),
            evidence=sealed,
        )
        assert done.verdict.open, done.verdict
        return done.environment

    return show


def rows(history: ProjectHistory, model: str) -> dict[str, int]:
    """Day → the rows that prod shows of it."""
    found: dict[str, int] = {}
    for s in history.prod.pointers[model].segments:
        cells = history.world.tables.cells(model, s.version, s.commit)
        found |= {f"{at:%d}": c.rows for at, c in cells.items() if s.interval.start <= at < s.interval.end}
    return dict(sorted(found.items()))


def test_corrections_are_joined_when_they_are_too_many(history: ProjectHistory) -> None:
    """The days that nobody corrected stay where they are; the rows, their inputs and their audits are those before."""
    assert crowded(history, most=4) == {} and set(crowded(history)) == {"a", "b"}
    before, shown = rows(history, "a"), history.prod.pointers["a"]
    assert [before[d] for d in CORRECTED] == [11, 12, 13, 14] and before["03"] == 10
    run(history, crowded(history)["a"])
    after = history.prod.pointers["a"]
    assert rows(history, "a") == before and after.covers == shown.covers
    own, joined = sorted({s.version for s in after.segments})
    assert own == "a-1" and joined.startswith("a-1.")
    assert Ranges.of(s.interval for s in after.segments if s.version == joined) == ranges(*map(days, CORRECTED))
    assert crowded(history, most=1).keys() == {"b"}
    entries = [e for e in history.world.control.ledger.entries(["a"]) if e.version == joined]
    assert sorted(e.kind for e in entries if e.interval == days("04")) == ["audited", "built"]
    assert all(e.inputs == {"raw": {"commit": 1}} for e in entries if e.kind == "built")
    assert history.world.plan().work == ()


def test_days_go_by_and_corrections_are_corrected(history: ProjectHistory) -> None:
    """Routine runs extend what was joined; a joined day is restated as any other is."""
    run(history, crowded(history)["a"])
    history.a_day()
    history.world.engine.cell = lambda job, unit: Cell(rows=20)
    history.release(Request(restate=(("a", days("04")),)))
    now = rows(history, "a")
    assert (now["02"], now["04"], now["05"], now["03"], now["11"]) == (11, 20, 13, 10, 10)


def test_it_is_no_change_to_go_back_before(history: ProjectHistory) -> None:
    """`backfill rollback` takes back the last restatement, not the copy; the version's own table is as it was built."""
    run(history, crowded(history)["a"])
    assert history.releases[-1].compaction and history.releases[-1].growth
    assert history.back().moved is not None
    now = rows(history, "a")
    assert (now["02"], now["05"], now["08"]) == (11, 13, 10)
    history.back(history.releases[0].id)
    assert set(rows(history, "a").values()) == {10}


def test_what_was_joined_goes_when_its_time_is_over(history: ProjectHistory) -> None:
    apart = {s.version for s in crowded(history)["a"].corrections}
    run(history, crowded(history)["a"])
    late = history.releases[-1].at + timedelta(days=31)
    world = history.world
    found = find_unreachable(world.control, world.tables, now=late, retention=timedelta(days=30))
    assert {g.table.version for g in found.goes} == apart


@pytest.mark.parametrize("steps", range(12))
def test_killed_at_any_moment(history: ProjectHistory, steps: int) -> None:
    """Prod shows the same rows whatever the moment, and whoever comes next brings it to its end."""
    before, life = rows(history, "a"), Life(steps)
    history.world.engine.before_copy = lambda job: life.step()
    try:
        run(history, crowded(history)["a"], Control.over(MortalStore(history.world.store, life)))
    except Crash:
        assert rows(history, "a") == before
    history.world.engine.before_copy = lambda job: None
    for crowd in crowded(history).values():
        run(history, crowd)
    assert rows(history, "a") == before and crowded(history, most=1) == {}


def test_a_copy_that_is_not_equal_is_not_shown(history: ProjectHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd, shown = crowded(history)["a"], history.prod
    genuine = history.world.engine.copy

    def lossy(job: object, batch: str, segments: Segments) -> object:
        return genuine(job, batch, Segments(segments[1:]))

    monkeypatch.setattr(history.world.engine, "copy", lossy)
    with pytest.raises(StateError, match="not equal to what is shown, in 2024-01-02"):
        run(history, crowd)
    assert history.prod == shown


def test_models_of_open_plans_are_left_alone(history: ProjectHistory) -> None:
    """What was approved or compared of them is about the tables as they are."""
    plan = history.world.plan(Request(restate=(("b", days("03")),)))
    store_plan(history.world.control, plan, by="ana", views=lambda: None, code=history.world.project.fingerprints)
    assert set(crowded(history)) == {"a"}


def test_rows_that_nobody_vouches_for_are_left_alone(history: ProjectHistory) -> None:
    """Somebody wrote into a table of corrections by hand, before it was shown as it is now."""
    crowd = crowded(history)["a"]
    shown = history.prod.pointers["a"]
    version = crowd.corrections[0].version
    history.world.tables.foreign("a", version)
    assert "a" in crowded(history), "what is shown is pinned to a commit before"
    moved = [
        Segment(version=version, commit=2, interval=s.interval) if s.version == version else s for s in shown.segments
    ]
    from dataclasses import replace

    history.world.control.environments.flip(
        history.prod,
        [replace(shown, segments=tuple(moved))],
        release="x",
        at=history.releases[-1].at,
        note=ReleaseNote(by="x"),
    )
    assert "a" not in crowded(history)


def test_what_was_promoted_meanwhile_stays(history: ProjectHistory) -> None:
    """While one model's rows are copied somebody corrects another one, and then the same one: neither is undone."""
    crowd, other = crowded(history)["a"], crowded(history)["b"]

    def corrects(name: str, day: str) -> None:
        history.world.engine.before_copy = lambda job: None
        history.world.engine.cell = lambda job, unit: Cell(rows=99)
        history.release(Request(restate=((name, days(day)),)))

    history.world.engine.before_copy = lambda job: corrects("b", "03")
    run(history, crowd)
    assert rows(history, "b")["03"] == 99 and len({s.version for s in history.prod.pointers["a"].segments}) == 2
    with pytest.raises(PromotionError, match="it moved, or a plan of it was opened"):
        run(history, other)
    history.world.engine.before_copy = lambda job: corrects("b", "07")
    with pytest.raises(PromotionError, match="it moved, or a plan of it was opened"):
        run(history, crowded(history)["b"])
    assert (rows(history, "b")["03"], rows(history, "b")["07"]) == (99, 99)
    assert [e.reason for e in history.world.control.ledger.entries(["b"]) if e.kind == "failed"]
    run(history, crowded(history)["b"])
    assert (rows(history, "b")["03"], rows(history, "b")["07"]) == (99, 99) and crowded(history, most=1) == {}


def test_code_that_is_not_shown_joins_nothing(history: ProjectHistory) -> None:
    """Its columns and cadence need not be those of the tables."""
    history.change(a="2")
    assert set(crowded(history)) == {"b"}


def test_only_one_model_goes_back(history: ProjectHistory) -> None:
    """A copy of another model's rows since is no reason to take that one along."""
    history.change(c="2")
    history.release()
    run(history, crowded(history)["a"])
    now = history.prod.pointers["a"]
    assert history.back(select=["c"]).obstacles == () and history.prod.pointers["c"].version == "c-1"
    assert history.prod.pointers["a"] == now


def test_a_copy_says_when_its_rows_were_computed(history: ProjectHistory) -> None:
    """Late source data, and estimates, go by that."""
    crowd = crowded(history)["a"]

    def built() -> dict[str, dict[Interval, object]]:
        found: dict[str, dict[Interval, object]] = {}
        for e in history.world.control.ledger.entries(["a"], kinds=[Kind.BUILT]):
            found.setdefault(e.version, {})[e.interval] = e.at, e.seconds, e.inputs
        return found

    apart = {day: said for s in crowd.corrections for day, said in built()[s.version].items()}
    run(history, crowd)
    assert built()[crowd.version] == apart
