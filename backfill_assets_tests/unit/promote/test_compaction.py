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
from backfill_assets.promote.compaction import Corrections, compact, compaction_case, find_many_corrections
from backfill_assets.promote.gate import Case
from backfill_assets.promote.janitor import find_unreachable
from backfill_assets.promote.lifecycle import open_plan
from backfill_assets.promote.release import release_case
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Kind
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import Cell, Crash, Life, MortalStore, attempted, days, ranges, sealed
from backfill_assets_tests.unit.promote.office import Office

CORRECTED = ("02", "04", "05", "08")


@pytest.fixture
def office() -> Office:
    """Four days of `a`, and what reads them, were restated one after the other; each has 11 to 14 rows since."""
    office = Office()
    office.release()
    for number, day in enumerate(CORRECTED, start=11):
        rows = number
        office.world.engine.cell = lambda job, unit, rows=rows: Cell(rows=rows)
        office.release(Request(restate=(("a", days(day)),)))
    office.world.engine.cell = lambda job, unit: Cell()
    return office


def crowded(office: Office, most: int = 3, control: Control | None = None) -> dict[str, Corrections]:
    world = office.world
    found = find_many_corrections(control or world.control, world.tables, world.project, office.prod, most=most)
    return {crowd.pointer.model: crowd for crowd in found}


def run(office: Office, crowd: Corrections, control: Control | None = None) -> Environment:
    world = office.world
    model = world.project.models[crowd.pointer.model]
    control = control or world.control
    return compact(crowd, control, world.tables, model, world.open_engine, show=shower(office, crowd, control))


def shower(office: Office, crowd: Corrections, control: Control) -> Callable[[Pointer], Environment]:
    """What `remove_garbage` shows a copy by."""
    world = office.world

    def show(pointer: Pointer) -> Environment:
        def look() -> Case:
            return compaction_case(crowd, pointer, control, world.project, world.facts(office.now), world.tables)

        done = release_case(control, world.tables, "prod", None, attempted(look), by="eva", evidence=sealed)
        assert done.verdict.open, done.verdict
        return done.environment

    return show


def rows(office: Office, model: str) -> dict[str, int]:
    """Day → the rows that prod shows of it."""
    found: dict[str, int] = {}
    for s in office.prod.pointers[model].segments:
        cells = office.world.tables.cells(model, s.version, s.commit)
        found |= {f"{at:%d}": c.rows for at, c in cells.items() if s.interval.start <= at < s.interval.end}
    return dict(sorted(found.items()))


def test_corrections_are_joined_when_they_are_too_many(office: Office) -> None:
    """The days that nobody corrected stay where they are; the rows, their inputs and their audits are those before."""
    assert crowded(office, most=4) == {} and set(crowded(office)) == {"a", "b"}
    before, shown = rows(office, "a"), office.prod.pointers["a"]
    assert [before[d] for d in CORRECTED] == [11, 12, 13, 14] and before["03"] == 10
    run(office, crowded(office)["a"])
    after = office.prod.pointers["a"]
    assert rows(office, "a") == before and after.covers == shown.covers
    own, joined = sorted({s.version for s in after.segments})
    assert own == "a-1" and joined.startswith("a-1.")
    assert Ranges.of(s.interval for s in after.segments if s.version == joined) == ranges(*map(days, CORRECTED))
    assert crowded(office, most=1).keys() == {"b"}
    entries = [e for e in office.world.control.ledger.entries(["a"]) if e.version == joined]
    assert sorted(e.kind for e in entries if e.interval == days("04")) == ["audited", "built"]
    assert all(e.inputs == {"raw": {"commit": 1}} for e in entries if e.kind == "built")
    assert office.world.plan().work == ()


def test_days_go_by_and_corrections_are_corrected(office: Office) -> None:
    """Routine runs extend what was joined; a joined day is restated as any other is."""
    run(office, crowded(office)["a"])
    office.a_day()
    office.world.engine.cell = lambda job, unit: Cell(rows=20)
    office.release(Request(restate=(("a", days("04")),)))
    now = rows(office, "a")
    assert (now["02"], now["04"], now["05"], now["03"], now["11"]) == (11, 20, 13, 10, 10)


def test_it_is_no_change_to_go_back_before(office: Office) -> None:
    """`backfill rollback` takes back the last restatement, not the copy; the version's own table is as it was built."""
    run(office, crowded(office)["a"])
    assert office.releases[-1].compaction and office.releases[-1].growth
    assert office.back().moved is not None
    now = rows(office, "a")
    assert (now["02"], now["05"], now["08"]) == (11, 13, 10)
    office.back(office.releases[0].id)
    assert set(rows(office, "a").values()) == {10}


def test_what_was_joined_goes_when_its_time_is_over(office: Office) -> None:
    apart = {s.version for s in crowded(office)["a"].corrections}
    run(office, crowded(office)["a"])
    late = office.releases[-1].at + timedelta(days=31)
    world = office.world
    found = find_unreachable(world.control, world.tables, now=late, retention=timedelta(days=30))
    assert {g.table.version for g in found.goes} == apart


@pytest.mark.parametrize("steps", range(12))
def test_killed_at_any_moment(office: Office, steps: int) -> None:
    """Prod shows the same rows whatever the moment, and whoever comes next brings it to its end."""
    before, life = rows(office, "a"), Life(steps)
    office.world.engine.before_copy = lambda job: life.step()
    try:
        run(office, crowded(office)["a"], Control.over(MortalStore(office.world.store, life)))
    except Crash:
        assert rows(office, "a") == before
    office.world.engine.before_copy = lambda job: None
    for crowd in crowded(office).values():
        run(office, crowd)
    assert rows(office, "a") == before and crowded(office, most=1) == {}


def test_a_copy_that_is_not_equal_is_not_shown(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd, shown = crowded(office)["a"], office.prod
    genuine = office.world.engine.copy

    def lossy(job: object, batch: str, segments: Segments) -> object:
        return genuine(job, batch, Segments(segments[1:]))

    monkeypatch.setattr(office.world.engine, "copy", lossy)
    with pytest.raises(StateError, match="not equal to what is shown, in 2024-01-02"):
        run(office, crowd)
    assert office.prod == shown


def test_models_of_open_plans_are_left_alone(office: Office) -> None:
    """What was approved or compared of them is about the tables as they are."""
    plan = office.world.plan(Request(restate=(("b", days("03")),)))
    open_plan(office.world.control, plan, by="ana", views=lambda: None)
    assert set(crowded(office)) == {"a"}


def test_rows_that_nobody_vouches_for_are_left_alone(office: Office) -> None:
    """Somebody wrote into a table of corrections by hand, before it was shown as it is now."""
    crowd = crowded(office)["a"]
    shown = office.prod.pointers["a"]
    version = crowd.corrections[0].version
    office.world.tables.foreign("a", version)
    assert "a" in crowded(office), "what is shown is pinned to a commit before"
    moved = [
        Segment(version=version, commit=2, interval=s.interval) if s.version == version else s for s in shown.segments
    ]
    from dataclasses import replace

    office.world.control.environments.flip(
        office.prod,
        [replace(shown, segments=tuple(moved))],
        release="x",
        at=office.releases[-1].at,
        note=ReleaseNote(by="x"),
    )
    assert "a" not in crowded(office)


def test_what_was_promoted_meanwhile_stays(office: Office) -> None:
    """While one model's rows are copied somebody corrects another one, and then the same one: neither is undone."""
    crowd, other = crowded(office)["a"], crowded(office)["b"]

    def corrects(name: str, day: str) -> None:
        office.world.engine.before_copy = lambda job: None
        office.world.engine.cell = lambda job, unit: Cell(rows=99)
        office.release(Request(restate=((name, days(day)),)))

    office.world.engine.before_copy = lambda job: corrects("b", "03")
    run(office, crowd)
    assert rows(office, "b")["03"] == 99 and len({s.version for s in office.prod.pointers["a"].segments}) == 2
    with pytest.raises(PromotionError, match="it moved, or a plan of it was opened"):
        run(office, other)
    office.world.engine.before_copy = lambda job: corrects("b", "07")
    with pytest.raises(PromotionError, match="it moved, or a plan of it was opened"):
        run(office, crowded(office)["b"])
    assert (rows(office, "b")["03"], rows(office, "b")["07"]) == (99, 99)
    assert [e.reason for e in office.world.control.ledger.entries(["b"]) if e.kind == "failed"]
    run(office, crowded(office)["b"])
    assert (rows(office, "b")["03"], rows(office, "b")["07"]) == (99, 99) and crowded(office, most=1) == {}


def test_code_that_is_not_shown_joins_nothing(office: Office) -> None:
    """Its columns and cadence need not be those of the tables."""
    office.change(a="2")
    assert set(crowded(office)) == {"b"}


def test_only_one_model_goes_back(office: Office) -> None:
    """A copy of another model's rows since is no reason to take that one along."""
    office.change(c="2")
    office.release()
    run(office, crowded(office)["a"])
    now = office.prod.pointers["a"]
    assert office.back(select=["c"]).obstacles == () and office.prod.pointers["c"].version == "c-1"
    assert office.prod.pointers["a"] == now


def test_a_copy_says_when_its_rows_were_computed(office: Office) -> None:
    """Late source data, and estimates, go by that."""
    crowd = crowded(office)["a"]

    def built() -> dict[str, dict[Interval, object]]:
        found: dict[str, dict[Interval, object]] = {}
        for e in office.world.control.ledger.entries(["a"], kinds=[Kind.BUILT]):
            found.setdefault(e.version, {})[e.interval] = e.at, e.seconds, e.inputs
        return found

    apart = {day: said for s in crowd.corrections for day, said in built()[s.version].items()}
    run(office, crowd)
    assert built()[crowd.version] == apart
