"""Carrying out a plan: upstreams first, independent models side by side, and an end to it when somebody says so."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import BuildError, TransientBuildError
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.plan.stages import Build, Request
from backfill_assets_tests.fakes import Cell, World, a_model, days, ranges


def go(world: World, request: Request | None = None) -> dict[str, Outcome]:
    return apply(world.bench(), world.plan(request))


def diamond() -> World:
    """a → b, c → d, and e for itself."""
    return World(a_model("a", "raw"), a_model("b", "a"), a_model("c", "a"), a_model("d", "b", "c"), a_model("e"))


def test_everything_is_built_upstreams_first() -> None:
    """`FakeEngine` refuses to read what is not there: the order is right, and all is green in one go."""
    world = diamond()
    outcomes = go(world)
    assert list(outcomes) == ["a", "b", "c", "d", "e"]
    assert all(o.ok for o in outcomes.values())
    first = {name: [n for n, _ in world.engine.writes].index(name) for name in outcomes}
    assert first["a"] < min(first["b"], first["c"]) <= max(first["b"], first["c"]) < first["d"]
    assert world.plan().work == ()


def test_the_plan_s_batches_are_those_that_are_run() -> None:
    """Nothing cuts them again: what was printed and approved is what is written; a part that is there by now is not."""
    world = World(a_model("a", "raw"))
    plan = world.plan()
    (stage,) = plan.stages[:-1]
    assert isinstance(stage, Build)
    first = replace(stage, intervals=ranges(days("01", "02")), batches=(days("01", "02"),))
    apply(world.bench(), replace(plan, stages=(first,)))
    rest = replace(stage, batches=(days("01", "04"), days("05", "05"), days("06", "10")))
    apply(world.bench(), replace(plan, stages=(rest,)))
    written = [days("01", "02"), days("03", "04"), days("05", "05"), days("06", "10")]
    assert [part for _, part in world.engine.writes] == written


def test_an_empty_plan_opens_no_engine() -> None:
    """Nothing to do, nothing opened."""
    world = diamond()
    go(world)
    opened = world.engines_opened
    assert go(world) == {}
    assert world.engines_opened == opened


def test_independent_models_run_side_by_side() -> None:
    """Two models that read nothing of each other are built at the same time."""
    world = World(a_model("a", batch_size=10), a_model("b", batch_size=10))
    together = threading.Barrier(2)
    world.engine.before_write = lambda job, interval: together.wait(timeout=20)
    assert all(o.ok for o in go(world).values())


def test_what_failed_upstream_holds_back_only_what_reads_it() -> None:
    """Day 5 of a fails: day 5 of b, c, d waits, all other days of theirs, and all of e, are built."""
    world = diamond()

    def fail(job: Job, interval: Interval) -> None:
        if job.model.name == "a" and days("05") in ranges(interval):
            raise BuildError("no")

    world.engine.before_write = fail
    outcomes = go(world)
    left = "2024-01-01..2024-01-03, 2024-01-07..2024-01-10"
    assert {name: str(o.green) for name, o in outcomes.items()} == {
        "a": left,
        "b": left,
        "c": left,
        "d": left,
        "e": "2024-01-01..2024-01-10",
    }
    assert [w.upstream for w in outcomes["d"].waits] == ["b", "c"]


def test_a_red_day_upstream_holds_back_that_day() -> None:
    """Nothing is computed from rows that failed their audits."""
    world = World(a_model("a"), a_model("b", "a"))
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(unit == days("05") and job.model.name == "a")})
    outcomes = go(world)
    assert str(outcomes["b"].waits[0].intervals) == "2024-01-05"
    assert str(outcomes["b"].green) == "2024-01-01..2024-01-04, 2024-01-06..2024-01-10"


def test_days_roll_up_to_months_once_they_are_complete() -> None:
    """A monthly model over a daily one is built in the same run, from all days of its months."""
    from backfill_assets.core.intervals import utc

    world = World(a_model("a", batch_size=40), a_model("m", "a", cadence=Cadence.MONTHLY))
    outcomes = apply(world.bench(), world.plan(now=utc("2024-03-05")))
    assert outcomes["m"].green.count(Cadence.MONTHLY) == 2
    assert all(o.ok for o in outcomes.values())


def test_only_what_the_plan_says_is_built() -> None:
    """A plan for four days of one model touches nothing else."""
    world = diamond()
    outcomes = go(world, Request(start=days("03").start, end=days("06").end, select=("a",)))
    assert list(outcomes) == ["a"]
    assert str(world.facts().tables.coverage["a"].green) == "2024-01-03..2024-01-06"


def test_leftover_audits_are_made_up_for_before_what_reads_them() -> None:
    """A run died before its audits: the next one audits first, builds the downstream, and rewrites nothing."""
    world = World(a_model("a", batch_size=10), a_model("b", "a", batch_size=10))

    class Killed(BaseException):
        pass

    def die(job: Job, intervals: Ranges) -> None:
        raise Killed

    world.engine.before_scan = die
    with pytest.raises(Killed):
        go(world)
    world.engine.before_scan = lambda job, intervals: None
    world.engine.writes.clear()
    assert all(o.ok for o in go(world).values())
    assert [name for name, _ in world.engine.writes] == ["b"]


@pytest.mark.parametrize("receiver", ["main thread", "another"])
def test_an_interrupt_stops_every_model_and_keeps_what_is_done(receiver: str) -> None:
    """Ctrl-C while two models are in their second batches, whichever thread the system gives it to: both are cancelled,
    nothing further begins, and what was built stays."""
    world = World(a_model("a"), a_model("b"), a_model("c", "a"))
    seconds = threading.Barrier(2)

    def interrupted(job: Job, interval: Interval) -> None:
        if interval == days("04", "06"):
            if seconds.wait(timeout=20) == 0:
                told = threading.main_thread() if receiver == "main thread" else threading.current_thread()
                signal.pthread_kill(told.ident or 0, signal.SIGINT)
            assert world.engine.cancelled.wait(20)
            raise TransientBuildError("job was cancelled")

    world.engine.before_write = interrupted
    with pytest.raises(KeyboardInterrupt):
        go(world)
    assert sorted(name for name, _ in world.engine.writes) == ["a", "a", "b", "b"]
    assert world.sleeps == []
    have = world.facts().tables.coverage
    assert str(have["a"].built) == str(have["b"].built) == "2024-01-01..2024-01-03"


def test_a_bug_in_one_model_stops_the_run_and_is_not_swallowed() -> None:
    """What is no refusal of ours is raised as it is."""
    world = World(a_model("a"), a_model("b", "a"))

    def bug(job: Job, interval: Interval) -> None:
        raise RuntimeError("bug")

    world.engine.before_write = bug
    with pytest.raises(RuntimeError, match="bug"):
        go(world)
    assert {name for name, _ in world.engine.writes} == {"a"}
