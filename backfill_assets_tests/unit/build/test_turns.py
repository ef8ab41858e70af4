"""Two runs that want the same batch take turns: each day is written once, whoever stops, fails or is held meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest

from backfill_assets.build.bench import Workbench
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job
from backfill_assets.build.events import BatchDone, BatchWaits
from backfill_assets.build.hold import Hold
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import DataError
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.core.windows import Window, Windows
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.fakes import Cell, World, a_model, days, ranges

TEN = days("01", "10")


@dataclass
class Two:
    """Two runs over one world, `mine` and `theirs`, and who of them is at work."""

    world: World
    at_work: set[str] = field(default_factory=lambda: {"mine", "theirs"})

    def bench(self, run: str, **more: object) -> Workbench:
        return self.world.bench(run=run, others=lambda: self.at_work - {run}, **more)

    def go(self, run: str = "mine", interval: Interval = TEN, **more: object) -> Outcome:
        """Build `a`, and end."""
        outcome = build(self.bench(run, **more), "a", ranges(interval))
        self.at_work.discard(run)
        return outcome

    def theirs(self, kind: Kind, interval: Interval, batch: str = "theirs", **more: object) -> None:
        """What they record; BUILT: after they wrote it."""
        entry = Entry(
            kind=kind, model="a", version="a-1", interval=interval, batch=batch, run="theirs", at=utc("2024-01-11")
        )
        if kind is Kind.BUILT:
            cells = {
                unit.start: Cell(batch=batch) for unit in ranges(interval).split(self.world.project.models["a"].cadence)
            }
            commit = self.world.tables.write("a", "a-1", batch, interval, cells)
            entry = replace(entry, table_commit=commit.table_commit)
        self.world.control.ledger.append([replace(entry, **more)])  # type: ignore[arg-type]

    @property
    def mine(self) -> list[str]:
        """What was computed by the engine."""
        return sorted(str(interval) for _, interval in self.world.engine.writes)

    @property
    def waits(self) -> list[tuple[str, str]]:
        return [(e.run, str(e.interval)) for e in self.world.events if isinstance(e, BatchWaits)]


def two(**model: object) -> Two:
    world = World(a_model("a", **model))
    world.tables.create("a", "a-1")
    return Two(world)


def after_sleeps(two: Two, number: int, do: Callable[[], object]) -> Callable[[float], None]:
    """A sleep that does something the so-manieth time; the test fails where nobody stops waiting."""

    def sleep(seconds: float) -> None:
        two.world.sleeps.append(seconds)
        assert len(two.world.sleeps) < 20, "it waits without end"
        if len(two.world.sleeps) == number:
            do()

    return sleep


def before_i_begin(two: Two, do: Callable[[], None], **more: object) -> Workbench:
    """My bench; it is done right before my first batch is recorded."""
    append, left = two.world.control.ledger.append, [do]

    def record(entries: list[Entry]) -> None:
        if entries[0].run == "mine" and left:
            left.pop()()
        append(entries)

    bench = two.bench("mine", **more)
    object.__setattr__(bench.control.ledger, "append", record)
    return bench


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", [(2, 2), (2, 3)])
def test_each_day_is_written_once(sizes: tuple[int, int], threads: int) -> None:
    """Both start at the same moment, also with batches that overlap otherwise: all is built, nothing twice."""
    first = two(batch_size=sizes[0], batch_concurrency=threads)
    second = Two(
        World(
            a_model("a", batch_size=sizes[1], batch_concurrency=threads),
            store=first.world.store,
            tables=first.world.tables,
        ),
        at_work=first.at_work,
    )
    together = threading.Barrier(2)

    def run(which: Two, name: str) -> Outcome:
        together.wait(10)
        return which.go(name, sleep=lambda _: threading.Event().wait(0.002))

    with ThreadPoolExecutor(2) as pool:
        ended = [pool.submit(run, first, "mine"), pool.submit(run, second, "theirs")]
        outcomes = [future.result(60) for future in ended]

    assert [o.ok for o in outcomes] == [True, True]
    starts = [
        at
        for _, batch in (*first.world.engine.writes, *second.world.engine.writes)
        for at in (unit.start for unit in ranges(batch).split(Cadence.DAILY))
    ]
    assert sorted(starts) == [days(f"{n:02}").start for n in range(1, 11)]
    assert str(first.world.facts().coverage["a"].green) == "2024-01-01..2024-01-10"


def test_what_another_run_builds_is_put_off_until_all_else_is_done() -> None:
    """It is waited for at the end, told once, and found built."""
    both = two()
    both.theirs(Kind.STARTED, days("01", "03"))
    sleep = after_sleeps(both, 3, lambda: both.theirs(Kind.BUILT, days("01", "03")))
    assert both.go(sleep=sleep).ok
    assert both.mine == ["2024-01-04..2024-01-06", "2024-01-07..2024-01-09", "2024-01-10"]
    assert both.waits == [("theirs", "2024-01-01..2024-01-03")]
    told = [type(e) for e in both.world.events]
    assert told.index(BatchWaits) > max(at for at, kind in enumerate(told) if kind is BatchDone)


def test_who_began_first_does_not_wait() -> None:
    """The other one begins between my record and my look."""
    both = two(batch_size=10)
    append = both.world.control.ledger.append

    def they_follow(entries: list[Entry]) -> None:
        append(entries)
        if entries[0].run == "mine" and entries[0].kind is Kind.STARTED:
            both.theirs(Kind.STARTED, TEN)

    bench = both.bench("mine", sleep=after_sleeps(both, 99, lambda: None))
    object.__setattr__(bench.control.ledger, "append", they_follow)
    assert build(bench, "a", ranges(TEN)).ok
    assert both.mine == ["2024-01-01..2024-01-10"] and not both.waits


def test_who_began_second_waits_also_with_the_record_made() -> None:
    """The other one begins between my first look and my record."""
    both = two(batch_size=10)
    sleep = after_sleeps(both, 2, lambda: both.theirs(Kind.BUILT, days("02", "04")))
    bench = before_i_begin(both, lambda: both.theirs(Kind.STARTED, days("02", "04")), sleep=sleep)
    assert build(bench, "a", ranges(TEN)).ok
    assert both.mine == ["2024-01-01", "2024-01-05..2024-01-10"], "what they did not build"
    assert both.waits == [("theirs", "2024-01-01..2024-01-10")]


@pytest.mark.parametrize("how", ["stopped", "failed", "of another version", "of other days"])
def test_nobody_waits_for_what_is_not_under_way(how: str) -> None:
    """Of a run that stopped, a batch that failed, another version, or other days."""
    both = two(batch_size=10)
    interval, version = (days("11"), "a-1") if how == "of other days" else (TEN, "a-1")
    both.theirs(Kind.STARTED, interval, version="a-0" if how == "of another version" else version)
    if how == "failed":
        both.theirs(Kind.FAILED, TEN)
    if how == "stopped":
        both.at_work.discard("theirs")
    assert both.go(sleep=after_sleeps(both, 1, lambda: pytest.fail("it waits"))).ok
    assert both.mine == ["2024-01-01..2024-01-10"]


def test_a_run_that_stops_is_waited_for_no_longer() -> None:
    """Killed while it built: its days are built here."""
    both = two(batch_size=10)
    both.theirs(Kind.STARTED, TEN)
    assert both.go(sleep=after_sleeps(both, 2, lambda: both.at_work.discard("theirs"))).ok
    assert both.mine == ["2024-01-01..2024-01-10"]


def test_days_that_were_built_keep_nobody_waiting() -> None:
    """Who waited for a third run, and found these days built, has a record of a batch that began, and no more."""
    both = two(batch_size=10)

    def meanwhile() -> None:
        both.theirs(Kind.STARTED, days("01", "05"))
        both.theirs(Kind.BUILT, days("01", "05"), run="third")

    bench = before_i_begin(both, meanwhile, sleep=after_sleeps(both, 1, lambda: pytest.fail("it waits")))
    assert build(bench, "a", ranges(TEN)).ok
    assert both.mine == ["2024-01-06..2024-01-10"]


def test_an_interrupt_is_heard_while_it_waits() -> None:
    """The run ends, and nothing was written."""
    both = two(batch_size=10)
    both.theirs(Kind.STARTED, TEN)
    stop = threading.Event()
    both.go(stop=stop, sleep=after_sleeps(both, 2, stop.set))
    assert not both.mine


def test_a_build_that_a_routine_run_holds_up_lets_it_build() -> None:
    """Its batch failed as a whole, its parts may not begin: the routine run does not wait for them, nor they for it."""
    both = two(batch_size=10)
    busy = list[str]()

    def fail(job: Job, interval: Interval) -> None:
        if interval == TEN and not busy:
            busy.append("theirs")
            raise DataError("a bad row")

    def routine_builds(stop: threading.Event, seconds: float) -> None:
        assert both.go("theirs", sleep=lambda _: pytest.fail("the routine run waits")).ok
        busy[:] = [""]

    both.world.engine.before_write = fail
    hold = Hold(
        windows=Windows((Window(start=7 * 60, end=6 * 60),)),
        routine=lambda: busy[0] if busy else "",
        now=lambda: utc("2024-03-01T12:00"),
        sleep=routine_builds,
    )
    assert both.go(hold=hold, sleep=after_sleeps(both, 1, lambda: pytest.fail("it waits"))).ok
    assert {e.run for e in both.world.control.ledger.entries() if e.kind is Kind.BUILT} == {"theirs"}
