"""What do the property tests draw? Intervals, sets of days, models and pointers."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc

EPOCH = utc("2024-01-01")
"""Day 0 of the brute-force models. 2024 is a leap year, and this is a Monday."""


def day(number: int) -> datetime:
    return EPOCH + timedelta(days=number)


def span(first: int, end: int) -> Interval:
    """The days from `first` up to, not including, `end`."""
    return Interval(day(first), day(end))


@st.composite
def spans(draw: st.DrawFn, most: int = 20) -> Interval:
    """A run of days out of the first `most`."""
    first = draw(st.integers(0, most - 1))
    return span(first, draw(st.integers(first + 1, most)))


def sets_of_days(most: int = 20) -> st.SearchStrategy[Ranges]:
    """Any set of days out of the first `most`."""
    return st.lists(spans(most), max_size=5).map(Ranges.of)


def days_of(ranges: Ranges, most: int = 20) -> set[int]:
    """The brute-force model: which of the first `most` days are in the set."""
    return {n for n in range(most) if any(i.start <= day(n) and day(n + 1) <= i.end for i in ranges)}


cadences = st.sampled_from(list(Cadence))
instants = st.datetimes(min_value=datetime(2019, 1, 1), max_value=datetime(2029, 1, 1)).map(utc)


@st.composite
def aligned(draw: st.DrawFn, cadence: Cadence, most: int = 12) -> Interval:
    """A range of whole intervals of the cadence, up to `most`."""
    start = cadence.floor(draw(instants))
    return Interval(start, cadence.shift(start, draw(st.integers(1, most))))
