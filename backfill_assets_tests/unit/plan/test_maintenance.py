"""In which windows is a plan built, and who is told? By the estimate, on the clock of the windows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Consumer
from backfill_assets.core.windows import Window, Windows
from backfill_assets.plan.estimate import Estimate, PlanEstimate, Spread
from backfill_assets.plan.maintenance import MOST, Maintenance, maintenance, timetable
from backfill_assets_tests.fakes import World, a_model

NIGHTS = Windows((Window(days=frozenset(range(5)), start=22 * 60, end=6 * 60, time_zone="Europe/Berlin"),))
FRIDAY = utc("2024-03-01T12:00")
HOUR, FILE = 3600.0, Path("/project/consumers.yml")
CONSUMERS = (
    Consumer(name="board", owner="cfo@example.com", reads=("b", "other"), file=FILE),
    Consumer(name="notebook", reads=("a",), file=FILE),
    Consumer(name="elsewhere", owner="eve@example.com", reads=("other",), file=FILE),
)


def takes(seconds: Spread | None, *unknown: str) -> PlanEstimate:
    total = Estimate(seconds=seconds, basis="two batches")
    return PlanEstimate(stages=(), total=total, unknown=unknown, price=None)


def a_plan(estimate: PlanEstimate, windows: Windows | None = NIGHTS) -> Maintenance | None:
    world = World(a_model("a", "raw", owner="ana@example.com"), a_model("b", "a", owner="bo@example.com"))
    return maintenance(windows, world.plan(), world.project.models, CONSUMERS, estimate, FRIDAY)


@pytest.mark.parametrize(
    ("at", "hours", "opens", "count", "done"),
    [
        ("2024-03-01T12:00", 9, "2024-03-01T21:00", 2, "2024-03-04T22:00"),  # the weekend lies between
        ("2024-03-01T12:00", 8, "2024-03-01T21:00", 1, "2024-03-02T05:00"),
        ("2024-03-02T04:00", 0.5, None, 1, "2024-03-02T04:30"),
        ("2024-03-02T04:00", 2, None, 2, "2024-03-04T22:00"),
        ("2024-03-29T20:00", 8, "2024-03-29T21:00", 1, "2024-03-30T05:00"),
        ("2024-10-28T12:00", 0, "2024-10-28T21:00", 1, "2024-10-28T21:00"),
    ],
)
def test_when_so_much_work_is_done(at: str, hours: float, opens: str | None, count: int, done: str) -> None:
    """Counted by hand: eight hours a night from Monday to Friday, on Berlin's clock."""
    found = timetable(NIGHTS, hours * HOUR, utc(at))
    assert (found.opens, found.count, found.done) == (utc(opens) if opens else None, count, utc(done))


def test_a_night_with_a_clock_change_is_longer_or_shorter() -> None:
    """Of seven hours in March, of nine in October."""
    every = Windows((Window(start=22 * 60, end=6 * 60, time_zone="Europe/Berlin"),))
    assert timetable(every, 8 * HOUR, utc("2024-03-30T12:00")).count == 2
    assert timetable(every, 9 * HOUR, utc("2024-10-26T12:00")).count == 1


@given(
    st.floats(1, 200 * HOUR),
    st.datetimes(utc("2024-01-01").replace(tzinfo=None), utc("2024-12-31").replace(tzinfo=None)),
)
def test_all_of_the_work_is_within_windows(seconds: float, at: object) -> None:
    """From the beginning to the end, the time that is open is the work."""
    begins = utc(str(at))
    found = timetable(NIGHTS, seconds, begins)
    assert found.done is not None
    spent = timedelta()
    for part in NIGHTS.coming(begins):
        if part.start >= found.done:
            break
        spent += min(part.end, found.done) - part.start
    assert abs(spent.total_seconds() - seconds) < 0.01


def test_nobody_knows_how_long() -> None:
    """Without an estimate, of all or of some; and of what never ends."""
    assert timetable(NIGHTS, None, FRIDAY).done is None
    short = Windows((Window(start=0, end=1),))
    assert (
        timetable(short, 60.0 * MOST, FRIDAY).count == MOST and timetable(short, 60.0 * MOST + 1, FRIDAY).count is None
    )
    some = a_plan(takes(Spread(low=1, likely=2, high=3), "b"))
    assert some and some.timetable.done is None and "1–3 s of work without b;" in some.sentence


def test_the_sentence_and_the_notice() -> None:
    """What, when, and whom it concerns: those who own or read what is built, nobody else."""
    found = a_plan(takes(Spread(low=7 * HOUR, likely=9 * HOUR, high=11 * HOUR)))
    assert found
    assert found.sentence == (
        "builds in windows (Mon-Fri 22:00-06:00 Europe/Berlin): 7–11 h of work = 2 windows, done about 2024-03-04 23:00"
        " Europe/Berlin (22:00 UTC); the next window opens at 2024-03-01 22:00 Europe/Berlin (21:00 UTC)"
    )
    for words in (
        "Subject: Maintenance: a and b will be computed",
        "To: ana@example.com, bo@example.com, cfo@example.com\n",
        "- 10 days of a.\n- 10 days of b.\n",
        "- Not before 2024-03-01 22:00 Europe/Berlin (21:00 UTC).",
        "- Who reads these models: board (cfo@example.com) and notebook (no owner is named).",
    ):
        assert words in found.notice.replace("\\", ""), found.notice
    assert "eve@example.com" not in found.notice and "elsewhere" not in found.notice


def test_nothing_is_said_without_windows() -> None:
    """Nor of a plan that builds nothing."""
    assert a_plan(takes(None), windows=None) is None
    world = World(a_model("a", "raw"))
    apply(world.bench(), world.plan())
    assert not world.plan().work
    assert maintenance(NIGHTS, world.plan(), world.project.models, CONSUMERS, takes(None), FRIDAY) is None
