"""What becomes of an interval that is not over? It is partial, built again when its inputs move, whole once over."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.defs.ledger_sensor import to_report
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.promote import promote
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.fakes import NOW, Cell, World, a_model, days, gated, ranges

OPEN = Request(ignore_cron=True)
PLAIN = Request()
TODAY, TOMORROW = days("11"), NOW + timedelta(days=1)
MONTH = ranges(days("01", "31"))


def carry_out(world: World, request: Request = PLAIN, now: datetime = NOW, run: str = "run") -> dict[str, Outcome]:
    plan = world.plan(request, now)
    bench = world.bench(run, pins=plan.sources, patches=plan.patches)
    return apply(bench, plan)


def ask(world: World, request: Request = PLAIN, now: datetime = NOW) -> Verdict:
    plan = world.plan(request, now)
    return gated(world.project, world.facts(now), world.control.versions.all(), request, plan.models, plan.patches)


def publish(world: World, request: Request = PLAIN, now: datetime = NOW) -> Verdict:
    verdict = ask(world, request, now)
    assert verdict.open, verdict.obstacles
    promote(world.control.environments, world.control.environments.read("prod"), verdict.pointers, None)
    return verdict


def builds(plan: Plan) -> dict[str, str]:
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


@pytest.fixture
def world() -> World:
    """A daily model over a source, and a monthly one over it, in the middle of January 11."""
    return World(a_model("d", "raw", batch_size=20), a_model("m", "d", cadence=Cadence.MONTHLY))


def test_it_is_built_only_when_asked_for(world: World) -> None:
    """Without the option today and this month do not exist; with it they are planned, each said to be open."""
    assert builds(world.plan()) == {"d": "2024-01-01..2024-01-10"}
    plan = world.plan(OPEN)
    assert builds(plan) == {"d": "2024-01-01..2024-01-11", "m": "2024-01-01..2024-01-31"}
    daily, monthly = (s for s in plan.stages if isinstance(s, Build))
    assert (str(daily.open), monthly.open) == ("2024-01-11", MONTH)
    assert [str(b) for b in daily.batches] == ["2024-01-01..2024-01-10", "2024-01-11"]


def test_a_build_over_both_is_recorded_apart(world: World) -> None:
    """Ten days that are over, and the eleventh through noon, as entries of their own."""
    outcomes = carry_out(world, OPEN)
    assert all(o.ok for o in outcomes.values())
    assert (str(outcomes["d"].partial), outcomes["m"].partial) == ("2024-01-11", MONTH)
    entries = world.control.ledger.entries(["d"], kinds=[Kind.BUILT])
    assert [(str(e.interval), e.through) for e in entries] == [("2024-01-01..2024-01-10", None), ("2024-01-11", NOW)]
    have = world.facts().tables.coverage["d"]
    assert (str(have.green), str(have.partial), have.lapsed) == ("2024-01-01..2024-01-11", "2024-01-11", Ranges())


def test_it_is_kept_until_its_inputs_move(world: World) -> None:
    """Asked for again, nothing is done and no engine is opened; with new source data today is built again, and so is
    the month that reads it. The ten days before stay."""
    carry_out(world, OPEN)
    opened = world.engines_opened
    assert not world.plan(OPEN).stages or not world.plan(OPEN).work
    assert carry_out(world, OPEN, run="again") == {}
    assert world.engines_opened == opened

    world.pins.commits = {"raw": 2}
    assert builds(world.plan(OPEN)) == {"d": "2024-01-11", "m": "2024-01-01..2024-01-31"}
    assert builds(world.plan()) == {}
    world.engine.writes.clear()
    assert all(o.ok for o in carry_out(world, OPEN, run="later").values())
    assert [(m, str(i)) for m, i in world.engine.writes] == [("d", "2024-01-11"), ("m", "2024-01-01..2024-01-31")]
    assert not world.plan(OPEN).work


def test_a_moved_upstream_counts_only_where_it_is_read() -> None:
    """Today's `r` reads today and yesterday of `d`: a day of `d` from before that was missing and is built moves
    nothing, yesterday does."""
    world = World(a_model("d", "raw", batch_size=1), a_model("r", "d", lookback=1))
    world.engine.cell = lambda job, unit: Cell(
        failures={"rows_ok": int(unit in (days("04"),) and job.model.name == "d")}
    )
    carry_out(world, OPEN)
    world.engine.cell = lambda job, unit: Cell()
    carry_out(world, run="mended")
    assert str(world.facts().tables.coverage["d"].green) == "2024-01-01..2024-01-11"
    assert "r" not in builds(world.plan(OPEN))
    [yesterday] = [e for e in world.control.ledger.entries(["d"], kinds=[Kind.BUILT]) if e.interval == days("10")]
    world.tables.write("d", "d-1", "other", days("10"), {days("10").start: Cell()})
    assert builds(world.plan(OPEN))["d"] == "2024-01-10", "a commit that nobody knows is dirt"
    assert "2024-01-11" in builds(world.plan(OPEN))["r"], "yesterday is built again before it"
    assert yesterday.through is None


def test_what_cannot_be_pinned_may_always_have_moved() -> None:
    """A catalog table: who asks for the open interval gets it as it is now."""
    world = World(a_model("d", "raw"))
    world.pins.pin = lambda source: {"unpinned": "a catalog table"}  # type: ignore[method-assign]
    outcomes = carry_out(world, OPEN)
    assert outcomes["d"].ok and len(world.sleeps) == 0, "its own build is fresh to the run that made it"
    assert builds(world.plan(OPEN)) == {"d": "2024-01-11"}
    assert builds(world.plan()) == {}


def test_once_over_it_is_missing(world: World) -> None:
    """The next day a routine plan builds it whole, unasked; the month stays valid while it is open."""
    carry_out(world, OPEN)
    plan = world.plan(now=TOMORROW)
    assert builds(plan) == {"d": "2024-01-11"}
    assert [s.reason for s in plan.stages if isinstance(s, Build)] == ["was built before it was over"]
    assert str(world.facts(TOMORROW).tables.coverage["d"].lapsed) == "2024-01-11"
    assert world.facts(TOMORROW).tables.coverage["m"].green == MONTH
    carry_out(world, now=TOMORROW)
    assert [e.through for e in world.control.ledger.entries(["d"], kinds=[Kind.BUILT])] == [None, NOW, None]
    assert builds(world.plan(now=TOMORROW)) == {}
    february = utc("2024-02-01T05:00")
    carry_out(world, now=february)
    assert [str(e.interval) for e in world.control.ledger.entries(["m"]) if e.kind is Kind.BUILT] == [
        "2024-01-01..2024-01-31"
    ] * 2
    assert not world.facts(february).tables.coverage["m"].partial


def test_a_closed_interval_waits_for_a_closed_month() -> None:
    """A day that is over reads its month: it is not built from half a month, whether that is there or not."""
    world = World(a_model("m", "raw", cadence=Cadence.MONTHLY), a_model("d", "m"))
    plan = world.plan(OPEN)
    assert builds(plan) == {"m": "2024-01-01..2024-01-31", "d": "2024-01-11"}
    [blocked] = plan.blocked
    assert (blocked.model, str(blocked.intervals)) == ("d", "2024-01-01..2024-01-10")
    outcomes = carry_out(world, OPEN)
    assert outcomes["d"].ok and str(outcomes["d"].partial) == "2024-01-11"
    assert world.facts().tables.coverage["d"].green == ranges(TODAY)


def test_an_open_interval_needs_what_exists_by_now() -> None:
    """With the daily model's today missing, the month waits for it, and for no day after it."""
    world = World(a_model("d", "raw"), a_model("m", "d", cadence=Cadence.MONTHLY))
    carry_out(world)
    plan = world.plan(Request(ignore_cron=True, select=("m",)))
    [blocked] = plan.blocked
    assert (blocked.model, str(blocked.needs)) == ("m", "2024-01-11")


def test_shown_and_open_it_does_not_close_the_gate(world: World) -> None:
    """Daily promotions go on while the month is open, even when today was built again and is red: it stays at the
    commit that it is shown at. Over, it has to be whole."""
    carry_out(world, OPEN)
    publish(world, OPEN)
    shown = world.control.environments.read("prod").pointers["d"]
    assert str(shown.covers) == "2024-01-01..2024-01-11"
    assert ask(world).open and not world.plan().stages

    world.pins.commits = {"raw": 2}
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(unit == TODAY and job.model.name == "d")})
    assert not carry_out(world, OPEN, run="red")["d"].ok
    closed = ask(world, OPEN)
    assert [(o.model, str(o.intervals)) for o in closed.obstacles] == [("d", "2024-01-11")]
    assert "--ignore-cron" in closed.obstacles[0].remedy
    verdict = ask(world)
    assert verdict.open
    for pointer in verdict.pointers:
        old = world.control.environments.read("prod").pointers[pointer.model]
        assert pointer.covers == old.covers
    daily = [p for p in verdict.pointers if p.model == "d"]
    for pointer in daily:
        assert {s.commit for s in pointer.segments if TODAY in Ranges((s.interval,))} == {shown.segments[0].commit}

    world.engine.cell = lambda job, unit: Cell()
    over = ask(world, now=TOMORROW)
    assert [(o.model, str(o.intervals)) for o in over.obstacles] == [("d", "2024-01-11")]
    assert carry_out(world, now=TOMORROW)["d"].ok
    plan = world.plan(now=TOMORROW)
    assert plan.stages and not plan.work, "the whole day is not shown yet, though its day is"
    publish(world, now=TOMORROW)
    assert not world.plan(now=TOMORROW).stages


def test_what_is_not_shown_is_not_promoted_by_the_way(world: World) -> None:
    """A partial interval that only a candidate shows: a daily promotion leaves it out, and says nothing of it."""
    carry_out(world)
    publish(world)
    carry_out(world, OPEN)
    assert not world.plan().stages
    assert not ask(world).pointers or all(TODAY not in p.covers for p in ask(world).pointers)
    publish(world, OPEN)
    assert TODAY in world.control.environments.read("prod").pointers["d"].covers


def test_a_changed_model_replaces_an_open_interval_that_is_shown(world: World) -> None:
    """Readers who see today would lose it: the new version is built through now as well, without the option."""
    carry_out(world, OPEN)
    publish(world, OPEN)
    new = World(*world.project.models.values(), versions={"d": "2", "m": "2"})
    new.control, new.tables, new.engine = world.control, world.tables, world.engine
    assert builds(new.plan()) == {"d": "2024-01-01..2024-01-11", "m": "2024-01-01..2024-01-31"}
    assert all(o.ok for o in carry_out(new, run="new").values())
    publish(new)
    moved = new.control.environments.read("prod").pointers
    assert (str(moved["d"].covers), moved["m"].covers) == ("2024-01-01..2024-01-11", MONTH)


def test_a_restatement_leaves_open_and_lapsed_intervals_to_the_next_build(world: World) -> None:
    """January is shown, partial: restating a day does not compute it in a revision, which would hide the whole one."""
    carry_out(world, OPEN)
    publish(world, OPEN)
    restate = Request(restate=(("d", days("10")),))
    assert builds(world.plan(restate)) == {"d": "2024-01-10"}
    assert builds(world.plan(Request(restate=(("d", days("10", "11")),)), TOMORROW)) == {"d": "2024-01-10"}
    carry_out(world, restate)
    publish(world, restate)
    assert builds(world.plan(OPEN)) == {"m": "2024-01-01..2024-01-31"}, "it reads other rows of the 10th now"


def test_dagster_is_told_of_closed_intervals_only(world: World) -> None:
    """Today has no partition yet."""
    carry_out(world, OPEN)
    told, settled = to_report(Cadence.DAILY, world.facts().tables.coverage["d"], (), lambda run: False)
    assert settled and Ranges.of(told) == ranges(days("01", "10"))


def test_hours_of_an_open_day() -> None:
    """A day over hours: it needs the hours until now; the hour that is running is one of them."""
    world = World(a_model("h", "raw", cadence=Cadence.HOURLY, batch_size=500), a_model("d", "h"))
    plan = world.plan(OPEN, NOW + timedelta(minutes=20))
    hourly, daily = (s for s in plan.stages if isinstance(s, Build))
    assert str(hourly.open) == "2024-01-11T12:00" and str(daily.open) == "2024-01-11"
    outcomes = apply(world.bench(pins=plan.sources), plan)
    assert all(o.ok for o in outcomes.values())
    later = NOW + timedelta(minutes=70)
    assert str(world.facts(later).tables.coverage["h"].lapsed) == "2024-01-11T12:00"
    assert builds(world.plan(OPEN, later)) == {"h": "2024-01-11T12:00..2024-01-11T13:00", "d": "2024-01-11"}
