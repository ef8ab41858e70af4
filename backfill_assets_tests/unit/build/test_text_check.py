"""Texts that count as unchanged are tried on data: a sample, computed once; late source data is no fault of theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.build.text_check import compare_texts
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Override
from backfill_assets.plan.changed_texts import SAMPLED, Texts, sample_intervals
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.gate import texts_hold
from backfill_assets.promote.proposal import Proposal
from backfill_assets_tests.fakes import Cell, World, a_model, a_pointer, a_project, days, ranges


def rewritten_world(**more: object) -> World:
    """`a`, built by one text and loaded with another one of the same fingerprint, and `b`, which reads it."""
    world = World(a_model("a", "raw", text="old", code="SELECT 'old'"), a_model("b", "a"), **more)  # type: ignore[arg-type]
    apply(world.bench(), world.plan())
    model = replace(world.project.models["a"], text="new", code="SELECT 'new'")
    world.project = replace(world.project, models=world.project.models | {"a": model})
    return world


def by_text(**rows: int) -> object:
    """Cells that depend on the text that computes them."""
    return lambda job, unit: Cell(rows=rows.get(job.model.text, 10))


def test_a_text_that_gives_the_same_rows_is_tried_once() -> None:
    """The plan names it, five intervals are computed beside the table, and the next plan has nothing left to say."""
    world = rewritten_world()
    before = world.tables.head("a", "a-1")
    plan = world.plan()
    [text] = plan.texts
    assert (text.model, text.version, len(list(text.intervals.split(world.project.models["a"].cadence)))) == (
        "a",
        "a-1",
        SAMPLED,
    )
    assert not plan.work
    [check] = compare_texts(world.bench(), plan.texts)
    assert check.equal
    assert check.intervals == text.intervals
    assert world.tables.head("a", "a-1") == before, "the table itself is not written to"
    assert world.plan().texts == ()
    assert world.plan().id == plan.id
    assert not world.facts().texts.refuted


def test_a_text_that_gives_other_rows_is_found() -> None:
    """It is named with the intervals, and stays a finding until the text is another one."""
    world = rewritten_world()
    world.engine.cell = by_text(new=11)  # type: ignore[assignment]
    [check] = compare_texts(world.bench(), world.plan().texts)
    assert not check.equal
    assert check.differ == check.intervals
    facts = world.facts()
    assert [c.model for c in facts.texts.refuted] == ["a"]
    assert facts.texts.unchecked == ()
    mended = replace(world.project.models["a"], text="old", code="SELECT 'old'")
    world.project = replace(world.project, models=world.project.models | {"a": mended})
    assert world.facts().texts.changed == ()


def test_late_data_is_no_fault_of_the_text() -> None:
    """Where the old text gives, by now, what the new one gives, the source changed."""
    world = rewritten_world()
    world.engine.cell = by_text(new=12, old=12)  # type: ignore[assignment]
    [check] = compare_texts(world.bench(), world.plan().texts)
    assert check.equal


@pytest.mark.parametrize("moved", [False, True])
def test_an_authors_word_covers_no_other_rows_upstream(moved: bool) -> None:
    """`same_as` of a version that read another version of its upstream: that the old text gives other rows from it as
    well is no late data."""
    world = World(a_model("a", "raw"), a_model("b", "a", text="old", code="SELECT 'old'"))
    apply(world.bench(), world.plan())
    word = Override(model="b", version="b-1", code="x", columns=(), reason="the same", place="b.sql:1")
    model = replace(world.project.models["b"], text="new", code="SELECT 'new'")
    world.project = replace(
        world.project,
        models=world.project.models | {"b": model},
        overrides={"b": word},
        fingerprints={**world.project.fingerprints, "a": "a-2" if moved else "a-1"},
    )
    world.engine.cell = by_text(new=12, old=12)  # type: ignore[assignment]
    apply(world.bench(), world.plan(Request(select=("a",))))
    [check] = compare_texts(world.bench(), world.facts().texts.changed)
    assert check.equal is not moved


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("rows", [10, 11])
def test_late_data_of_a_renamed_upstream_is_no_fault_of_the_text(rows: int, there: bool) -> None:
    """`facts` has the version that `shop` had, and other rows by now: the old text reads it by the name of then, also
    where another model is called so (`there`). A text that gives other rows is found all the same."""
    world = World(a_model("shop", "raw"), a_model("b", "shop", text="old", code="SELECT 'old'"))
    apply(world.bench(), world.plan())
    b = a_model("b", "facts", text="new", code="SELECT 'new'")
    after = a_project(*([a_model("shop", "raw")] if there else []), a_model("facts", "raw"), b)
    versions = {"facts": "shop-1", "b": "b-1", **({"shop": "shop-2"} if there else {})}
    world.project = replace(after, fingerprints=versions)
    world.engine.cell = by_text(new=rows, old=10)  # type: ignore[assignment]
    apply(world.bench(), world.plan(Request(select=("facts",))))
    [check] = compare_texts(world.bench(), world.facts().texts.changed)
    assert check.equal is (rows == 10), check


def test_a_copy_of_what_was_read_is_not_read_in_its_place() -> None:
    """Another model has the version that `shop` had; the loaded text reads `shop`, of which other columns changed."""
    world = World(a_model("shop", "raw"), a_model("b", "shop", text="old", code="SELECT 'old'"))
    apply(world.bench(), world.plan())
    b = a_model("b", "shop", text="new", code="SELECT 'new'")
    after = a_project(a_model("shop", "raw"), a_model("copy", "raw"), b)
    world.project = replace(after, fingerprints={"shop": "shop-2", "copy": "shop-1", "b": "b-1"})
    apply(world.bench(), world.plan(Request(select=("shop",))))
    [check] = compare_texts(world.bench(), world.facts().texts.changed)
    assert check.equal, check


@pytest.mark.parametrize("rows", [10, 11])
def test_names_that_are_swapped(rows: int) -> None:
    """Each is read by the name that the text of then has for it."""
    world = World(a_model("x", "raw"), a_model("y", "x"), a_model("r", "x", "y", text="old", code="SELECT 'old'"))
    apply(world.bench(), world.plan())
    r = a_model("r", "y", "x", text="new", code="SELECT 'new'")
    after = a_project(a_model("y", "raw"), a_model("x", "y"), r)
    world.project = replace(after, fingerprints={"y": "x-1", "x": "y-1", "r": "r-1"})
    world.engine.cell = by_text(new=rows, old=10)  # type: ignore[assignment]
    apply(world.bench(), world.plan(Request(select=("x", "y"))))
    [check] = compare_texts(world.bench(), world.facts().texts.changed)
    assert check.equal is (rows == 10), check


def test_a_text_that_fails_is_a_finding_and_is_tried_again() -> None:
    """An error is told, and the next plan names the text again: it may pass."""
    world = rewritten_world()

    def fail(job: Job, interval: Interval) -> None:
        if job.model.text == "new":
            raise BuildError("no such column")

    world.engine.before_write = fail
    [check] = compare_texts(world.bench(), world.plan().texts)
    assert "no such column" in check.error
    assert not check.equal
    assert [t.model for t in world.plan().texts] == ["a"]
    world.engine.before_write = lambda job, interval: None
    [check] = compare_texts(world.bench(), world.plan().texts)
    assert check.equal


def test_a_killed_check_is_taken_up() -> None:
    """What was computed of the sample is not computed again."""
    whole = rewritten_world()
    compare_texts(whole.bench(), whole.plan().texts)
    world = rewritten_world()
    before = len(world.engine.writes)

    def die(job: Job, interval: Interval) -> None:
        if len(world.engine.writes) > before + 1:
            raise KeyboardInterrupt

    world.engine.before_write = die
    with pytest.raises(KeyboardInterrupt):
        compare_texts(world.bench(), world.plan().texts)
    world.engine.before_write = lambda job, interval: None
    [check] = compare_texts(world.bench(), world.plan().texts)
    assert check.equal
    assert len(world.engine.writes) == len(whole.engine.writes) + 1, "only the batch that was killed, again"


@pytest.mark.parametrize("fails", [False, True])
def test_a_wrong_text_writes_no_rows_that_stay(fails: bool) -> None:
    """What is missing is not built by it, whatever is due: once the text is corrected, it is built by that."""
    world = World(a_model("a", "raw", text="old", code="SELECT 'old'"), a_model("b", "a"))
    apply(world.bench(), world.plan(Request(end=days("01", "05").end)))
    old, head = world.project.models["a"], world.tables.head("a", "a-1")
    world.project = replace(world.project, models=world.project.models | {"a": replace(old, text="new")})
    world.engine.cell = by_text(new=11)  # type: ignore[assignment]

    def fail(job: Job, interval: Interval) -> None:
        if fails and job.model.text == "new":
            raise BuildError("no such column")

    world.engine.before_write = fail
    for _ in range(2):
        outcome = apply(world.bench(), world.plan())["a"]
        [failure] = outcome.failures
        assert ("no such column" if fails else "gives other rows than version a-1") in failure.error
        assert not outcome.ok and "code_version" in failure.error
        assert world.tables.head("a", "a-1") == head and not outcome.built
    told = [w for w in world.plan(Request(end=days("01", "05").end)).warnings if "gives other rows" in w.what]
    assert [w.model for w in told] == ([] if fails else ["a"]), "also where nothing is due"
    world.project = replace(world.project, models=world.project.models | {"a": old})
    done = apply(world.bench(), world.plan())["a"]
    assert done.ok and str(done.built) == str(ranges(days("06", "10")))


def test_a_text_that_is_right_is_tried_before_it_builds() -> None:
    """Once: what it then builds is as good as what was there."""
    world = World(a_model("a", "raw", text="old", code="SELECT 'old'"))
    apply(world.bench(), world.plan(Request(end=days("01", "05").end)))
    model = replace(world.project.models["a"], text="new")
    world.project = replace(world.project, models={"a": model})
    assert apply(world.bench(), world.plan())["a"].ok
    assert world.plan().texts == ()


def test_what_is_not_computed_was_not_compared() -> None:
    """A check that is held, or stopped, says nothing of the days that it did not come to."""
    world = rewritten_world()
    bench = world.bench()
    bench.stop.set()
    assert compare_texts(bench, world.plan().texts) == ()
    assert [t.model for t in world.plan().texts] == ["a"], "the next run tries again"


@given(st.integers(1, 31), st.text(max_size=3))
def test_a_sample_is_the_same_each_time(count: int, seed: str) -> None:
    """The oldest, the newest and some between, of what is built; by the seed alone."""
    model = a_model("a")
    built = ranges(days("01", f"{count:02}"))
    found = sample_intervals(built, model, seed=seed)
    assert found == sample_intervals(built, model, seed=seed)
    units = list(found.split(model.cadence))
    assert len(units) == min(count, SAMPLED)
    assert not found - built
    assert units[0].start == built.intervals[0].start
    assert units[-1].end == built.intervals[-1].end


def test_the_gate_waits_for_the_comparison() -> None:
    """What a text that nobody tried would add is not shown; neither is what a text that gives other rows would."""
    world = rewritten_world()
    facts = world.facts()
    moving = a_pointer("a", "a-1", days("01", "10"))

    def obstacles(facts: Facts) -> list[str]:
        wanted = Proposal(wanted=(), pointers=(moving,))
        case = Case(project=world.project, facts=facts, versions=world.control.versions.all(), wanted=wanted)
        return [str(o) for o in texts_hold(case)]

    [waits] = obstacles(facts)
    assert "the two were not compared" in waits and "backfill apply" in waits
    world.engine.cell = by_text(new=11)  # type: ignore[assignment]
    compare_texts(world.bench(), world.plan().texts)
    [refused] = obstacles(world.facts())
    assert "gives other rows" in refused and "code_version" in refused
    assert not obstacles(replace(facts, texts=Texts()))


def test_the_gate_holds_what_a_word_stays_beside() -> None:
    """`b` stays by its author's word while `a`, which it reads, moves, and was found to give other rows from that."""
    world = World(a_model("a", "raw"), a_model("b", "a", text="old", code="SELECT 'old'"))
    apply(world.bench(), world.plan())
    word = Override(model="b", version="b-1", code="x", columns=(), reason="the same", place="b.sql:1")
    model = replace(world.project.models["b"], text="new", code="SELECT 'new'")
    versions = {**world.project.fingerprints, "a": "a-2"}
    models = world.project.models | {"b": model}
    world.project = replace(world.project, models=models, overrides={"b": word}, fingerprints=versions)
    apply(world.bench(), world.plan(Request(select=("a",))))
    world.engine.cell = by_text(new=12, old=12)  # type: ignore[assignment]
    compare_texts(world.bench(), world.facts().texts.changed)
    shown = {name: a_pointer(name, f"{name}-1", days("01", "10")) for name in ("a", "b")}
    facts = world.facts()
    facts = replace(facts, environment=replace(facts.environment, pointers=shown))

    def obstacles(version: str, overrides: dict[str, Override]) -> list[str]:
        wanted = Proposal(wanted=(), pointers=(a_pointer("a", version, days("01", "10")),))
        project = replace(world.project, overrides=overrides)
        case = Case(project=project, facts=facts, versions=world.control.versions.all(), wanted=wanted)
        return [str(o) for o in texts_hold(case)]

    [refused] = obstacles("a-2", {"b": word})
    assert refused.startswith("b") and "gives other rows" in refused and "same_as" in refused
    assert not obstacles("a-1", {"b": word}), "what does not move, or moves back, holds nothing"
    assert not obstacles("a-2", {}), "nobody's word: the code says so"
