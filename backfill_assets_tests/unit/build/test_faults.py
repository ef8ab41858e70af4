"""Faults while a model is built: bad rows, a dead engine, a ledger that cannot be written, an end from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from backfill_assets.adapters.inputs import check_pin
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.build.apply import apply
from backfill_assets.build.build import build
from backfill_assets.build.engine import Engine, Job, SourceInput
from backfill_assets.build.events import BatchDivided, BatchFailed, EngineRestarted
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import (
    BuildError,
    DataError,
    EngineDiedError,
    EngineOutOfMemoryError,
    SettingsError,
    SourceChangedError,
    SourceRewrittenError,
    StateError,
    TransientBuildError,
)
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.model import Source
from backfill_assets.state.ledger import Entry, Kind, Ledger
from backfill_assets_tests.fakes import FakeEngine, World, a_model, days, ranges

TEN = days("01", "10")


def go(world: World, **bench: object) -> Outcome:
    return build(world.bench(**bench), "a", ranges(TEN))  # type: ignore[arg-type]


def failed(world: World) -> list[tuple[str, str]]:
    return [(str(e.interval), e.reason) for e in world.control.ledger.entries() if e.kind is Kind.FAILED]


def bad(day: str, error: Callable[[Interval], Exception]) -> Callable[[Job, Interval], None]:
    """A hook that raises where the day is part of the batch."""

    def hook(job: Job, interval: Interval) -> None:
        if days(day) in ranges(interval):
            raise error(interval)

    return hook


class Mortals:
    """Engines over one world's tables: each dies in its nth write, after which it does nothing but refuse."""

    def __init__(self, world: World, *deadly: int) -> None:
        self.world, self.deadly = world, list(deadly)
        self.forgotten: list[Engine] = []
        self.lock = threading.Lock()
        self.current = self.open()

    def open(self) -> FakeEngine:
        engine = FakeEngine(self.world.tables)
        dies, writes, dead = self.deadly.pop(0) if self.deadly else 0, [0], threading.Event()

        def hook(*_: object) -> None:
            with self.lock:
                writes[0] += 1
                if writes[0] == dies:
                    dead.set()
            if dead.is_set():
                raise EngineDiedError("cannot build a: Spark's JVM died")

        def refuse(*_: object) -> None:
            if dead.is_set():
                raise EngineDiedError("cannot audit a: Spark's JVM died")

        engine.before_write, engine.before_scan, engine.before_prepare = hook, refuse, refuse
        return engine

    def forget(self, engine: Engine) -> None:
        with self.lock:
            self.forgotten.append(engine)
            self.current = self.open()

    def bench(self) -> dict[str, object]:
        return {"engine": lambda: self.current, "forget": self.forget}


# --- bad rows ---------------------------------------------------------------------------------------------------------


def test_one_bad_day_costs_a_day_and_is_named() -> None:
    """Its batch is divided until it is alone: every other day is green, the ledger and the outcome name that day."""
    world = World(a_model("a", batch_size=10))
    world.engine.before_write = bad("07", lambda i: DataError(f"cannot build a {i}", why="division by zero"))
    outcome = go(world)
    assert str(outcome.green) == "2024-01-01..2024-01-06, 2024-01-08..2024-01-10"
    assert [(str(f.interval), f.error.splitlines()) for f in outcome.failures] == [
        ("2024-01-07", ["cannot build a 2024-01-07", "why: division by zero"])
    ]
    assert [where for where, _ in failed(world)] == ["2024-01-07"]
    assert world.sleeps == [], "what is deterministic is not waited for"
    assert [str(e.interval) for e in world.events if isinstance(e, BatchDivided)] == [
        "2024-01-01..2024-01-10",
        "2024-01-06..2024-01-10",
        "2024-01-06..2024-01-07",
    ]
    world.engine.before_write = lambda *_: None
    world.engine.writes.clear()
    assert go(world).ok
    assert [str(i) for _, i in world.engine.writes] == ["2024-01-07"]


def test_an_error_of_the_code_does_not_divide_its_batch() -> None:
    """A column that is not there is not there on any day."""
    world = World(a_model("a", batch_size=10))
    world.engine.before_write = bad("07", lambda i: BuildError("no such column"))
    assert [str(f.interval) for f in go(world).failures] == ["2024-01-01..2024-01-10"]
    assert len(world.engine.writes) == 1


def test_what_persists_is_divided_after_its_retries() -> None:
    """An unknown error that comes each time is of one day as well: its parts are tried once each."""
    world = World(a_model("a", batch_size=10, retries=2))
    world.engine.before_write = bad("07", lambda i: TransientBuildError(f"cannot build a {i}", why="strange"))
    outcome = go(world)
    assert [str(f.interval) for f in outcome.failures] == ["2024-01-07"]
    assert len(world.sleeps) == 2


def test_a_source_file_that_comes_back_is_waited_for() -> None:
    """Each attempt later than the one before; said as an attempt, and no day is lost."""
    world = World(a_model("a", batch_size=10))
    left = [3]

    def away(job: Job, interval: Interval) -> None:
        if left[0]:
            left[0] -= 1
            raise SourceChangedError("source raw changed", why="9 of its 10 files are there")

    world.engine.before_write = away
    assert go(world).ok
    assert [1 <= world.sleeps[0] <= 2, 2 <= world.sleeps[1] <= 3, 4 <= world.sleeps[2] <= 5] == [True] * 3
    assert [e.again for e in world.events if isinstance(e, BatchFailed)] == [True] * 3


def test_a_source_file_that_was_written_again_is_not_waited_for(tmp_path: Path) -> None:
    """It stays so: each batch is refused at once. What is away may come back."""
    (tmp_path / "a.csv").write_text("1")
    (tmp_path / "b.csv").write_text("1")
    source = Source(name="raw", format="csv", path=str(tmp_path), file=tmp_path)
    read = SourceInput(source=source, pin=FilePins().pin(source))
    (tmp_path / "a.csv").write_text("12")
    world = World(a_model("a", batch_size=2, retries=4))
    world.engine.before_write = lambda job, interval: check_pin(read)
    outcome = go(world)
    assert "a file of it was written again" in outcome.failures[0].error
    assert not world.sleeps and len(failed(world)) == 5
    (tmp_path / "c.csv").write_text("1")
    with pytest.raises(SourceRewrittenError, match="it has 3 files by now, of 2"):
        check_pin(read)
    for name in "ac":
        (tmp_path / f"{name}.csv").unlink()
    with pytest.raises(SourceChangedError, match="1 of its 2 files are there"):
        check_pin(read)


# --- a dead engine ----------------------------------------------------------------------------------------------------


def test_a_dead_engine_is_replaced_once_and_nothing_is_lost() -> None:
    """It dies in the second of four batches: another one is opened, that batch is done again, all is green. The death
    is no attempt of the batch: it has no retries."""
    world = World(a_model("a", retries=0))
    mortals = Mortals(world, 2)
    outcome = go(world, **mortals.bench())
    assert outcome.ok and len(mortals.forgotten) == 1
    assert [type(e) for e in world.events].count(EngineRestarted) == 1
    assert failed(world) == []


def test_a_batch_that_was_too_much_for_the_memory_is_divided() -> None:
    """An engine that ended for want of memory is replaced, and the batch is tried in parts: the same again would end
    the next one. A single day is tried once more."""
    world = World(a_model("a", batch_size=4, batch_concurrency=1, retries=0))
    mortals = Mortals(world)

    def too_much(_: object, interval: Interval) -> None:
        if Cadence.DAILY.count(interval) > 2:
            raise EngineOutOfMemoryError(f"cannot build a {interval}: Spark's JVM ran out of memory")

    mortals.current.before_write = too_much
    assert go(world, **mortals.bench()).ok
    assert len(mortals.forgotten) == 1
    assert [str(e.interval) for e in world.events if isinstance(e, BatchDivided)] == ["2024-01-01..2024-01-04"]
    world = World(a_model("a", batch_size=1, retries=0))
    mortals = Mortals(world)
    first = mortals.current

    def once(*_: object) -> None:
        raise EngineOutOfMemoryError("cannot build a: Spark's JVM ran out of memory")

    first.before_write = once
    assert go(world, **mortals.bench()).ok and mortals.forgotten == [first]


def test_many_batches_at_once_see_one_death() -> None:
    """Four batches run when it dies: one other engine is opened, for all of them."""
    world = World(a_model("a", batch_size=1, batch_concurrency=4, retries=0))
    mortals = Mortals(world, 4)
    assert go(world, **mortals.bench()).ok
    assert len(mortals.forgotten) == 1


def test_an_engine_that_dies_during_audits_is_replaced() -> None:
    """The rows are not written twice."""
    world = World(a_model("a", batch_size=10))
    mortals = Mortals(world)
    first = mortals.current

    def die(*_: object) -> None:
        raise EngineDiedError("cannot audit a: Spark's JVM died")

    first.before_scan = die
    assert go(world, **mortals.bench()).ok
    assert len(first.writes) == 1 and mortals.forgotten == [first]


def test_the_second_death_ends_the_run_and_says_what_to_do() -> None:
    """What is done is kept, nothing else is begun, in no model; no model is blamed, and the same command goes on."""
    world = World(a_model("a", retries=3), a_model("b", "a"))
    mortals = Mortals(world, 2, 1)
    outcomes = apply(world.bench(**mortals.bench()), world.plan())  # type: ignore[arg-type]
    assert str(outcomes["a"].green | world.facts().tables.coverage["a"].built) == "2024-01-01..2024-01-03"
    (failure,) = outcomes["a"].failures
    assert "died, for the second time" in failure.error and "spark.driver.memory" in failure.error
    assert "batch_size" in failure.error and "finished batches are kept" in failure.error
    assert not outcomes["b"].built and not outcomes["b"].ok
    assert world.sleeps == [] or len(world.sleeps) == 1
    again = apply(world.bench(), world.plan())
    assert all(o.ok for o in again.values())


# --- nothing can be recorded, the end from outside --------------------------------------------------------------------


def test_an_engine_that_cannot_be_opened_again_ends_the_run() -> None:
    """A server that is gone is told once, with the batch that was under way; no other batch is tried on it."""
    world = World(a_model("a", batch_size=1, batch_concurrency=2, retries=0))
    mortals = Mortals(world, 3)

    def engine() -> Engine:
        if mortals.forgotten:
            raise SettingsError("no session can be opened on sc://spark", why="it is away", fix="start it")
        return mortals.current

    outcome = go(world, **mortals.bench() | {"engine": engine})
    assert len(mortals.forgotten) == 1 and not outcome.ok
    assert "the same command again" in outcome.failures[0].error
    assert len(list(world.facts().tables.coverage["a"].built.split(Cadence.DAILY))) == 2
    assert len(failed(world)) <= 2, "what was under way, and nothing else"
    assert go(world).ok


def test_a_ledger_that_cannot_be_written_ends_the_run() -> None:
    """The disk is full: no traceback, no further batch, and the message says how to go on."""
    world = World(a_model("a"))
    append = Ledger.append

    class Full(Ledger):
        def append(self, entries: Sequence[Entry]) -> None:
            if any(e.kind is Kind.BUILT for e in entries):
                raise StateError("cannot write the ledger", why="No space left on device", fix="free some room")
            append(self, entries)

    from dataclasses import replace

    bench = world.bench()
    outcome = build(replace(bench, control=replace(bench.control, ledger=Full(world.store))), "a", ranges(TEN))
    assert len(world.engine.writes) == 1
    assert [f.error.splitlines()[0] for f in outcome.failures] == ["cannot write the ledger"]
    assert "run the same command again" in outcome.failures[0].error
    assert go(world).ok


def test_a_run_that_others_may_take_for_stopped_writes_nothing_more() -> None:
    """It is asked before each write; what is done is kept, and no day is blamed."""
    world, asked = World(a_model("a")), list[int]()

    def heard() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise StateError("this run may have been taken for stopped", why="it slept")

    outcome = go(world, heard=heard)
    assert len(asked) == 3 and len(world.engine.writes) == 2
    [failure] = outcome.failures
    assert failure.error.startswith("this run may have been taken for stopped") and "run the same" in failure.error
    assert go(world).ok and len(world.engine.writes) == 4


def test_a_stop_is_no_fault_of_a_batch() -> None:
    """What was interrupted is recorded as that, not with the error that the interruption caused."""
    world = World(a_model("a"))
    bench = world.bench()

    def interrupted(job: Job, interval: Interval) -> None:
        bench.stop.set()
        raise TransientBuildError("job 7 was cancelled as a part of something")

    world.engine.before_write = interrupted
    outcome = build(bench, "a", ranges(TEN))
    assert failed(world) == [("2024-01-01..2024-01-03", outcome.failures[0].error)]
    assert outcome.failures[0].error.startswith("a 2024-01-01..2024-01-03 was interrupted")
    assert len(world.engine.writes) == 1


def test_nothing_is_begun_after_a_stop() -> None:
    """A model whose turn comes then opens no engine."""
    world = World(a_model("a"))
    bench = world.bench()
    bench.stop.set()
    outcome = build(bench, "a", ranges(TEN))
    assert not outcome.ok and outcome.failures == () and world.engines_opened == 0
    assert outcome.green == Ranges()
