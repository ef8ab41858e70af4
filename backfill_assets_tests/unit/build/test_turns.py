"""Two processes that build the same batch: each day is computed once, whoever fails, is held or stops meanwhile."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from backfill_assets.adapters.turn_lock import only_builder
from backfill_assets.build.bench import Workbench
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job
from backfill_assets.build.events import BatchDone, BatchWaits
from backfill_assets.build.hold import Hold
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import DataError, TransientBuildError
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.core.windows import Window, Windows
from backfill_assets.state.ledger import Entry, Kind, new_id
from backfill_assets_tests.fakes import World, a_model, days, ranges

TEN = days("01", "10")
WINDOWS = Windows((Window(start=7 * 60, end=6 * 60),))
"""Closed from six to seven."""


def a_world(beside: World | None = None, **model: object) -> World:
    """With the table of its model; `beside`: over the same tables and records."""
    shared = {"store": beside.store, "tables": beside.tables} if beside else {}
    world = World(a_model("a", **model), **shared)  # type: ignore[arg-type]
    world.tables.create("a", "a-1")
    return world


def a_bench(world: World, folder: Path, run: str = "mine", **more: object) -> Workbench:
    """One that takes turns by real locks."""
    return world.bench(run=run, only_builder=partial(only_builder, str(folder)), **more)


def go(world: World, folder: Path, run: str = "mine", **more: object) -> Outcome:
    return build(a_bench(world, folder, run, **more), "a", ranges(TEN))


def written(world: World) -> list[str]:
    return sorted(str(interval) for _, interval in world.engine.writes)


def sleeping(world: World, at: int, do: Callable[[], object]) -> Callable[[float], None]:
    """A sleep in which something is done, the so-manieth time. The test fails where nobody stops waiting."""

    def sleep(seconds: float) -> None:
        world.sleeps.append(seconds)
        assert len(world.sleeps) < 20, "it waits without end"
        if len(world.sleeps) == at:
            do()

    return sleep


@contextmanager
def theirs(world: World, folder: Path, interval: Interval) -> Generator[None]:
    """Another process builds an interval while the block runs."""
    with only_builder(str(folder), "a", "a-1", interval) as mine:
        assert mine
        begun = Entry(
            kind=Kind.STARTED,
            model="a",
            version="a-1",
            interval=interval,
            batch=new_id(),
            run="theirs",
            at=utc("2024-01-11T05:30"),
        )
        world.control.ledger.append([begun])
        yield


@pytest.mark.parametrize("seed", range(24))
def test_each_day_is_written_once(tmp_path: Path, seed: int) -> None:
    """Two or three runs at once, with batches that overlap otherwise and errors of both kinds: nobody waits without
    end, what is complete is there, and no day was written twice."""
    chance, once = random.Random(seed), threading.Lock()
    tables = a_world()
    worlds = [
        a_world(tables, batch_size=chance.randint(1, 4), batch_concurrency=chance.randint(1, 2), retries=2)
        for _ in range(chance.randint(2, 3))
    ]
    failing = [days("04"), days("09")]

    def fail(job: Job, interval: Interval) -> None:
        threading.Event().wait(0.003)
        with once:
            for day in [day for day in failing if day in ranges(interval)]:
                failing.remove(day)
                raise (TransientBuildError if chance.random() < 0.5 else DataError)("now and then")

    for world in worlds:
        world.engine.before_write = fail
    together = threading.Barrier(len(worlds))

    def run(number: int) -> Outcome:
        together.wait(10)
        return go(worlds[number], tmp_path, f"run{number}", sleep=lambda _: threading.Event().wait(0.002))

    with ThreadPoolExecutor(len(worlds)) as pool:
        outcomes = [f.result(60) for f in [pool.submit(run, number) for number in range(len(worlds))]]

    built = [e.interval for e in tables.control.ledger.entries(kinds=[Kind.BUILT])]
    times = Counter(unit.start for interval in built for unit in Cadence.DAILY.split(interval))
    assert set(times.values()) == {1}
    green = tables.facts().tables.coverage["a"].green
    assert all(outcome.green == green for outcome in outcomes if outcome.ok)
    assert len(times) >= 8, "the days that fail are two"


def test_what_another_process_builds_is_put_off_until_all_else_is_done(tmp_path: Path) -> None:
    """It is waited for at the end, told once with the run that builds it, and built where that one did not."""
    world = a_world()
    with ExitStack() as stack:
        stack.enter_context(theirs(world, tmp_path, days("02")))
        assert go(world, tmp_path, sleep=sleeping(world, 3, stack.close)).ok
    assert written(world)[0] == "2024-01-01..2024-01-03" and len(written(world)) == 4
    told = [e for e in world.events if isinstance(e, BatchWaits | BatchDone)]
    assert [type(e) for e in told] == [*[BatchDone] * 3, BatchWaits, BatchDone]
    [waits] = [e for e in told if isinstance(e, BatchWaits)]
    assert (str(waits.interval), waits.by) == ("2024-01-01..2024-01-03", "run theirs, since 2024-01-11 05:30:00 UTC")


def test_what_was_built_meanwhile_is_not_built_again(tmp_path: Path) -> None:
    """It is looked at when it is one's turn, not before; and nothing is recorded of a batch that has nothing to do."""
    world = a_world(batch_size=10)
    other = a_world(world, batch_size=10)

    def they_end() -> None:
        stack.close()
        assert go(other, tmp_path, "theirs").ok

    with ExitStack() as stack:
        stack.enter_context(theirs(world, tmp_path, TEN))
        assert go(world, tmp_path, sleep=sleeping(world, 2, they_end)).ok
    assert not written(world) and written(other) == ["2024-01-01..2024-01-10"]
    assert not [e for e in world.control.ledger.entries() if e.run == "mine" and e.kind is Kind.STARTED]


def test_a_failed_attempt_is_nobodys_turn(tmp_path: Path) -> None:
    """While it waits to try again, another process builds it."""
    world = a_world(batch_size=10, retries=1)
    other = a_world(world, batch_size=10)
    failures = [TransientBuildError("the network is gone")]

    def fail_once(job: Job, interval: Interval) -> None:
        if failures:
            raise failures.pop()

    world.engine.before_write = fail_once
    assert go(world, tmp_path, sleep=sleeping(world, 1, lambda: go(other, tmp_path, "theirs"))).ok
    assert [e.run for e in world.control.ledger.entries(kinds=[Kind.BUILT])] == ["theirs"]


def test_a_build_that_a_routine_run_holds_up_lets_it_build(tmp_path: Path) -> None:
    """Its batch failed as a whole, and its parts may not begin: the routine run does not wait for them."""
    world = a_world(batch_size=10)
    other, busy = a_world(world, batch_size=3), list[str]()

    def fail(job: Job, interval: Interval) -> None:
        busy.append("theirs")
        raise DataError("a bad row")

    def routine_builds(stop: threading.Event, seconds: float) -> None:
        assert go(other, tmp_path, "theirs", sleep=lambda _: pytest.fail("the routine run waits")).ok
        busy[:] = [""]

    world.engine.before_write = fail
    hold = Hold(
        windows=WINDOWS,
        routine=lambda: busy[0] if busy else "",
        now=lambda: utc("2024-03-01T12:00"),
        sleep=routine_builds,
    )
    assert go(world, tmp_path, hold=hold, sleep=sleeping(world, 1, lambda: pytest.fail("it waits"))).ok
    assert {e.run for e in world.control.ledger.entries(kinds=[Kind.BUILT])} == {"theirs"}


def test_what_it_waited_for_begins_within_the_windows(tmp_path: Path) -> None:
    """The window closed while another process built: it waits for the next one, or ends."""
    for waits in (True, False):
        world, clock, began = a_world(batch_size=10), [utc("2024-03-01T05:59")], list[datetime]()

        def write(job: Job, interval: Interval, clock: list[datetime] = clock, began: list[datetime] = began) -> None:
            began.append(clock[0])

        def open_again(stop: threading.Event, seconds: float, clock: list[datetime] = clock) -> None:
            clock[0] = utc("2024-03-01T07:00")

        with ExitStack() as stack:

            def they_end(stack: ExitStack = stack, clock: list[datetime] = clock) -> None:
                stack.close()
                clock[0] = utc("2024-03-01T06:30")

            stack.enter_context(theirs(world, tmp_path, days("02")))
            world.engine.before_write = write
            hold = Hold(windows=WINDOWS, waits=waits, now=lambda clock=clock: clock[0], sleep=open_again)
            outcome = go(world, tmp_path, hold=hold, sleep=sleeping(world, 2, they_end))
        assert began == [utc("2024-03-01T07:00")][: int(waits)] and outcome.ok is waits and not outcome.failures


def test_an_interrupt_is_heard_while_it_waits(tmp_path: Path) -> None:
    """The run ends, and nothing was written, nor has failed."""
    world, stop = a_world(batch_size=10), threading.Event()
    with theirs(world, tmp_path, TEN):
        outcome = go(world, tmp_path, stop=stop, sleep=sleeping(world, 2, stop.set))
    assert not written(world) and not outcome.ok and not outcome.failures
