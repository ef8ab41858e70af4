"""Local days and UTC time: each day's time, the days of a time, and what models read of each other by these."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.local_days import days_meeting, days_until, known_zones, time_of_days
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import ALL_TIME, affected_interval
from backfill_assets_tests.fakes import a_model

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
CHANGES = [
    ("America/New_York", "2024-03-10"),
    ("America/New_York", "2024-11-03"),
    ("Europe/Berlin", "2024-10-27"),
    ("Australia/Lord_Howe", "2024-04-07"),  # by half an hour
    ("Asia/Kathmandu", "2024-01-01"),  # +05:45
    ("America/Sao_Paulo", "2018-11-04"),  # no midnight
    ("Atlantic/Azores", "2024-10-27"),  # two midnights, both of the day
    ("America/St_Johns", "2006-10-29"),  # clocks go back over a midnight: the day before comes in two pieces
    ("America/Toronto", "1919-03-31"),  # a clock that jumps from half an hour before midnight to half an hour after it
    ("Pacific/Apia", "2011-12-30"),  # a day that never was
    ("Pacific/Kwajalein", "1993-08-21"),  # nor was this
    ("Africa/Casablanca", "2024-03-10"),
]
LONGEST = timedelta(hours=30)

zones = st.sampled_from(sorted(known_zones()))
days = st.datetimes(min_value=datetime(1975, 1, 1), max_value=datetime(2036, 1, 1)).map(
    lambda d: utc(d.replace(hour=0, minute=0, second=0, microsecond=0))
)
instants = st.datetimes(min_value=datetime(1975, 1, 1), max_value=datetime(2036, 1, 1)).map(utc)
of_days = st.sampled_from([Cadence.DAILY, Cadence.WEEKLY, Cadence.MONTHLY])


def around_changes(test: object) -> object:
    """The property test, run for all the days above, and those before them, as well."""
    for zone, day in CHANGES:
        for number in (0, 1):
            test = example(zone, utc(day) - number * DAY)(test)  # type: ignore[arg-type]
    return test


def shown(zone: str, instant: datetime) -> datetime:
    """The day on a clock of the zone."""
    return utc(instant.astimezone(ZoneInfo(zone)).date())


def minutes_of(zone: str, day: datetime) -> list[datetime]:
    """By counting: the minutes at whose beginning clocks show that day."""
    first = day - LONGEST
    every = (first + n * MINUTE for n in range(int((2 * LONGEST + DAY) / MINUTE)))
    return [at for at in every if shown(zone, at) == day]


@around_changes
@settings(max_examples=20)
@given(zones, days)
def test_a_days_time_is_from_its_first_minute_to_its_last(zone: str, day: datetime) -> None:
    """By a count of minutes; a day that never was has none."""
    found, there = time_of_days(zone, Interval(day, day + DAY)), minutes_of(zone, day)
    assert found == (Interval(there[0], there[-1] + MINUTE) if there else None)


def test_days_of_23_and_25_hours_and_none() -> None:
    """The lengths that people know."""

    def length(zone: str, day: str) -> float:
        time = time_of_days(zone, Interval(utc(day), utc(day) + DAY))
        return (time.end - time.start) / timedelta(hours=1) if time else 0

    assert [length("America/New_York", d) for d in ("2024-03-09", "2024-03-10", "2024-11-03")] == [24, 23, 25]
    assert [length("Australia/Lord_Howe", d) for d in ("2024-04-07", "2024-10-06")] == [24.5, 23.5]
    assert [length("Pacific/Apia", f"2011-12-{d}") for d in (29, 30, 31)] == [24, 0, 24]
    assert length("America/St_Johns", "2006-10-28") == 25, "a minute of the next day is within"


@around_changes
@given(zones, days)
def test_the_days_of_a_time_are_those_that_have_some_of_it(zone: str, day: datetime) -> None:
    """`days_meeting` is the other side of `time_of_days`, at each edge of a day to the microsecond."""
    for number in (-1, 0, 1):
        time = time_of_days(zone, Interval(day + number * DAY, day + (number + 1) * DAY))
        for edge in (time.start, time.end) if time else ():
            for start, end in ((edge - MINUTE, edge), (edge, edge + MINUTE), (edge - MINUTE, edge + MINUTE)):
                found = days_meeting(zone, Interval(start, end))
                for there in (day + n * DAY for n in range(-3, 4)):
                    its = time_of_days(zone, Interval(there, there + DAY))
                    if its is not None:
                        assert bool(its.intersection(Interval(start, end))) == found.holds(there)


@given(zones, days, st.integers(1, 40))
def test_local_days_leave_no_time_out(zone: str, day: datetime, count: int) -> None:
    """What single days have together is what all of them have, without a gap."""
    whole = Interval(day, day + count * DAY)
    single = [time for unit in Cadence.DAILY.split(whole) if (time := time_of_days(zone, unit))]
    time = time_of_days(zone, whole)
    assert Ranges.of(single).intervals == ((time,) if time else ())


@given(zones, instants)
def test_days_until_an_instant_are_over(zone: str, now: datetime) -> None:
    """The day before has ended by then for good; the next one has not."""
    day = days_until(zone, now)
    before, after = time_of_days(zone, Interval(day - DAY, day)), time_of_days(zone, Interval(day, day + DAY))
    assert before is None or before.end <= now
    assert after is None or after.end > now


def test_a_day_whose_clocks_go_back_to_it_is_not_over() -> None:
    """In the minute of the next day that comes before, its last hour is still ahead."""
    assert days_until("America/St_Johns", utc("2010-11-07T02:30:30")) == utc("2010-11-06")
    assert days_until("America/St_Johns", utc("2010-11-07T03:30:00")) == utc("2010-11-07")


def test_all_of_time_is_no_day_of_a_zone() -> None:
    """The years that no file may name overflow nothing."""
    assert days_meeting("Pacific/Kiritimati", ALL_TIME) == ALL_TIME
    assert time_of_days("Pacific/Pago_Pago", ALL_TIME) == ALL_TIME


@given(zones, of_days, st.sampled_from([Cadence.HOURLY, Cadence.DAILY]), st.integers(0, 3), days, st.integers(0, 60))
@example("America/New_York", Cadence.DAILY, Cadence.HOURLY, 0, utc("2024-11-03"), 0)
@example("America/St_Johns", Cadence.DAILY, Cadence.HOURLY, 1, utc("2006-10-29"), 5)
@example("Pacific/Apia", Cadence.DAILY, Cadence.DAILY, 0, utc("2011-12-31"), 0)
def test_what_is_affected_is_what_needs_it(
    zone: str, cadence: Cadence, of: Cadence, lookback: int, day: datetime, offset: int
) -> None:
    """An interval of UTC affects exactly those intervals of local days that need it, over every change of clocks."""
    up = a_model("up", cadence=of, start=utc("1970-01-01"))
    model = a_model("m", "up", cadence=cadence, time_zone=zone, lookback=lookback, start=utc("1970-01-01"))
    start = of.shift(of.floor(day), offset)
    part = Interval(start, of.shift(start, 1))
    affected = affected_interval(model, up, part)
    assert affected == cadence.cover(affected)
    first = cadence.shift(affected.start, -2)
    for unit in cadence.split(Interval(first, cadence.shift(affected.end, 2))):
        if model.calendar.time_of(model.window(unit)) is not None:
            assert bool(needed(model, up, unit) & Ranges((part,))) == affected.holds(unit.start), unit


@given(zones, of_days, days)
def test_models_of_one_zone_read_each_other_by_days(zone: str, cadence: Cadence, day: datetime) -> None:
    """Between models of the same zone nothing is converted: a day is that day, also one that never was."""
    up = a_model("up", time_zone=zone, start=utc("1970-01-01"))
    model = a_model("m", "up", cadence=cadence, time_zone=zone, start=utc("1970-01-01"))
    unit = cadence.cover(Interval(day, day + DAY))
    assert needed(model, up, unit) == Ranges((unit,))
    assert affected_interval(model, up, Interval(day, day + DAY)) == unit


@given(zones, of_days, instants, st.sampled_from([Cadence.HOURLY, Cadence.DAILY]))
def test_what_is_over_has_all_that_it_reads(zone: str, cadence: Cadence, now: datetime, of: Cadence) -> None:
    """No interval counts as over while a UTC interval that it reads is not, and each does at the instant it is told."""
    up = a_model("up", cadence=of, start=utc("1970-01-01"))
    model = a_model("m", "up", cadence=cadence, time_zone=zone, start=utc("1970-01-01"), upstream_cadence=of)
    over = model.over(now)
    last = Interval(cadence.shift(over, -1), over)
    assert all(part.end <= up.over(now) for part in needed(model, up, last))
    assert model.over_from(over) <= now < model.over_from(cadence.shift(over, 1))
    assert model.over(model.over_from(over)) == over or time_of_days(zone, Interval(over, over + DAY)) is None
    assert over < model.calendar.begun(now) or now == model.over_from(over)


def test_a_calendar_of_utc_is_its_cadence() -> None:
    """Without a zone nothing is converted."""
    part = Interval.of("2024-03-10T03:00", "2024-03-10T04:00")
    assert Calendar(Cadence.DAILY).meeting(part) == Cadence.DAILY.cover(part)
    assert Calendar(Cadence.HOURLY).time_of(part) == part
    assert Calendar(Cadence.DAILY).begun(utc("2024-03-10")) == utc("2024-03-10")
    assert Calendar(Cadence.DAILY).begun(utc("2024-03-10T00:01")) == utc("2024-03-11")


@pytest.mark.parametrize(
    ("zone", "over"),
    [("", "2024-03-05T00:00"), ("Asia/Tokyo", "2024-03-04T15:00"), ("America/New_York", "2024-03-05T05:00")],
)
def test_when_a_day_counts_as_over(zone: str, over: str) -> None:
    """The 4th of March, by the clocks of its zone; at six (UTC) where `ready` says so."""
    model = a_model("m", time_zone=zone, start=utc("2024-03-01"))
    minute = utc(over) - MINUTE
    assert (model.over(minute), model.over(utc(over))) == (utc("2024-03-04"), utc("2024-03-05"))
    late = a_model("m", time_zone=zone, start=utc("2024-03-01"), ready="0 6 * * *")
    six = utc("2024-03-05T06:00")
    assert late.over(six - MINUTE) == utc("2024-03-04") and late.over(six) == utc("2024-03-05")
