"""Going back: older pointers, newer days built first, nothing lost, nothing torn apart, and back again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.build.engine import Job, ModelInput
from backfill_assets.core.errors import BuildError, PlanError, PromotionError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Consumer
from backfill_assets.core.segments import Segment
from backfill_assets.plan.stages import Request
from backfill_assets.promote.promote import promote
from backfill_assets.state.ledger import Kind
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import NOW, Cell, a_model, a_project, days, ranges
from backfill_assets_tests.unit.promote.office import MODELS, Office


@pytest.fixture
def office() -> Office:
    """Version 1 of everything, then version 2 of a and b, then two days more."""
    office = Office()
    office.release()
    office.change(a="2", b="2")
    office.release()
    office.a_day()
    office.a_day()
    return office


def test_every_promotion_is_a_release(office: Office) -> None:
    """Who moved what from where to where, in the order of commits; growth is told from changes."""
    first, second, third, fourth = office.releases
    assert [r.by for r in office.releases] == ["ana", "ana", "routine", "routine"]
    assert [m.model for m in first.moves] == ["a", "b", "c"] and all(m.before is None for m in first.moves)
    moved = {m.model: (m.before.version, m.after.version) for m in second.moves if m.before and m.after}
    assert moved == {"a": ("a-1", "a-2"), "b": ("b-1", "b-2")}
    assert not second.growth and third.growth and fourth.growth


def test_back_to_before_the_last_change(office: Office) -> None:
    """Not to the day before: what was gained since is built by the older versions, then all move in one commit."""
    before = office.prod
    found, proofs = office.look()
    assert found.release == office.releases[0]
    assert {s.model: str(s.lacks) for s in found.steps} == dict.fromkeys("ab", "2024-01-11..2024-01-12")
    assert all(p.files == 10 and not p.broken and not p.red for p in proofs)
    ended = office.back()
    assert ended.moved is not None and ended.moved.revision == before.revision + 1
    assert {m: p.covers for m, p in ended.moved.pointers.items()} == {m: p.covers for m, p in before.pointers.items()}
    assert {m: p.version for m, p in ended.moved.pointers.items()} == {"a": "a-1", "b": "b-1", "c": "c-1"}
    old = {m.model: m.after for m in office.releases[0].moves}
    for name in "ab":
        wanted = old[name]
        assert wanted is not None and ended.moved.pointers[name].segments[0] == wanted.segments[0], "the rows of then"
    assert office.releases[-1].back_to == office.releases[0].id and office.releases[-1].by == "bob"


def test_back_and_forth(office: Office) -> None:
    """A rollback is undone by another one; days that came in between are kept both ways."""
    office.back()
    office.a_day()
    there = office.prod
    ended = office.back()
    assert ended.moved is not None
    assert {m: p.version for m, p in ended.moved.pointers.items()} == {"a": "a-2", "b": "b-2", "c": "c-1"}
    assert {m: p.covers for m, p in ended.moved.pointers.items()} == {m: p.covers for m, p in there.pointers.items()}
    writes = len(office.world.engine.writes)
    again = office.back()
    assert again.moved is not None and again.moved.pointers["a"].version == "a-1"
    assert len(office.world.engine.writes) == writes, "everything was built by then"


def test_at_once(office: Office) -> None:
    """Nothing is built; what is missing is told, and the next routine run brings it."""
    writes = len(office.world.engine.writes)
    ended = office.back(at_once=True)
    assert ended.moved is not None and len(office.world.engine.writes) == writes
    assert {s.model: s.lacks for s in ended.found.steps} == {m: ranges(days("11", "12")) for m in "ab"}
    assert str(office.prod.pointers["a"].covers) == "2024-01-01..2024-01-10"
    office.a_day()
    assert str(office.prod.pointers["a"].covers) == "2024-01-01..2024-01-13"
    assert office.prod.pointers["a"].version == "a-1"


def test_what_cannot_be_built_keeps_everything_where_it_is(office: Office) -> None:
    """No pointer moves, nothing is lost, and the result says what lacks."""
    before = office.prod

    def fail(job: Job, interval: Interval) -> None:
        raise BuildError("no")

    office.world.engine.before_write = fail
    ended = office.back()
    assert ended.moved is None and not ended.obstacles and ended.found.lacking
    assert office.prod == before


def test_a_red_day_keeps_everything_where_it_is(office: Office) -> None:
    """The older version's own audits decide."""
    before = office.prod
    office.world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": 1})
    ended = office.back()
    assert ended.moved is None and office.prod == before


def test_days_that_come_meanwhile_are_built_too(office: Office) -> None:
    """Prod gains a day while the rollback builds."""
    done: list[int] = []

    def one_more(job: Job, interval: Interval) -> None:
        if not done:
            done.append(1)
            office.world.engine.before_write = lambda job, interval: None
            office.a_day()

    office.world.engine.before_write = one_more
    ended = office.back()
    assert ended.moved is not None
    assert {str(ended.moved.pointers[m].covers) for m in "abc"} == {"2024-01-01..2024-01-13"}


def test_a_lost_race_moves_nothing(office: Office) -> None:
    """Somebody promotes between the last look and the move."""
    found, _ = office.look()
    office.a_day()
    with pytest.raises(PromotionError, match="moved while"):
        promote(office.world.control.environments, found.environment, found.pointers, None, note=ReleaseNote(by="bob"))


@pytest.mark.parametrize("one", ["a", "b"])
def test_one_of_two_that_belong_together(office: Office, one: str) -> None:
    """Neither the reader nor what it reads goes back alone; the remedy names both. A model beside them may."""
    ended = office.back(select=[one])
    assert ended.moved is None
    [obstacle] = ended.obstacles
    assert obstacle.model == "b" and "--select a,b" in obstacle.remedy
    assert office.back(select=["a,b"]).moved is not None


def test_missing_files_are_told_and_forbid_it(office: Office) -> None:
    """Also at once: nobody is pointed at rows that cannot be read."""
    office.world.tables.lost_files.add(("a", days("03").start))
    _, proofs = office.look()
    assert [p.broken for p in proofs if p.model == "a"] == [("2024-01-03 is missing",)]
    for at_once in (False, True):
        ended = office.back(at_once=at_once)
        assert ended.moved is None and "2024-01-03 is missing" in str(ended.obstacles[0])


def test_rows_that_failed_since_are_told(office: Office) -> None:
    """An audit was tightened and found an older day red: only on purpose."""
    world = office.world
    built = next(e for e in world.control.ledger.entries(["a"], kinds=[Kind.BUILT]) if e.version == "a-1")
    bad = replace(built, kind=Kind.INVALIDATED, interval=days("02"), table_commit=99, id="", at=NOW)
    world.control.ledger.append([bad])
    ended = office.back()
    assert ended.moved is None and ended.obstacles[0].intervals == ranges(days("02"))
    assert office.back(at_once=True).moved is not None


def test_a_model_that_was_not_there_goes(office: Office) -> None:
    """Its view with it; not while a consumer reads it, unless at once."""
    models = (*MODELS, a_model("d", "c"))
    world = office.world
    world.project = a_project(*models, versions={"a": "2", "b": "2"})
    office.release()
    consumer = Consumer(name="board", reads=("d",), owner="eva", file=MODELS[0].path, line=1)
    world.project = replace(world.project, consumers={"board": consumer})
    ended = office.back()
    assert ended.moved is None and "board reads it" in str(ended.obstacles[0])
    world.project = replace(world.project, consumers={})
    ended = office.back()
    assert ended.moved is not None and set(ended.moved.pointers) == set("abc")
    again = office.back()
    assert again.moved is not None and set(again.moved.pointers) == set("abcd")


def test_days_that_the_older_version_never_has(office: Office) -> None:
    """The newer version began earlier: those days would go, which takes --now."""
    early = tuple(replace(m, start=MODELS[0].start - timedelta(days=2)) if m.name == "c" else m for m in MODELS)
    office.world.project = a_project(*early, versions={"a": "2", "b": "2", "c": "2"})
    office.release()
    ended = office.back(select=["c"])
    assert ended.moved is None and ended.obstacles[0].intervals == ranges(days("2023-12-30", "2023-12-31"))
    assert office.back(select=["c"], at_once=True).moved is not None
    assert str(office.prod.pointers["c"].covers) == "2024-01-01..2024-01-12"


def test_a_restatement_is_taken_back(office: Office) -> None:
    """Earlier rows of the same version, with what read them; days gained since are kept without building."""
    before = office.shown()
    office.release(Request(restate=(("a", days("03")),)))
    office.a_day()
    writes = len(office.world.engine.writes)
    assert office.back(select=["a"]).obstacles[0].model == "b", "b read the corrected rows"
    ended = office.back()
    assert ended.moved is not None and len(office.world.engine.writes) == writes
    assert {s.version for m in "ab" for s in ended.moved.pointers[m].segments} == {"a-2", "b-2"}
    assert [s.model for s in ended.found.steps] == ["a", "b"]
    assert {str(ended.moved.pointers[m].covers) for m in "abc"} == {"2024-01-01..2024-01-13"}
    assert before != office.shown()


def test_corrections_of_then_are_read() -> None:
    """Days that are built for the older release read its restated days, not those of the present one."""
    office = Office()
    office.release()
    office.release(Request(restate=(("a", days("10")),)))
    office.change(a="2", b="2")
    office.release()
    office.a_day()
    read: dict[str, tuple[Segment, ...]] = {}

    def note(job: Job, interval: Interval) -> None:
        if job.model.name == "b":
            source = job.inputs["a"]
            assert isinstance(source, ModelInput)
            read[job.version] = source.over

    office.world.engine.before_write = note
    ended = office.back()
    assert ended.moved is not None
    [over] = read["b-1"]
    assert over.version.startswith("a-1.") and over.interval == days("10")
    assert over in ended.moved.pointers["a"].segments


def test_nothing_to_go_back_to() -> None:
    """Before the first release, and when only days came since."""
    office = Office()
    with pytest.raises(PromotionError, match="no older release"):
        office.look()
    office.release()
    office.a_day()
    with pytest.raises(PromotionError, match="no older release"):
        office.look()
    found, _ = office.look(office.releases[0].id)
    assert found.steps == (), "its days are kept"


def test_names_of_releases(office: Office) -> None:
    """An id, a beginning or an end that is unique; else the ones that come close."""
    first = office.releases[0]
    assert office.look(first.id)[0].release == first == office.look(first.id[-6:])[0].release
    with pytest.raises(PromotionError, match="several releases are called r2"):
        office.look("r2")
    with pytest.raises(PromotionError) as unknown:
        office.look(first.id[:-1] + "?")
    assert first.id in unknown.value.fix
    with pytest.raises(PlanError, match="no model named x"):
        office.look(select=["x"])


def test_newer_code_is_a_change_again_at_no_cost(office: Office) -> None:
    """After going back, the plan of the newer code has nothing to build and can be promoted."""
    office.back()
    plan = office.world.plan(now=office.now)
    assert plan.work == () and {m for m, c in plan.changes.items() if c.category.value == "breaking"} == {"a", "b"}
    office.release()
    assert office.prod.pointers["a"].version == "a-2"
