"""What can be said of intervals without building them? Declared empty, withdrawn, and invalidated in all versions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import Withdrawn, declare_empty, withdraw
from backfill_assets.build.outcome import Outcome
from backfill_assets.cli.ledger_edits import print_withdrawn
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.plan.facts import read_facts
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Build, Invalidate, Plan, Request
from backfill_assets.promote.promote import promote
from backfill_assets.state.ledger import LEDGER, Kind
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, days, gated
from backfill_assets_tests.memory_store import MemoryTable

D, R = a_model("d", "raw", batch_size=20), a_model("r", "d", lookback=1, batch_size=20)


def declare(world: World, **request: object) -> dict[str, str]:
    asked = Request(**request)  # type: ignore[arg-type]
    found = declare_empty(world.control, world.tables, world.project, world.facts(), asked, by="ana")
    world.engine.hollow |= set(found)
    return {name: str(ranges) for name, ranges in found.items()}


def take_back(world: World, *asked: tuple[str, Interval], reason: str = "") -> tuple[Withdrawn, ...]:
    return withdraw(world.control, world.tables, world.project, asked, now=NOW, by="ana", reason=reason)


def carry_out(world: World, plan: Plan | None = None) -> dict[str, Outcome]:
    plan = plan or world.plan()
    return apply(world.bench(pins=plan.sources, patches=plan.patches), plan)


def publish(world: World, request: Request | None = None, models: tuple[str, ...] = ()) -> list[str]:
    """Promotes if it can; returns what is in the way."""
    request = request or Request()
    facts = world.facts()
    plan = make_plan(world.project, facts, request)
    verdict = gated(world.project, facts, world.control.versions.all(), request, models or plan.models, plan.patches)
    if verdict.open:
        promote(world.control.environments, facts.environment, verdict.pointers, None)
    return [f"{o.model} {o.intervals}" for o in verdict.obstacles]


def builds(plan: Plan) -> dict[str, str]:
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


def test_a_withdrawal_counts_whatever_the_clock_says() -> None:
    """The machine that built was ten minutes ahead of the one that withdraws: what was said last is what counts."""
    world = World(D)
    carry_out(world)
    ledger = world.store.table(LEDGER)
    assert isinstance(ledger, MemoryTable)
    ledger.rows = [{**row, "at": datetime.now(UTC) + timedelta(minutes=10)} for row in ledger.rows]
    take_back(world, ("d", days("03")))
    assert str(world.facts().tables.coverage["d"].green) == "2024-01-01..2024-01-02, 2024-01-04..2024-01-10"


# --- empty ------------------------------------------------------------------------------------------------------------


def test_declared_empty_days_are_complete_and_never_published() -> None:
    """What is missing of the range, and nothing else, counts as complete; no engine; what reads it can be built, and
    neither is shown: rows from nothing are no rows of prod's."""
    world = World(D, R)
    apply(world.bench(), world.plan(Request(end=days("03").end, select=("d",))))
    opened = world.engines_opened
    assert declare(world, end=days("05").end, select=("d",)) == {"d": "2024-01-04..2024-01-05"}
    assert declare(world, end=days("05").end, select=("d",)) == {}
    assert world.engines_opened == opened
    assert str(world.facts().tables.coverage["d"].empty) == "2024-01-04..2024-01-05"
    assert builds(world.plan(Request(end=days("05").end))) == {"r": "2024-01-01..2024-01-05"}
    outcomes = apply(world.bench(), world.plan(Request(end=days("05").end)))
    assert outcomes["r"].ok
    asked = Request(end=days("05").end)
    assert publish(world, asked) == ["d 2024-01-04..2024-01-05", "r 2024-01-04..2024-01-05"]
    assert publish(world, asked, models=("r",)) == ["r 2024-01-04..2024-01-05"], "nor the reader alone"
    assert not world.plan(asked).stages, "and no plan says that they could move"
    assert "declared empty" in world.plan(asked).kept["d"]
    assert publish(world, Request(end=days("03").end)) == []


def test_a_model_that_is_declared_as_a_whole_has_a_table_to_read() -> None:
    """Two models of which nothing was ever built: their reader's build makes their tables, without rows."""
    world = World(a_model("s", "raw"), a_model("d", "s"), a_model("r", "d"))
    assert set(declare(world, select=("s", "d"))) == {"s", "d"}
    outcomes = carry_out(world)
    assert outcomes["r"].ok and list(outcomes) == ["r"]
    assert {model for model, _ in world.engine.writes} == {"r"}
    assert [world.tables.cells(name, f"{name}-1") for name in ("s", "d")] == [{}, {}]
    assert world.facts().tables.coverage["d"].empty == world.project.models["d"].expected(NOW)


def test_open_intervals_are_not_declared() -> None:
    """This month is not over: there is nothing to say of it yet."""
    assert declare(World(a_model("m", "raw", cadence=Cadence.MONTHLY))) == {}


# --- withdraw ---------------------------------------------------------------------------------------------------------


def test_withdrawn_days_are_missing_again_with_what_was_built_from_them() -> None:
    """Declared and built ones alike; a day that looks back at one was built from it. Twice is once."""
    world = World(D, R)
    declare(world, end=days("02").end, select=("d",))
    carry_out(world)
    first, second = take_back(world, ("d", days("02", "04")), reason="no such days")
    assert (first.model, str(first.intervals), first.named) == ("d", "2024-01-02..2024-01-04", True)
    assert (second.model, str(second.intervals), second.named) == ("r", "2024-01-02..2024-01-05", False)
    assert builds(world.plan()) == {"d": "2024-01-02..2024-01-04", "r": "2024-01-02..2024-01-05"}
    entries = world.control.ledger.entries(kinds=[Kind.WITHDRAWN])
    assert {e.reason for e in entries} == {"no such days (by ana)"}
    assert take_back(world, ("d", days("02", "04"))) == ()
    assert len(world.control.ledger.entries(kinds=[Kind.WITHDRAWN])) == len(entries)
    assert all(o.ok for o in carry_out(world).values())
    assert str(world.facts().tables.coverage["d"].empty) == "2024-01-01"
    assert str(world.facts().tables.coverage["d"].green) == "2024-01-02..2024-01-10"


def test_published_days_are_not_taken_away() -> None:
    """Neither named, nor because they were built from what would go; nothing is written, and the remedy is named."""
    world = World(D, R)
    carry_out(world)
    assert publish(world) == []
    with pytest.raises(PlanError, match="published") as refused:
        take_back(world, ("d", days("02", "03")))
    assert "--restate d:2024-01-02..2024-01-03" in refused.value.fix
    assert not world.control.ledger.entries(kinds=[Kind.WITHDRAWN])

    new = World(D, R, versions={"d": "2", "r": "2"})
    new.control, new.tables, new.engine = world.control, world.tables, world.engine
    carry_out(new)
    assert [w.model for w in take_back(new, ("d", days("02")))] == ["d", "r"], "the new version is nobody's yet"
    assert builds(world.plan()) == {}


def test_days_that_are_shown_with_other_rows_are_said_not_to_be_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """Restated or settled since. What was shown before goes, and with it the way back."""
    world = World(D)
    carry_out(world)
    publish(world)
    again = Request(restate=(("d", days("03")),))
    carry_out(world, make_plan(world.project, world.facts(), again))
    publish(world, again)
    done = take_back(world, ("d", days("03")))
    assert [(str(d.intervals), str(d.replaced)) for d in done] == [("2024-01-03", "2024-01-03")]
    assert not world.plan().work, "nothing is missing"
    print_withdrawn(done, world.project)
    said = capsys.readouterr().out
    assert "Nothing is missing." in said and "cannot be gone back to" in said and "They are missing" not in said


def test_a_reader_that_is_published_is_named_with_what_it_read() -> None:
    """Of what was asked nothing is shown, as after a restatement: the day that was named is computed again, not the
    reader's."""
    world = World(D, R)
    carry_out(world)
    shown = a_pointer("r", "r-1", days("01", "10"), commit=world.tables.head("r", "r-1"))
    world.control.environments.flip(world.control.environments.read("prod"), [shown], release="r", at=NOW)
    with pytest.raises(PlanError) as refused:
        take_back(world, ("d", days("02", "03")))
    assert refused.value.what.startswith("cannot withdraw d 2024-01-02..2024-01-03: r 2024-01-0"), refused.value.what
    assert refused.value.fix.endswith("backfill apply --restate d:2024-01-02..2024-01-03")
    assert not world.control.ledger.entries(kinds=[Kind.WITHDRAWN])


def test_a_reader_of_another_version_keeps_its_rows() -> None:
    """`r` is published, from d-1; of the new d-2 anything may be withdrawn."""
    world = World(D, R)
    carry_out(world)
    publish(world)
    new = World(D, R, versions={"d": "2"})
    new.control, new.tables, new.engine = world.control, world.tables, world.engine
    carry_out(new)
    assert [w.model for w in take_back(new, ("d", days("02")))] == ["d"]


def test_withdrawing_from_no_model_is_refused() -> None:
    """With the names that there are."""
    with pytest.raises(PlanError, match="no model named x"):
        take_back(World(D), ("x", days("02")))


def test_a_table_that_is_made_anew_is_not_haunted() -> None:
    """Somebody deletes the folder after a withdrawal: the days are built once, and stay."""
    world = World(a_model("d", "raw", batch_size=1))
    carry_out(world)
    take_back(world, ("d", days("02")))
    world.tables.drop("d", "d-1")
    carry_out(world)
    assert not world.plan().work
    world.tables.optimize("d", "d-1")
    assert not world.plan().work


# --- all versions -----------------------------------------------------------------------------------------------------

RESTATE = Request(restate=(("d", days("03")),), all_versions=True)


def with_versions(world: World, **versions: str) -> World:
    """The same warehouse with other code."""
    other = World(*world.project.models.values(), versions=versions)
    other.control, other.tables, other.engine, other.store = world.control, world.tables, world.engine, world.store
    return other


def plan_all(world: World, request: Request = RESTATE) -> Plan:
    facts = read_facts(
        world.project, world.control, world.tables, world.pins, now=NOW, environment="prod", every_version=True
    )
    return make_plan(world.project, facts, request)


def invalidated(plan: Plan) -> dict[tuple[str, str], str]:
    return {(s.model, s.version): str(s.intervals) for s in plan.stages if isinstance(s, Invalidate)}


@pytest.fixture
def world() -> World:
    """d, r over d and yesterday's, m a month of d; version 1 is published, version 2 of d and its readers is built."""
    february = {"start": days("2023-12-01").start}
    made = World(
        a_model("d", "raw", batch_size=50, **february),
        a_model("r", "d", lookback=1, batch_size=50, **february),
        a_model("m", "d", cadence=Cadence.MONTHLY, **february),
    )
    carry_out(made)
    assert publish(made) == []
    carry_out(with_versions(made, d="2", r="2", m="2"))
    return made


def test_a_restatement_of_all_versions_reaches_what_nobody_sees(world: World) -> None:
    """Of version 2: the day, the days that look back at it, the month that it is in. Of version 1 nothing but the
    revision. Nothing is written before it is applied."""
    request = Request(restate=(("d", days("2023-12-20")),), all_versions=True)
    plan = plan_all(world, request)
    assert invalidated(plan) == {
        ("d", "d-2"): "2023-12-20",
        ("r", "r-2"): "2023-12-20..2023-12-21",
        ("m", "m-2"): "2023-12-01..2023-12-31",
    }
    assert builds(plan) == {"d": "2023-12-20", "r": "2023-12-20..2023-12-21", "m": "2023-12-01..2023-12-31"}
    assert plan.id != make_plan(world.project, world.facts(), Request(restate=request.restate)).id
    said = [s for s in plan.to_json()["stages"] if s["stage"] == "invalidate"]  # type: ignore[attr-defined, index]
    assert len(said) == 3 and "all versions of d 2023-12-20 are restated" in said[0]["reason"]
    branch = with_versions(world, d="2", r="2", m="2")
    assert not branch.plan().work and not world.control.ledger.entries(kinds=[Kind.INVALIDATED])

    carry_out(world, plan)
    assert builds(branch.plan()) == {
        "d": "2023-12-20",
        "r": "2023-12-20..2023-12-21",
        "m": "2023-12-01..2023-12-31",
    }
    assert not world.plan().work, "what is published stays complete"


def test_it_is_done_once(world: World) -> None:
    """Applied again, also after the branch has built its days again, nothing more is invalidated."""
    carry_out(world, plan_all(world))
    before = len(world.control.ledger.entries(kinds=[Kind.INVALIDATED]))
    assert before and not invalidated(plan_all(world))
    branch = with_versions(world, d="2", r="2", m="2")
    carry_out(branch)
    again = plan_all(world)
    assert not again.work and not again.invalidations
    carry_out(world, plan_all(world))
    assert len(world.control.ledger.entries(kinds=[Kind.INVALIDATED])) == before
    assert not branch.plan().work


def test_what_another_environment_shows_is_left_alone(world: World) -> None:
    """Version 2 is what `staging` shows: at that commit it stays complete."""
    branch = with_versions(world, d="2", r="2", m="2")
    facts = read_facts(branch.project, branch.control, branch.tables, branch.pins, now=NOW, environment="staging")
    verdict = gated(branch.project, facts, branch.control.versions.all(), Request(), ("d", "r"))
    promote(world.control.environments, facts.environment, verdict.pointers, None)
    assert invalidated(plan_all(world)) == {}
    plain = Request(restate=(("d", days("2023-12-20")),), all_versions=True)
    assert list(invalidated(plan_all(world, plain))) == [("m", "m-2")]


def test_a_promoted_restatement_leaves_the_versions_own_days_complete(world: World) -> None:
    """Restated, promoted, restated again in all versions: the table under the corrections is still whole, so that the
    next day can be promoted."""
    carry_out(world, plan_all(world))
    assert publish(world, RESTATE) == []
    world.pins.commits = {"raw": 2}
    again = plan_all(world)
    assert not {key for key in invalidated(again) if key[1].endswith("-1")}
    carry_out(world, again)
    assert not world.plan().work
    assert publish(world) == []
