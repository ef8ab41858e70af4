"""Intervals, cadences and sets of them: checked against sets of single days."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from typing import cast

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, closed, utc
from backfill_assets_tests.strategies import (
    aligned,
    cadences,
    day,
    days_of,
    instants,
    sets_of_days,
    span,
    spans,
)

HOURLY, DAILY, WEEKLY, MONTHLY = Cadence.HOURLY, Cadence.DAILY, Cadence.WEEKLY, Cadence.MONTHLY


def assert_normal(ranges: Ranges) -> None:
    """Sorted, and with a gap between any two."""
    assert all(a.end < b.start for a, b in pairwise(ranges))


@given(sets_of_days(), sets_of_days())
def test_algebra_is_that_of_sets(a: Ranges, b: Ranges) -> None:
    """Union, intersection and difference hold exactly the days that sets of days would."""
    assert days_of(a | b) == days_of(a) | days_of(b)
    assert days_of(a & b) == days_of(a) & days_of(b)
    assert days_of(a - b) == days_of(a) - days_of(b)
    assert bool(a) == bool(days_of(a))
    for result in (a | b, a & b, a - b):
        assert_normal(result)


@given(sets_of_days(), spans())
def test_a_single_interval_is_a_set_as_any(a: Ranges, part: Interval) -> None:
    """Sets of thousands are asked for single intervals, which takes another way: what is found, on both sides, is what
    the days say."""
    one = Ranges((part,))
    assert days_of(a & one) == days_of(one & a) == days_of(a) & days_of(one)
    assert days_of(a - one) == days_of(a) - days_of(one)
    assert days_of(one - a) == days_of(one) - days_of(a)
    for result in (a & one, one & a, a - one, one - a):
        assert_normal(result)


@given(st.lists(spans()))
def test_of_holds_every_interval_once_in_a_normal_form(parts: list[Interval]) -> None:
    """Whatever order and overlap the intervals come in, the set is the same, sorted, and nothing in it touches."""
    found = Ranges.of(parts)
    assert_normal(found)
    assert days_of(found) == {n for n in range(20) for p in parts if p.start <= day(n) < p.end}
    assert Ranges.of(reversed(parts)) == found
    assert Ranges.of(found) == found


@given(sets_of_days(), sets_of_days())
def test_equal_sets_are_equal_values(a: Ranges, b: Ranges) -> None:
    """Two sets with the same days compare equal, however they came about: plan ids rely on it."""
    assert (a - b) | (a & b) == a
    assert (a | b) - b == a - b
    assert a & b == b & a
    assert (days_of(a) == days_of(b)) == (a == b)


@given(sets_of_days(), spans())
def test_contains_means_all_of_it(a: Ranges, part: Interval) -> None:
    """An interval is in a set when all of its days are."""
    assert (part in a) == (days_of(Ranges((part,))) <= days_of(a))


@given(sets_of_days(), st.integers(1, 25))
def test_batches_cover_exactly(a: Ranges, size: int) -> None:
    """Batches are in order, disjoint, of at most `size` days, never across a gap, and together the set."""
    batches = list(a.batches(DAILY, size))
    assert Ranges.of(batches) == a
    assert all(x.end <= y.start for x, y in pairwise(batches))
    assert all(DAILY.count(b) <= size for b in batches)
    assert all(b in a for b in batches)
    assert len(batches) == sum(-(-DAILY.count(i) // size) for i in a), "no more batches than needed"


@given(sets_of_days())
def test_split_count_and_span_agree(a: Ranges) -> None:
    """Splitting gives each day once, in order, as many as counted; the span runs from the first to the last."""
    units = list(a.split(DAILY))
    assert [(u.start - day(0)).days for u in units] == sorted(days_of(a))
    assert a.count(DAILY) == len(units)
    assert a.span == (Interval(units[0].start, units[-1].end) if units else None)


@given(cadences, st.data())
def test_split_of_every_cadence(cadence: Cadence, data: st.DataObject) -> None:
    """Whole hours, days, weeks and months: split and count agree, and batches cut where intervals end."""
    whole = data.draw(aligned(cadence))
    units = list(cadence.split(whole))
    assert len(units) == cadence.count(whole) == Ranges((whole,)).count(cadence)
    assert Ranges.of(units) == Ranges((whole,))
    assert all(cadence.floor(u.start) == u.start and cadence.shift(u.start, 1) == u.end for u in units)
    size = data.draw(st.integers(1, 5))
    assert [list(cadence.split(b)) for b in Ranges((whole,)).batches(cadence, size)] == [
        units[i : i + size] for i in range(0, len(units), size)
    ]
    assert list(Ranges((whole,)).batches(cadence, 1_000_000)) == [whole], "as long as a batch_size may be"


@given(cadences, instants)
def test_floor_and_ceil_enclose(cadence: Cadence, instant: datetime) -> None:
    """floor ≤ instant ≤ ceil, at most one interval apart, both on boundaries."""
    floor, ceil = cadence.floor(instant), cadence.ceil(instant)
    assert floor <= instant <= ceil
    assert instant < cadence.shift(floor, 1)
    assert ceil == (floor if floor == instant else cadence.shift(floor, 1))
    assert cadence.floor(floor) == floor
    assert cadence.ceil(ceil) == ceil


@given(cadences, instants, st.integers(-40, 40), st.integers(-40, 40))
def test_shift_adds_up(cadence: Cadence, instant: datetime, a: int, b: int) -> None:
    """Shifting twice is shifting by the sum, stays on boundaries, keeps the order and is counted by `count`."""
    start = cadence.floor(instant)
    there = cadence.shift(start, a)
    assert cadence.shift(there, b) == cadence.shift(start, a + b)
    assert cadence.floor(there) == there
    if a > 0:
        assert cadence.count(Interval(start, there)) == a


@given(cadences, instants, st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=100)))
def test_cover_is_the_smallest(cadence: Cadence, start: datetime, length: timedelta) -> None:
    """The cover holds the interval, and has no whole interval too many at either end."""
    inner = Interval(start, start + length)
    cover = cadence.cover(inner)
    assert cover.start <= inner.start < cadence.shift(cover.start, 1)
    assert cadence.shift(cover.end, -1) < inner.end <= cover.end


@pytest.mark.parametrize(
    ("cadence", "instant", "floor", "ceil"),
    [
        (HOURLY, "2024-03-10T05:59:59.999999", "2024-03-10T05:00", "2024-03-10T06:00"),
        (DAILY, "2024-02-29T23:59", "2024-02-29", "2024-03-01"),
        (DAILY, "2023-02-28T00:00:00.000001", "2023-02-28", "2023-03-01"),
        (WEEKLY, "2024-03-03", "2024-02-26", "2024-03-04"),  # a Sunday belongs to the week of the Monday before it
        (WEEKLY, "2024-03-04", "2024-03-04", "2024-03-04"),
        (WEEKLY, "2025-01-01", "2024-12-30", "2025-01-06"),
        (MONTHLY, "2024-02-29T12:00", "2024-02-01", "2024-03-01"),
        (MONTHLY, "2024-12-31", "2024-12-01", "2025-01-01"),
        (MONTHLY, "2025-01-01", "2025-01-01", "2025-01-01"),
    ],
)
def test_boundaries_that_are_easy_to_miss(cadence: Cadence, instant: str, floor: str, ceil: str) -> None:
    """Leap days, Sundays, year ends, the last microsecond of an hour."""
    assert cadence.floor(utc(instant)) == utc(floor)
    assert cadence.ceil(utc(instant)) == utc(ceil)


def test_months_have_their_lengths() -> None:
    """Shifting months crosses years both ways; a leap February has 29 days."""
    assert MONTHLY.shift(utc("2024-01-01"), -13) == utc("2022-12-01")
    assert MONTHLY.shift(utc("2023-11-01"), 14) == utc("2025-01-01")
    assert [DAILY.count(m) for m in MONTHLY.split(Interval.of("2024-01-01", "2024-05-01"))] == [31, 29, 31, 30]
    assert MONTHLY.count(Interval.of("2023-11-01", "2025-02-01")) == 15


def test_keys_are_those_of_dagster() -> None:
    """Partition keys name the start; only hourly ones say the hour."""
    assert HOURLY.key(utc("2024-03-01T05:00")) == "2024-03-01-05:00"
    assert {c.key(utc("2024-03-01")) for c in (DAILY, WEEKLY, MONTHLY)} == {"2024-03-01"}


@pytest.mark.parametrize("end", ["2024-01-01", "2023-12-31"])
def test_an_interval_is_never_empty_or_reversed(end: str) -> None:
    """Both are refused where they would come about."""
    with pytest.raises(ValueError, match="ends after it starts"):
        Interval.of("2024-01-01", end)


def test_utc_reads_what_people_write() -> None:
    """Dates, naive and aware times and their texts name the same instant; what has no zone is UTC."""
    noon = utc("2024-03-01T12:00")
    assert noon == utc(datetime(2024, 3, 1, 12)) == utc("2024-03-01T14:00+02:00")
    assert utc("2024-03-01T14:00+02:00").utcoffset() == timedelta(0)
    assert utc(datetime(2024, 3, 2, 0, 30, tzinfo=timezone(timedelta(hours=1)))) == utc("2024-03-01T23:30")
    assert utc(date(2024, 3, 1)) == utc("2024-03-01")


@given(instants, st.integers(0, 999), cadences)
def test_an_instant_of_pandas_is_one_of_python(instant: datetime, nanoseconds: int, cadence: Cadence) -> None:
    """What lies between two microseconds counts as the first of them."""
    finer = pd.Timestamp(instant) + pd.Timedelta(nanoseconds, "ns")
    assert type(utc(finer)) is datetime and utc(finer) == utc(instant)
    assert cadence.floor(utc(finer)) == cadence.floor(utc(instant))
    assert cadence.ceil(utc(finer)) == cadence.ceil(utc(instant))
    with pytest.raises(ValueError, match="NaT is no instant"):
        utc(cast("datetime", pd.NaT))


def test_intervals_are_written_with_the_last_day_included() -> None:
    """People read inclusive dates, and hours where there are any."""
    assert str(span(0, 1)) == "2024-01-01"
    assert str(span(0, 2)) == "2024-01-01..2024-01-02"
    assert str(Interval.of("2024-01-01T05:00", "2024-01-01T07:00")) == "2024-01-01T05:00..2024-01-01T06:00"
    assert str(Interval.of("2024-01-01", "2024-01-01T01:00")) == "2024-01-01T00:00"
    assert str(Interval.of("2024-01-01T23:00", "2024-01-03")) == "2024-01-01T23:00..2024-01-02T23:00"
    assert str(Ranges()) == "nothing"
    assert str(Ranges.of([span(0, 2), span(4, 5)])) == "2024-01-01..2024-01-02, 2024-01-05"


@pytest.mark.parametrize(
    ("start", "end", "written"),
    [
        ("2024-03-01", "2024-04-14T23:59:59.001", "2024-03-01T00:00..2024-04-14T23:59"),
        ("2024-03-01", "2024-04-14T23:30", "2024-03-01T00:00..2024-04-14T23:29"),
        ("2024-03-01", "2024-04-15T00:00:00.001", "2024-03-01T00:00..2024-04-15T00:00"),
        ("2024-03-01T05:17", "2024-03-01T14:00", "2024-03-01T05:17..2024-03-01T13:59"),
        ("2024-03-01T05:17", "2024-03-02", "2024-03-01T05:17..2024-03-01T23:59"),
        ("2024-03-01T05:17:20", "2024-03-01T05:17:50", "2024-03-01T05:17"),
    ],
)
def test_ends_within_hours_are_written_to_the_minute(start: str, end: str, written: str) -> None:
    """The last minute that has some of it; an hour less would be before rows that are there."""
    assert str(Interval.of(start, end)) == written


@pytest.mark.parametrize(
    ("cadence", "start", "now", "end", "expected"),
    [
        (DAILY, "2024-01-01", "2024-01-03T23:59", None, "2024-01-01..2024-01-02"),
        (DAILY, "2024-01-01", "2024-01-04", None, "2024-01-01..2024-01-03"),  # over exactly now
        (DAILY, "2024-01-01", "2024-01-01T23:59", None, "nothing"),
        (DAILY, "2024-01-01", "2023-01-01", None, "nothing"),
        (DAILY, "2024-01-01", "2024-02-01", "2024-01-03", "2024-01-01..2024-01-02"),  # a model that has ended
        (DAILY, "2024-01-01", "2024-01-03", "2024-02-01", "2024-01-01..2024-01-02"),  # one that has not yet
        (DAILY, "2024-01-01T12:00", "2024-01-04", None, "2024-01-02..2024-01-03"),  # half a first day does not count
        (WEEKLY, "2024-01-03", "2024-01-16", None, "2024-01-08..2024-01-14"),
        (MONTHLY, "2024-01-15", "2024-03-31T23:00", None, "2024-02-01..2024-02-29"),
        (MONTHLY, "2024-01-01", "2024-03-31", "2024-02-15", "2024-01-01..2024-01-31"),
        (HOURLY, "2024-01-01", "2024-01-01T02:30", None, "2024-01-01T00:00..2024-01-01T01:00"),
    ],
)
def test_closed_is_what_is_over(cadence: Cadence, start: str, now: str, end: str | None, expected: str) -> None:
    """Only whole intervals within the model's life that are over at `now` are expected."""
    assert str(closed(cadence, start=utc(start), now=utc(now), end=utc(end) if end else None)) == expected
