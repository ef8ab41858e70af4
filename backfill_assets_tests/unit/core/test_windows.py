"""When are windows open? As the clock of the place says, also when it is changed."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.windows import DAYS, EVERY_DAY, Window, Windows, minute, weekdays

BERLIN = "Europe/Berlin"
CHANGES = ("2024-03-31T01:00", "2024-10-27T01:00")
MINUTE = timedelta(minutes=1)
MINUTES = st.integers(0, 1439)


def window(said: str, zone: str = BERLIN) -> Window:
    """`Sat,Sun 22:00-06:00`."""
    days, _, hours = said.rpartition(" ")
    first, _, last = hours.partition("-")
    on = frozenset[int]().union(*map(weekdays, days.split(","))) if days else EVERY_DAY
    return Window(days=on, start=minute(first), end=minute(last, last=True), time_zone=zone)


def windows(*texts: str, zone: str = BERLIN) -> Windows:
    return Windows(tuple(window(said, zone) for said in texts))


def text(start: int, end: int, days: str = "") -> str:
    def clock(minutes: int) -> str:
        return f"{minutes // 60:02}:{minutes % 60:02}"

    return f"{days} {clock(start)}-{clock(end)}".strip()


def by_the_minute(one: str, zone: str, around: datetime) -> set[datetime]:
    """Every open minute of three days: from the first minute at which the clock shows the beginning, or more, of a day
    until the last one at which it shows less than the end. Looked up minute by minute."""
    days, _, hours = one.rpartition(" ")
    first, _, last = hours.partition("-")
    place = ZoneInfo(zone)
    span = [around + n * MINUTE for n in range(-4 * 1440, 4 * 1440)]
    shown = [(at, at.astimezone(place).replace(tzinfo=None)) for at in span]
    found: set[datetime] = set()
    today = around.astimezone(place).date()
    for day in (today + timedelta(days=n) for n in range(-2, 3)):
        if days and DAYS[day.weekday()] not in days.split(","):
            continue
        begins = datetime.combine(day, time.fromisoformat(first))
        ends = datetime.combine(day, time(0)) + timedelta(hours=int(last[:2]), minutes=int(last[3:]))
        ends += timedelta(days=1) if ends <= begins else timedelta()
        start = min(at for at, clock in shown if clock >= begins)
        end = max(at for at, clock in shown if clock < ends) + MINUTE
        found |= {at for at in span if start <= at < end}
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1439),
    st.integers(1, 1440),
    st.sampled_from(["", "Sun", "Sat,Sun", "Mon"]),
    st.sampled_from([*CHANGES, "2024-07-03T12:00"]),
    st.sampled_from([BERLIN, "America/New_York", "Asia/Kathmandu", "UTC", "Australia/Lord_Howe"]),
)
@example(22 * 60, 6 * 60, "", CHANGES[0], BERLIN)
@example(22 * 60, 6 * 60, "", CHANGES[1], BERLIN)
@example(150, 240, "Sun", CHANGES[0], BERLIN)
@example(60, 150, "Sun", CHANGES[0], BERLIN)
@example(130, 170, "", CHANGES[0], BERLIN)
@example(0, 120, "", CHANGES[1], BERLIN)
@example(150, 240, "", CHANGES[1], BERLIN)
@example(60, 150, "", CHANGES[1], BERLIN)
def test_as_the_clock_of_the_place_says(start: int, end: int, days: str, at: str, zone: str) -> None:
    """Minute by minute over a day and a half, on days with a change of the clock and on others."""
    if start == end % 1440 and (start, end) != (0, 1440):
        return  # no window: settings refuse it
    found, around = windows(text(start, end, days), zone=zone), utc(at)
    expected = by_the_minute(text(start, end, days), zone, around)
    stretches = list(found._around(around))  # pyright: ignore[reportPrivateUsage]
    for n in range(-18 * 60, 18 * 60):
        minute = around + n * MINUTE
        assert any(i.holds(minute) for i in stretches) == (minute in expected), minute


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1439), st.integers(0, 1439)).filter(lambda p: p[0] != p[1]), min_size=1, max_size=3
    ),
    st.sampled_from(["", "Wed", "Sat,Sun"]),
    st.datetimes(datetime(2024, 1, 1), datetime(2025, 12, 31)),
)
def test_what_is_coming(hours: list[tuple[int, int]], days: str, at: datetime) -> None:
    """The stretches follow each other, never touch, and between them nothing is open."""
    found, now = windows(*(text(a, b, days) for a, b in hours)), at.replace(tzinfo=UTC)
    open_now = found.open_at(now)
    if open_now is not None and open_now.end - now > timedelta(days=20):
        return  # always open: see below
    coming = list(islice(found.coming(now), 6))
    assert (coming[0].start == now) == (open_now is not None)
    assert open_now is None or coming[0].end == open_now.end
    for one, other in pairwise(coming):
        assert one.end < other.start
        for instant in (one.end, one.end + (other.start - one.end) / 2, other.start - timedelta(seconds=1)):
            assert found.open_at(instant) is None
        assert found.open_at(other.start) == other
    assert coming[-1].end - now <= timedelta(days=60)


def test_the_night_is_as_long_as_it_is() -> None:
    """Seven hours in March, nine in October; what is left of an open one is cut."""
    night = windows("22:00-06:00")
    assert night.open_at(utc("2024-03-31T00:30")) == Interval(utc("2024-03-30T21:00"), utc("2024-03-31T04:00"))
    assert night.open_at(utc("2024-10-27T00:30")) == Interval(utc("2024-10-26T20:00"), utc("2024-10-27T05:00"))
    assert next(night.coming(utc("2024-07-01T23:00"))) == Interval(utc("2024-07-01T23:00"), utc("2024-07-02T04:00"))
    assert night.told(utc("2024-07-01T20:00")) == "2024-07-01 22:00 Europe/Berlin (20:00 UTC)"
    assert windows("01:00-02:00", zone="UTC").told(utc("2024-07-01T20:00")) == "2024-07-01 20:00 UTC"


def test_the_whole_time() -> None:
    """Days that touch are one; all of them never end."""
    assert windows("Sat,Sun 00:00-24:00", zone="UTC").open_at(utc("2024-06-01T05:00")) == Interval.of(
        "2024-06-01", "2024-06-03"
    )
    now = utc("2024-06-01T05:00")
    always = list(islice(windows("00:00-24:00").coming(now), 3))
    assert always[0].start == now and always[0].end == always[1].start


def test_windows_of_several_places() -> None:
    """Each on its own clock; what touches is one stretch."""
    both = Windows((window("22:00-24:00", "UTC"), window("19:00-21:00", "America/New_York")))
    assert both.open_at(utc("2024-01-10T23:00")) == Interval(utc("2024-01-10T22:00"), utc("2024-01-11T02:00"))
    assert str(both) == "22:00-24:00 UTC, 19:00-21:00 America/New_York"


@pytest.mark.parametrize(
    ("days", "said"),
    [("Mon-Fri", "Mon-Fri"), ("sunday,SAT", "Sat,Sun"), ("fri-mon", "Mon,Fri-Sun"), ("mon-sun", ""), ("wed", "Wed")],
)
def test_how_days_are_said(days: str, said: str) -> None:
    """In the week's order, runs of them short."""
    assert str(window(f"{days} 01:00-02:00", "UTC")) == f"{said} 01:00-02:00 UTC".strip()


@pytest.mark.parametrize("wrong", ["", "22", "25:00", "22:60", "24:00", "-1:00", "٢٢:٠٠", "22:00:00", " 22:00", "ten"])
def test_what_is_no_time(wrong: str) -> None:
    """Refused, with what it may be; midnight at the end of a day is the end of a window only."""
    with pytest.raises(ValueError, match="not a time"):
        minute(wrong)
    with pytest.raises(ValueError, match="not a time"):
        minute("24:01", last=True)
    assert minute("24:00", last=True) == 1440


@pytest.mark.parametrize("wrong", ["", "Fun", "Mon-", "-Mon", "Mon-Tue-Wed", "1"])
def test_what_is_no_day(wrong: str) -> None:
    """Refused, with the days."""
    with pytest.raises(ValueError, match=r"is no day: Mon"):
        weekdays(wrong)
