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
from backfill_assets.core.errors import DataError, TransientBuildError
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.windows import Window, Windows
from backfill_assets.state.ledger import Entry, Kind
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
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pass_by(self, time: timedelta) -> None:
        """Batches that run at once move it on together."""
        with self.lock:
            self.now += time

    def sleep(self, stop: threading.Event, seconds: float) -> None:
        assert seconds > 0
        self.waits.append(seconds)
        self.pass_by(timedelta(seconds=seconds))
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
        clock.pass_by(timedelta(minutes=minutes))

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
    assert began[0] == OPENS and hold.waited == Ranges((Interval(CLOSED, OPENS),))
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
    assert isinstance(events[0], Held) and events[0].why.startswith("the routine run r1 goes first;")
    assert "--outside-windows" in events[0].why


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_plan_that_ends_while_its_run_waits(at_once: int) -> None:
    """What was built before is kept, and audited; nothing more begins when the window opens, and it is told once.

    Two batches end before the window closes, so at most five of ten begin, however threads take turns."""
    model = a_model("a", "raw", batch_size=1, batch_concurrency=at_once)
    world, clock, events = World(model), Clock(ENDS_SOON), list[Event]()
    each_takes(world, clock, 5)
    hold, ended = clock.hold(), list[str]()
    hold.plan_ended = lambda: ended[0] if ended else ""
    clock.waiting = lambda: ended.append("plan p was abandoned")
    found = go(world, hold, events)
    assert found.green == Ranges.of(part for _, part in world.engine.writes) != Ranges((TEN,)) and not found.failures
    assert (hold.ended, hold.with_plan) == ("plan p was abandoned", True)
    assert [e.why for e in events if isinstance(e, Held) and not e.waits] == ["plan p was abandoned"]
    assert hold.waited and clock.now < utc("2024-03-02T07:00"), "it does not wait for the window first"


def test_a_plan_that_ends_while_its_batches_run() -> None:
    """Without windows as well: what was built is audited, and no further batch begins for a plan nobody wants."""
    world, events, hold = World(a_model("a", "raw", batch_size=1)), list[Event](), Hold()
    hold.plan_ended = lambda: "plan p was superseded" if len(world.engine.writes) >= 2 else ""
    found = go(world, hold, events)
    assert found.green == Ranges.of(part for _, part in world.engine.writes) and not found.failures
    assert len(world.engine.writes) < 10 and (hold.ended, hold.with_plan) == ("plan p was superseded", True)


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


def killed_unaudited(world: World) -> None:
    """All of a is built by a run that is killed before its audits."""

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    world.engine.before_scan = die
    with pytest.raises(Killed):
        go(world, Hold())
    world.engine.before_scan = nothing


def test_audits_are_not_held() -> None:
    """What a killed run left unaudited gets its verdicts before seven: they rewrite nothing."""
    world, clock = World(a_model("a", "raw", batch_size=10)), Clock(CLOSED)
    killed_unaudited(world)
    assert go(world, clock.hold()).ok and not clock.waits


@pytest.mark.parametrize("waits", [True, False])
def test_audits_do_not_wait_for_the_batches_beside_them(waits: bool) -> None:
    """Ten days are there without verdicts, two more are to be built: the ten are green before anything waits."""
    world, clock = World(a_model("a", "raw", batch_size=10)), Clock(CLOSED)
    killed_unaudited(world)
    green = list[str]()
    scan = world.engine.before_scan

    def scanned(*_: object) -> None:
        green.append(f"{clock.now:%H:%M}")

    world.engine.before_scan = scanned
    more = days("01", "12")
    hold = clock.hold(waits=waits)
    bench = world.bench(hold=hold, sleep=refuse, now=more.end)
    outcome = build(bench, "a", ranges(more))
    world.engine.before_scan = scan
    assert green[0] == "06:10" and outcome.ok is waits
    assert str(outcome.green) == f"2024-01-01..2024-01-{12 if waits else 10}"
    assert outcome.requested == ranges(more) and not outcome.failures
    assert bool(hold.ended) is not waits and bool(hold.waited) is waits


def bad_day(clock: Clock, minutes: int = 60) -> Callable[[Job, Interval], None]:
    """Each attempt takes so many minutes, and what the fourth of January is in cannot be computed."""

    def write(job: Job, interval: Interval) -> None:
        clock.now += timedelta(minutes=minutes)
        if interval.holds(utc("2024-01-04")):
            raise DataError("a row cannot be computed", why="its amount")

    return write


def began(world: World) -> list[Entry]:
    return world.control.ledger.entries(kinds=[Kind.STARTED])


def test_the_parts_of_a_batch_are_held() -> None:
    """A batch of ten days fails when the window has closed. None of its parts begins, nothing of it counts as failed;
    the next run goes on with it, and finds the bad day."""
    world, clock = World(a_model("a", "raw", batch_size=10)), Clock(ENDS_SOON)
    world.engine.before_write = bad_day(clock)
    hold = clock.hold(waits=False)
    first = go(world, hold)
    assert hold.ended and not first.failures and not first.green
    assert len(began(world)) == 1 and not world.control.ledger.entries(kinds=[Kind.FAILED])
    clock.now = OPEN + timedelta(days=1)
    again = go(world, clock.hold(waits=False))
    assert [str(f.interval) for f in again.failures] == ["2024-01-04"]
    assert again.green == ranges(days("01", "03"), days("05", "10"))


def test_the_parts_of_a_batch_wait() -> None:
    """The whole begins before six, its parts at seven, and in the night after: none of them in the hour between."""
    world, clock, at = World(a_model("a", "raw", batch_size=10)), Clock(ENDS_SOON), list[datetime]()
    slow = bad_day(clock, minutes=5 * 60)

    def write(job: Job, interval: Interval) -> None:
        at.append(clock.now)
        slow(job, interval)

    world.engine.before_write = write
    done = go(world, clock.hold())
    assert [str(f.interval) for f in done.failures] == ["2024-01-04"]
    assert len(at) > 6 and all(WINDOWS.open_at(begun) for begun in at)


def test_some_parts_are_held_in_the_middle() -> None:
    """The first half was built, the second one was not begun: it is no failure, and no hopeless batch."""
    world, clock = World(a_model("a", "raw", batch_size=10)), Clock(utc("2024-03-02T03:30"))
    world.engine.before_write = bad_day(clock)
    first = go(world, clock.hold(waits=False))
    assert str(first.green) == "2024-01-06..2024-01-10" and not first.failures
    assert not world.control.ledger.entries(kinds=[Kind.FAILED])


def test_further_attempts_are_held() -> None:
    """A batch fails for a reason that may pass, and the window has closed: another attempt is made at seven, or by the
    next run. It has not failed."""
    for waits in (True, False):
        world, clock, at = World(a_model("a", "raw", batch_size=10)), Clock(ENDS_SOON), list[datetime]()

        def write(job: Job, interval: Interval, clock: Clock = clock, at: list[datetime] = at) -> None:
            at.append(clock.now)
            clock.now += timedelta(minutes=30)
            if len(at) == 1:
                raise TransientBuildError("the network was away")

        world.engine.before_write = write
        hold = clock.hold(waits=waits)
        done = build(world.bench(hold=hold), "a", ranges(TEN))
        assert at == [ENDS_SOON, utc("2024-03-02T07:00")][: 1 + waits]
        assert done.ok is waits and not done.failures
        assert not world.control.ledger.entries(kinds=[Kind.FAILED])
