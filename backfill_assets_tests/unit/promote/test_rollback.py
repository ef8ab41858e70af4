"""Going back: older pointers, newer days built first, nothing lost, nothing torn apart, and back again."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.build.engine import Job, ModelInput
from backfill_assets.cli.rollback import print_end
from backfill_assets.core.errors import BuildError, PlanError, PromotionError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Consumer
from backfill_assets.core.segments import Segment
from backfill_assets.plan.stages import Request
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.promote.promote import promote
from backfill_assets.state.ledger import Kind, by_version
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import NOW, Cell, a_model, a_project, days, ranges
from backfill_assets_tests.unit.promote.rollback_world import MODELS, ProjectHistory


@pytest.fixture
def history() -> ProjectHistory:
    """Version 1 of everything, then version 2 of a and b, then two days more."""
    history = ProjectHistory()
    history.release()
    history.change(a="2", b="2")
    history.release()
    history.a_day()
    history.a_day()
    return history


def test_every_promotion_is_a_release(history: ProjectHistory) -> None:
    """Who moved what from where to where, in the order of commits; growth is told from changes."""
    first, second, third, fourth = history.releases
    assert [r.by for r in history.releases] == ["ana", "ana", "routine", "routine"]
    assert [m.model for m in first.moves] == ["a", "b", "c"] and all(m.before is None for m in first.moves)
    moved = {m.model: (m.before.version, m.after.version) for m in second.moves if m.before and m.after}
    assert moved == {"a": ("a-1", "a-2"), "b": ("b-1", "b-2")}
    assert not second.growth and third.growth and fourth.growth


def test_what_came_since_is_not_read_from_another_place(history: ProjectHistory) -> None:
    """The source is declared elsewhere by now: its rows were never published under the older version. With the old
    entry it goes back."""
    code = history.world.project
    elsewhere = json.dumps({"name": "raw", "path": "/elsewhere"})
    history.world.project = replace(
        code, sources={n: replace(s, path="/elsewhere", declared=elsewhere) for n, s in code.sources.items()}
    )
    ended = history.back()
    assert ended.moved is None
    told = [o for o in ended.obstacles if "its source raw is declared otherwise" in o.what]
    assert [(o.model, str(o.intervals)) for o in told] == [("a", "2024-01-11..2024-01-12")]
    built = {e.version for e in history.world.control.ledger.entries(["a", "b"]) if e.interval.end > days("11").start}
    assert built == {"a-2", "b-2"}, "nothing was built by the older versions"
    history.world.project = code
    assert history.back().moved


def test_what_is_read_elsewhere_is_given_up_at_once(history: ProjectHistory) -> None:
    """Nothing is built."""
    code = history.world.project
    elsewhere = json.dumps({"name": "raw", "path": "/elsewhere"})
    history.world.project = replace(code, sources={n: replace(s, declared=elsewhere) for n, s in code.sources.items()})
    assert history.back(at_once=True).moved
    assert str(history.prod.pointers["a"].covers) == "2024-01-01..2024-01-10"


def test_back_to_before_the_last_change(history: ProjectHistory) -> None:
    """Not to the day before: what was gained since is built by the older versions, then all move in one commit."""
    before = history.prod
    found, proofs = history.look()
    assert found.release == history.releases[0]
    assert {s.model: str(s.lacks) for s in found.steps} == dict.fromkeys("ab", "2024-01-11..2024-01-12")
    assert all(p.files == 10 and not p.broken and not p.red for p in proofs)
    ended = history.back()
    assert ended.moved is not None and ended.moved.revision == before.revision + 1
    assert {m: p.covers for m, p in ended.moved.pointers.items()} == {m: p.covers for m, p in before.pointers.items()}
    assert {m: p.version for m, p in ended.moved.pointers.items()} == {"a": "a-1", "b": "b-1", "c": "c-1"}
    old = {m.model: m.after for m in history.releases[0].moves}
    for name in "ab":
        wanted = old[name]
        assert wanted is not None and ended.moved.pointers[name].segments[0] == wanted.segments[0], "the rows of then"
    assert history.releases[-1].back_to == history.releases[0].id and history.releases[-1].by == "bob"


def test_back_and_forth(history: ProjectHistory) -> None:
    """A rollback is undone by another one; days that came in between are kept both ways. Run again, as by somebody who
    was killed at its end, or by two who are in a hurry, it changes nothing."""
    first = history.back()
    done = history.releases[-1]
    for _ in range(2):
        same = history.back()
        assert same.moved is None and not same.obstacles and not same.found.steps
        assert same.found.done == done and same.found.undo == first.found.undo
        history.a_day()
    there = history.prod
    ended = history.back(first.found.undo)
    assert ended.moved is not None
    assert {m: p.version for m, p in ended.moved.pointers.items()} == {"a": "a-2", "b": "b-2", "c": "c-1"}
    assert {m: p.covers for m, p in ended.moved.pointers.items()} == {m: p.covers for m, p in there.pointers.items()}
    writes = len(history.world.engine.writes)
    again = history.back()
    assert again.moved is not None and again.moved.pointers["a"].version == "a-1", "the change is the last one again"
    assert len(history.world.engine.writes) == writes, "everything was built by then"


def test_a_rollback_of_some_models(history: ProjectHistory) -> None:
    """What is meant is not guessed: it may be undone, or be gone on with. Of the same models it is done."""
    history.change(a="2", b="2", c="2")
    history.release()
    history.change(a="3", b="3", c="3")
    history.release()
    ended = history.back(select=["c"])
    assert ended.moved is not None and history.back(select=["c"]).found.done == history.releases[-1]
    with pytest.raises(PromotionError, match="is a rollback of other models than a, b") as refused:
        history.back()
    assert f"backfill rollback {ended.found.release.id} --select a,b" in refused.value.fix
    assert f"or undo it: backfill rollback {ended.found.undo}" in refused.value.fix
    assert history.back(ended.found.release.id, ["a", "b"]).moved is not None
    assert history.prod.versions == {"a": "a-2", "b": "b-2", "c": "c-2"}


def test_at_once(history: ProjectHistory) -> None:
    """Nothing is built; what is missing is told, and the next routine run brings it."""
    writes = len(history.world.engine.writes)
    ended = history.back(at_once=True)
    assert ended.moved is not None and len(history.world.engine.writes) == writes
    assert {s.model: s.lacks for s in ended.found.steps} == {m: ranges(days("11", "12")) for m in "ab"}
    assert str(history.prod.pointers["a"].covers) == "2024-01-01..2024-01-10"
    history.a_day()
    assert str(history.prod.pointers["a"].covers) == "2024-01-01..2024-01-13"
    assert history.prod.pointers["a"].version == "a-1"


def test_what_cannot_be_built_keeps_everything_where_it_is(history: ProjectHistory) -> None:
    """No pointer moves, nothing is lost, and the result says what lacks."""
    before = history.prod

    def fail(job: Job, interval: Interval) -> None:
        raise BuildError("no")

    history.world.engine.before_write = fail
    ended = history.back()
    assert ended.moved is None and not ended.obstacles and ended.found.lacking
    assert history.prod == before


def test_a_red_day_keeps_everything_where_it_is(history: ProjectHistory) -> None:
    """The older version's own audits decide."""
    before = history.prod
    history.world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": 1})
    ended = history.back()
    assert ended.moved is None and history.prod == before


def test_days_that_come_meanwhile_are_built_too(history: ProjectHistory) -> None:
    """Prod gains a day while the rollback builds."""
    done: list[int] = []

    def one_more(job: Job, interval: Interval) -> None:
        if not done:
            done.append(1)
            history.world.engine.before_write = lambda job, interval: None
            history.a_day()

    history.world.engine.before_write = one_more
    ended = history.back()
    assert ended.moved is not None
    assert {str(ended.moved.pointers[m].covers) for m in "abc"} == {"2024-01-01..2024-01-13"}


def test_a_lost_race_moves_nothing(history: ProjectHistory) -> None:
    """Somebody promotes between the last look and the move."""
    found, _ = history.look()
    history.a_day()
    with pytest.raises(PromotionError, match="moved while"):
        promote(history.world.control.environments, found.environment, found.pointers, None, note=ReleaseNote(by="bob"))


@pytest.mark.parametrize("one", ["a", "b"])
def test_one_of_two_that_belong_together(history: ProjectHistory, one: str) -> None:
    """Neither the reader nor what it reads goes back alone; the remedy names both. A model beside them may."""
    ended = history.back(select=[one])
    assert ended.moved is None
    [obstacle] = ended.obstacles
    assert obstacle.model == "b" and "--select a,b" in obstacle.remedy
    assert history.back(select=["a,b"]).moved is not None


def test_missing_files_are_told_and_forbid_it(history: ProjectHistory) -> None:
    """Also at once: nobody is pointed at rows that cannot be read."""
    history.world.tables.lost_files.add(("a", days("03").start))
    _, proofs = history.look()
    assert [p.broken for p in proofs if p.model == "a"] == [("2024-01-03 is missing",)]
    for at_once in (False, True):
        ended = history.back(at_once=at_once)
        assert ended.moved is None and "2024-01-03 is missing" in str(ended.obstacles[0])


def test_rows_that_failed_since_are_told(history: ProjectHistory) -> None:
    """An audit was tightened and found an older day red: only on purpose."""
    world = history.world
    built = next(e for e in world.control.ledger.entries(["a"], kinds=[Kind.BUILT]) if e.version == "a-1")
    bad = replace(built, kind=Kind.INVALIDATED, interval=days("02"), table_commit=99, id="", at=NOW)
    world.control.ledger.append([bad])
    ended = history.back()
    assert ended.moved is None and ended.obstacles[0].intervals == ranges(days("02"))
    assert history.back(at_once=True).moved is not None


def test_a_model_that_was_not_there_goes(history: ProjectHistory) -> None:
    """Its view with it; not while a consumer reads it, unless at once."""
    models = (*MODELS, a_model("d", "c"))
    world = history.world
    world.project = a_project(*models, versions={"a": "2", "b": "2"})
    history.release()
    consumer = Consumer(name="board", reads=("d",), owner="eva", file=MODELS[0].path, line=1)
    world.project = replace(world.project, consumers={"board": consumer})
    ended = history.back()
    assert ended.moved is None and "board reads it" in str(ended.obstacles[0])
    world.project = replace(world.project, consumers={})
    ended = history.back()
    assert ended.moved is not None and set(ended.moved.pointers) == set("abc")
    again = history.back(ended.found.undo)
    assert again.moved is not None and set(again.moved.pointers) == set("abcd")


def test_days_that_the_older_version_never_has(history: ProjectHistory) -> None:
    """The newer version began earlier: those days would go, which takes --now."""
    early = tuple(replace(m, start=MODELS[0].start - timedelta(days=2)) if m.name == "c" else m for m in MODELS)
    history.world.project = a_project(*early, versions={"a": "2", "b": "2", "c": "2"})
    history.release()
    ended = history.back(select=["c"])
    assert ended.moved is None and ended.obstacles[0].intervals == ranges(days("2023-12-30", "2023-12-31"))
    assert history.back(select=["c"], at_once=True).moved is not None
    assert str(history.prod.pointers["c"].covers) == "2024-01-01..2024-01-12"


def test_a_restatement_is_taken_back(history: ProjectHistory) -> None:
    """Earlier rows of the same version, with what read them; days gained since are kept without building."""
    before = history.shown()
    history.release(Request(restate=(("a", days("03")),)))
    history.a_day()
    writes = len(history.world.engine.writes)
    assert str(history.back(select=["a"]).obstacles[0]).startswith("b: was computed from a as it is shown now")
    assert str(history.back(select=["b"]).obstacles[0]).startswith("a: what b showed then was computed from it as it")
    ended = history.back()
    assert ended.moved is not None and len(history.world.engine.writes) == writes
    assert {s.version for m in "ab" for s in ended.moved.pointers[m].segments} == {"a-2", "b-2"}
    assert [s.model for s in ended.found.steps] == ["a", "b"]
    assert {str(ended.moved.pointers[m].covers) for m in "abc"} == {"2024-01-01..2024-01-13"}
    assert before != history.shown()


def test_what_routine_runs_settled_stays(history: ProjectHistory) -> None:
    """Late rows of a and b came since c was changed: going back on c leaves them. With what moves together with a
    model that goes back, and to a release that is named, they go back too."""
    history.change(a="2", b="2", c="2")
    history.release()
    history.release(Request(restate=(("a", days("03")),)), by="routine", settling=True)
    found, _ = history.look()
    assert ([s.model for s in found.steps], found.settled) == (["c"], ("a", "b"))
    named, _ = history.look(found.release.id)
    assert ([s.model for s in named.steps], named.settled) == (["a", "b", "c"], ())
    settled = {name: history.prod.pointers[name] for name in "ab"}
    ended = history.back()
    assert ended.moved is not None and ended.moved.versions["c"] == "c-1"
    assert {name: ended.moved.pointers[name] for name in "ab"} == settled
    history.release(Request(restate=(("a", days("05")),)), by="routine", settling=True)
    forth, _ = history.look(ended.found.undo)
    assert ([s.model for s in forth.steps], forth.settled) == (["c"], ("a", "b")), "forth again"

    history.change(a="3", b="3", c="1")
    history.release()
    history.release(Request(restate=(("a", days("04")),)), by="routine", settling=True)
    found, _ = history.look()
    assert ([s.model for s in found.steps], found.settled) == (["a", "b"], ())


def test_what_is_settled_while_it_is_built_stays(history: ProjectHistory) -> None:
    """A routine run settles c while the older version builds the days that it lacks."""
    engine, code = history.world.engine, history.world.project

    def settle(job: Job, interval: Interval) -> None:
        engine.before_write = lambda job, interval: None
        history.release(Request(restate=(("c", days("03")),)), by="routine", settling=True)
        assert history.world.project is code

    before = history.prod.pointers["c"]
    found, _ = history.look()
    assert found.lacking and not found.settled
    engine.before_write = settle
    ended = history.back()
    assert ended.moved is not None and ended.found.settled == ("c",)
    assert ended.moved.versions == {"a": "a-1", "b": "b-1", "c": "c-1"}
    assert ended.moved.pointers["c"] == history.prod.pointers["c"] != before


def test_a_model_that_goes_takes_no_late_rows_along() -> None:
    """It was new, and read what has settled since: it goes, and what it read stays."""
    history = ProjectHistory(a_model("a", "raw"), a_model("n", "a"))
    history.models = history.models[:1]
    history.change()
    history.release()
    history.models = (*history.models, a_model("n", "a"))
    history.change()
    history.release()
    history.release(Request(restate=(("a", days("03")),)), by="routine", settling=True)
    found, _ = history.look()
    assert ([s.model for s in found.steps], found.settled) == (["n"], ("a",))
    ended = history.back()
    assert ended.moved is not None and "n" not in ended.moved.pointers
    assert any(s.version != "a-1" for s in ended.moved.pointers["a"].segments), "the late rows"


def test_parts_of_intervals_are_no_rows_to_go_back_to() -> None:
    """A day was shown while it was open, by choice: nothing is wrong with that, and a way back to it while it lasts is
    one to its part. Once it is over, the older version builds it whole."""
    history = ProjectHistory()
    history.release(Request(ignore_cron=True))
    history.change(c="2")
    history.release(Request(ignore_cron=True))
    found, proofs = history.look()
    assert not any(p.red for p in proofs), "the ledger knows what built it"
    assert (found.lacking, {str(p.covers) for p in found.pointers}) == (False, {"2024-01-01..2024-01-11"})
    history.a_day()
    found, _ = history.look()
    assert {s.model: str(s.lacks) for s in found.steps} == {"c": "2024-01-11"}
    ended = history.back()
    assert ended.moved is not None and str(ended.moved.pointers["c"].covers) == "2024-01-01..2024-01-11"
    [last] = [s for s in ended.moved.pointers["c"].segments if s.interval.holds(days("11").start)]
    [built] = [
        e
        for e in history.world.control.ledger.entries(["c"])
        if e.table_commit == last.commit and e.version == "c-1" and e.kind is Kind.BUILT
    ]
    assert built.through is None


def a_reader_of_yesterday(restated: str) -> ProjectHistory:
    """b reads the day before, too. A day of a is restated, then two days come by a routine run."""
    history = ProjectHistory(a_model("a", "raw"), a_model("b", "a", lookback=1), a_model("c"))
    history.release()
    history.release(Request(restate=(("a", days(restated)),)))
    history.a_day()
    history.a_day()
    return history


def test_days_that_read_what_goes_back_do_not_stay_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    """The day after the restated one came later and read it: going back says so, and which command mends it; who goes
    back at once has the rest as it was."""
    history = a_reader_of_yesterday("10")
    assert not stale(history)
    refused = history.back()
    assert refused.moved is None
    [loss] = refused.obstacles
    print_end(refused, at_once=False)
    assert "Not rolled back: 1 thing is in the way" in capsys.readouterr().out
    assert (loss.model, str(loss.intervals)) == ("b", "2024-01-11")
    assert "computed from rows of a that would be out of sight" in loss.what
    assert loss.remedy.endswith("backfill apply --restate b:2024-01-11"), loss.remedy
    done = history.back(at_once=True)
    assert done.moved is not None
    print_end(done, at_once=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "b 2024-01-11: computed from rows of a that are out of sight" in said
    assert "To compute it again: backfill apply --restate b:2024-01-11" in said
    first, *steps = done.found.steps
    shorter = replace(done, found=replace(done.found, steps=(replace(first, never=ranges(days("01", "02"))), *steps)))
    print_end(shorter, at_once=True)
    said = " ".join(capsys.readouterr().out.split())
    assert f"{first.model} 2024-01-01..2024-01-02, which older versions do not have" in said and "Missing" not in said
    assert stale(history) == {"b": "2024-01-11"}
    history.release(Request(restate=(("b", days("11")),)))
    assert not stale(history)


def stale(history: ProjectHistory) -> dict[str, str]:
    """What is shown beside other rows than it was computed from: model → days."""
    entries = by_version(history.world.control.ledger.entries())
    return {o.model: str(o.intervals) for o in stale_inputs(history.world.project, history.prod, entries)}


def test_days_that_read_only_what_stays_need_nobody() -> None:
    """A restated day that no newer one reads is taken back, and newer days stay."""
    history = a_reader_of_yesterday("09")
    assert history.back().moved is not None and not stale(history)
    assert str(history.prod.pointers["b"].covers) == "2024-01-01..2024-01-12"


def test_corrections_of_then_are_read() -> None:
    """Days that are built for the older release read its restated days, not those of the present one."""
    history = ProjectHistory()
    history.release()
    history.release(Request(restate=(("a", days("10")),)))
    history.change(a="2", b="2")
    history.release()
    history.a_day()
    read: dict[str, tuple[Segment, ...]] = {}

    def note(job: Job, interval: Interval) -> None:
        if job.model.name == "b":
            source = job.inputs["a"]
            assert isinstance(source, ModelInput)
            read[job.version] = source.over

    history.world.engine.before_write = note
    ended = history.back()
    assert ended.moved is not None
    [over] = read["b-1"]
    assert over.version.startswith("a-1.") and over.interval == days("10")
    assert over in ended.moved.pointers["a"].segments


def test_nothing_to_go_back_to() -> None:
    """Before the first release, and when only days came since."""
    history = ProjectHistory()
    with pytest.raises(PromotionError, match="no older release"):
        history.look()
    history.release()
    history.a_day()
    with pytest.raises(PromotionError, match="no older release"):
        history.look()
    found, _ = history.look(history.releases[0].id)
    assert found.steps == (), "its days are kept"


def test_names_of_releases(history: ProjectHistory) -> None:
    """An id, a beginning or an end that is unique; else the ones that come close."""
    first = history.releases[0]
    assert history.look(first.id)[0].release == first == history.look(first.id[-6:])[0].release
    with pytest.raises(PromotionError, match="several releases are called r2"):
        history.look("r2")
    with pytest.raises(PromotionError) as unknown:
        history.look(first.id[:-1] + "?")
    assert first.id in unknown.value.fix
    with pytest.raises(PlanError, match="no model named x"):
        history.look(select=["x"])


def test_newer_code_is_a_change_again_at_no_cost(history: ProjectHistory) -> None:
    """After going back, the plan of the newer code has nothing to build and can be promoted."""
    history.back()
    plan = history.world.plan(now=history.now)
    assert plan.work == () and {m for m, c in plan.changes.items() if c.category.value == "breaking"} == {"a", "b"}
    history.release()
    assert history.prod.pointers["a"].version == "a-2"


def test_what_is_not_shown_any_more_does_not_grow() -> None:
    """Before a merge of two models into one, a reader has days that the merged ones never got: nothing builds these on
    the way back, so it is said before anything is done, with the way that there is."""
    history = ProjectHistory(a_model("a", "raw"), a_model("b", "a"))
    history.release()
    first = history.releases[-1].id
    history.models = (a_model("c", "raw"), a_model("b", "c"))
    history.change(b="b-2")
    history.release()
    assert history.back("nothing", ["a"]).moved is not None
    history.a_day()
    before = history.shown()

    found, _ = history.look(first)
    [loss] = [o for o in found.losses if "nothing builds" in o.what]
    assert (loss.model, str(loss.intervals)) == ("b", "2024-01-11") and "2024-01-11 of a" in loss.what
    assert "--now" in loss.remedy
    assert history.back(first).moved is None and history.shown() == before
    assert history.back(first, at_once=True).moved is not None
    assert history.shown() == {"a": "a-1 2024-01-01..2024-01-10", "b": "b-1 2024-01-01..2024-01-10"}
