"""Heavy builds run within windows, and routine runs go first: batches are held, and go on by themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job
from backfill_assets.build.events import BatchDone, Event, Held, Resumed
from backfill_assets.build.hold import LOOK_AGAIN, Hold
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.windows import Window, Windows
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.fakes import World, a_model, days, nothing, ranges

WINDOWS = Windows((Window(start=7 * 60, end=6 * 60),))
"""Closed from six to seven."""
CLOSED, OPENS, OPEN = utc("2024-03-01T06:10"), utc("2024-03-01T07:00"), utc("2024-03-01T07:30")
ENDS_SOON = utc("2024-03-02T05:50")
TEN = days("01", "10")


@dataclass
class Clock:
    """The clock on the wall, which waiting moves on. A run is under way while it is before `busy_until`."""

    now: datetime
    busy_until: datetime | None = None
    waits: list[float] = field(default_factory=list[float])
    waiting: Callable[[], None] = lambda: None

    def sleep(self, stop: threading.Event, seconds: float) -> None:
        assert seconds > 0
        self.waits.append(seconds)
        self.now += timedelta(seconds=seconds)
        self.waiting()

    def routine(self) -> str:
        return "r1" if self.busy_until and self.now < self.busy_until else ""

    def hold(self, windows: Windows | None = WINDOWS, *, regardless: str = "", waits: bool = True) -> Hold:
        return Hold(
            windows=windows,
            regardless=regardless,
            waits=waits,
            routine=self.routine,
            now=lambda: self.now,
            sleep=self.sleep,
        )


def each_takes(world: World, clock: Clock, minutes: int) -> list[datetime]:
    """Each batch moves the clock on by so many minutes; when each began."""
    began = list[datetime]()

    def write(job: Job, interval: Interval) -> None:
        began.append(clock.now)
        clock.now += timedelta(minutes=minutes)

    world.engine.before_write = write
    return began


def go(world: World, hold: Hold, events: list[Event] | None = None) -> Outcome:
    """Builds a; it never waits for another writer."""
    listen = (events if events is not None else []).append
    return build(world.bench(hold=hold, listen=listen, sleep=refuse), "a", ranges(TEN))


def refuse(_: float) -> None:
    raise AssertionError


def test_nothing_begins_before_the_window_opens() -> None:
    """No engine is opened before seven; then all is built, and the run says what it waited for, once."""
    world, clock, events = World(a_model("a", "raw")), Clock(CLOSED), list[Event]()
    clock.waiting = lambda: None if clock.now >= OPENS else _assert_idle(world)
    began = each_takes(world, clock, 1)
    hold = clock.hold()
    assert go(world, hold, events).ok
    assert began[0] == OPENS and hold.seconds == 50 * 60
    assert max(clock.waits) == LOOK_AGAIN
    held, resumed = events[:2]
    assert isinstance(held, Held) and "(07:00-06:00 UTC); the next one opens at 2024-03-01 07:00 UTC" in held.why
    assert isinstance(resumed, Resumed) and not [e for e in events[2:] if isinstance(e, Held)]


def _assert_idle(world: World) -> None:
    assert not world.engines_opened and not world.engine.writes


def test_a_batch_that_runs_when_the_window_closes_is_finished() -> None:
    """The second of four begins at 05:55 and ends at six; the third one begins at seven, by itself."""
    world, clock, events = World(a_model("a", "raw")), Clock(ENDS_SOON), list[Event]()
    began = each_takes(world, clock, 5)
    assert go(world, clock.hold(), events).ok
    seven = utc("2024-03-02T07:00")
    assert began == [ENDS_SOON, utc("2024-03-02T05:55"), seven, seven + timedelta(minutes=5)]
    told = [type(e) for e in events if isinstance(e, Held | Resumed | BatchDone)]
    assert told == [BatchDone, BatchDone, Held, Resumed, BatchDone, BatchDone]


def test_what_does_not_wait_ends_and_goes_on_the_next_time() -> None:
    """Two batches are kept, and audited, though nothing more begins; the same again does the other two only."""
    world, clock = World(a_model("a", "raw")), Clock(ENDS_SOON)
    each_takes(world, clock, 5)
    hold = clock.hold(waits=False)
    first = go(world, hold)
    assert str(first.green) == "2024-01-01..2024-01-06" and not first.failures and not clock.waits
    assert "07:00-06:00" in hold.ended
    world.engine.writes.clear()
    clock.now = OPEN
    assert go(world, clock.hold(waits=False)).ok
    assert [str(part) for _, part in world.engine.writes] == ["2024-01-07..2024-01-09", "2024-01-10"]


def test_routine_runs_go_first() -> None:
    """While one works no batch begins, within the window too; when it is over, the build goes on."""
    world, clock, events = World(a_model("a", "raw")), Clock(OPEN), list[Event]()
    clock.busy_until = OPEN + timedelta(minutes=1)
    began = each_takes(world, clock, 1)
    assert go(world, clock.hold(), events).ok
    assert began[0] == clock.busy_until
    assert isinstance(events[0], Held) and events[0].why == "the routine run r1 goes first"


def test_without_windows_nothing_is_asked() -> None:
    """Neither the clock nor who else runs."""

    def asked() -> str:
        raise AssertionError

    world = World(a_model("a", "raw"))
    assert go(world, Hold(routine=asked, sleep=lambda stop, seconds: asked())).ok


def test_at_once_with_a_reason_that_is_kept() -> None:
    """Outside of the window, and while a routine run works; each batch that began there says why, no other does."""
    world, clock = World(a_model("a", "raw")), Clock(utc("2024-03-01T06:55"), busy_until=utc("2024-04-01"))
    began = each_takes(world, clock, 3)
    assert go(world, clock.hold(regardless="the board meets at eight")).ok
    assert not clock.waits and len(began) == 4
    said = [e.reason for e in world.control.ledger.entries() if e.kind is Kind.STARTED]
    outside = "outside of the windows: the board meets at eight"
    assert sorted(said) == ["", "", outside, outside]


def test_who_ends_a_run_that_waits_ends_it_at_once() -> None:
    """Nothing was begun, nothing failed."""
    world, clock, stop = World(a_model("a", "raw")), Clock(CLOSED), threading.Event()
    clock.waiting = stop.set
    done = build(world.bench(hold=clock.hold(), stop=stop), "a", ranges(TEN))
    assert not done.green and not done.failures and not world.engines_opened and len(clock.waits) == 1


def test_all_models_of_a_plan_are_held() -> None:
    """Side by side, and one after the other; each batch begins within the window, and all is green in the end."""
    world, clock = World(a_model("a", "raw"), a_model("b", "raw"), a_model("c", "a", "b")), Clock(ENDS_SOON)
    began, lock = list[datetime](), threading.Lock()

    def write(job: Job, interval: Interval) -> None:
        with lock:
            began.append(clock.now)
            clock.now += timedelta(hours=1)

    world.engine.before_write = write
    plan = world.plan()
    assert all(o.ok for o in apply(world.bench(hold=clock.hold()), plan).values())
    assert len(began) == 12 and all(WINDOWS.open_at(at) or at.hour == 6 for at in began)
    assert not world.plan().work


def test_how_things_are_is_read_after_the_wait() -> None:
    """What another run built meanwhile is not built again, and what it built upstream is read."""
    world, clock = World(a_model("a", "raw"), a_model("b", "a")), Clock(CLOSED)
    build(world.bench(), "a", ranges(days("01", "03")))

    def another_run() -> None:
        build(world.bench(), "a", ranges(TEN))
        build(world.bench(), "b", ranges(days("01", "05")))

    clock.waiting = another_run
    assert build(world.bench(hold=clock.hold()), "b", ranges(TEN)).ok
    written = [part for name, part in world.engine.writes if name == "b"]
    assert sum((part.end - part.start).days for part in written) == 10


def test_audits_are_not_held() -> None:
    """What a killed run left unaudited gets its verdicts before seven: they rewrite nothing."""
    world, clock = World(a_model("a", "raw", batch_size=10)), Clock(CLOSED)

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    world.engine.before_scan = die
    with pytest.raises(Killed):
        go(world, Hold())
    world.engine.before_scan = nothing
    assert go(world, clock.hold()).ok and not clock.waits
