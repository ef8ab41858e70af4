"""Which intervals are wanted, what does each read, and which of them can be built already?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Model
from backfill_assets.plan.missing import needed, ready, wanted
from backfill_assets_tests.fakes import NOW, a_model, days, ranges
from backfill_assets_tests.strategies import aligned, cadences, sets_of_days, spans

LATER = utc("2026-01-01")
D, W, M, H = Cadence.DAILY, Cadence.WEEKLY, Cadence.MONTHLY, Cadence.HOURLY


def of(start: str, end: str) -> Interval:
    return Interval.of(start, end)


@pytest.mark.parametrize(
    ("cadence", "start", "end", "expected"),
    [
        (D, None, None, "2024-01-01..2024-01-10"),
        (D, "2024-01-03", "2024-01-05", "2024-01-03..2024-01-04"),
        (D, "2024-01-03", None, "2024-01-03..2024-01-10"),
        (D, None, "2024-01-03", "2024-01-01..2024-01-02"),
        (D, "2023-01-01", "2025-01-01", "2024-01-01..2024-01-10"),
        (D, "2024-01-03T06:00", "2024-01-04T18:00", "2024-01-03..2024-01-04"),
        (D, "2024-01-11", "2024-01-12", "nothing"),  # today is not over
        (D, "2023-01-01", "2023-02-01", "nothing"),
        (W, "2024-01-03", "2024-01-04", "2024-01-01..2024-01-07"),  # the week that holds the day
        (W, "2024-01-09", "2024-01-10", "nothing"),  # a week that is not over
        (M, None, None, "nothing"),
    ],
)
def test_wanted_is_what_should_be_there_cut_to_the_request(
    cadence: Cadence, start: str | None, end: str | None, expected: str
) -> None:
    """Whole intervals that the range touches, within the model's life, over by now."""
    model = a_model("a", cadence=cadence)
    assert str(wanted(model, now=NOW, start=start and utc(start), end=end and utc(end))) == expected  # type: ignore[arg-type]


@given(cadences, st.data())
def test_wanted_holds_what_was_asked_for(cadence: Cadence, data: st.DataObject) -> None:
    """Whatever the range: everything expected that overlaps it is wanted, and nothing that does not."""
    life = data.draw(aligned(cadence))
    asked = data.draw(aligned(data.draw(cadences)))
    model = a_model("a", cadence=cadence, start=life.start)
    found = wanted(model, now=life.end, start=asked.start, end=asked.end)
    for unit in model.expected(life.end).split(cadence):
        assert (unit in found) == (unit.intersection(asked) is not None)


@pytest.mark.parametrize(
    ("model", "upstream", "interval", "expected"),
    [
        ({}, {}, of("2024-01-05", "2024-01-06"), "2024-01-05"),
        ({"lookback": 3}, {}, of("2024-01-05", "2024-01-07"), "2024-01-02..2024-01-06"),
        ({"lookback": 9}, {}, of("2024-01-05", "2024-01-06"), "2024-01-01..2024-01-05"),  # not before it begins
        ({"lookback": 9}, {"start": utc("2024-01-03T05:00")}, of("2024-01-05", "2024-01-06"), "2024-01-04..2024-01-05"),
        ({}, {"end": utc("2024-01-05")}, of("2024-01-04", "2024-01-07"), "2024-01-04"),  # nor after it has ended
        ({}, {"end": utc("2024-01-03")}, of("2024-01-05", "2024-01-06"), "nothing"),
        ({}, {"start": utc("2024-02-01")}, of("2024-01-05", "2024-01-06"), "nothing"),
        ({"cadence": M}, {}, of("2024-02-01", "2024-03-01"), "2024-02-01..2024-02-29"),  # a month of days
        ({"cadence": M, "lookback": 1}, {}, of("2024-03-01", "2024-04-01"), "2024-02-01..2024-03-31"),
        ({}, {"cadence": M}, of("2024-01-31", "2024-02-02"), "2024-01-01..2024-02-29"),  # days of whole months
        ({"cadence": W}, {"cadence": M}, of("2024-01-29", "2024-02-05"), "2024-01-01..2024-02-29"),
        ({"cadence": W}, {}, of("2024-01-08", "2024-01-15"), "2024-01-08..2024-01-14"),
        ({}, {"cadence": H}, of("2024-01-05", "2024-01-06"), "2024-01-05"),
        ({"cadence": H, "lookback": 2}, {}, of("2024-01-05T01:00", "2024-01-05T02:00"), "2024-01-04..2024-01-05"),
    ],
)
def test_needed(model: dict[str, object], upstream: dict[str, object], interval: Interval, expected: str) -> None:
    """An interval reads itself and its lookback, in whole intervals of the upstream, from its start to its end."""
    assert str(needed(a_model("m", **model), a_model("u", **upstream), interval)) == expected


def brute_ready(model: Model, upstream: Model, asked: Ranges, have: Ranges) -> list[Interval]:
    return [u for u in asked.split(model.cadence) if not needed(model, upstream, u) - have]


@given(sets_of_days(), sets_of_days(), st.integers(0, 4), st.sampled_from([D, W]), st.sampled_from([D, W]), spans())
def test_ready_splits_exactly(
    asked: Ranges, have: Ranges, lookback: int, mine: Cadence, theirs: Cadence, life: Interval
) -> None:
    """With gaps anywhere on both sides, an interval is ready when the upstream has all that it reads; else it waits,
    and what it waits for is named."""
    model = a_model("m", "u", cadence=mine, lookback=lookback)
    upstream = a_model("u", cadence=theirs, start=life.start, end=life.end)
    asked = Ranges.of(mine.cover(i) for i in asked)
    have = Ranges.of(theirs.cover(i) for i in have)
    good, waiting = ready(model, asked, {"u": upstream}, {"u": have}, now=LATER)
    assert list(good.split(mine)) == brute_ready(model, upstream, asked, have)
    stuck, lack = waiting.get("u", (Ranges(), Ranges()))
    assert good | stuck == asked
    assert not good & stuck
    assert not lack & have
    assert bool(stuck) == bool(lack) == ("u" in waiting)
    assert lack == Ranges.of(p for u in stuck.split(mine) for p in needed(model, upstream, u) - have)


def test_every_upstream_is_named_that_holds_an_interval_back() -> None:
    """Two upstreams with different gaps: what either lacks waits, and each is said with its own gap."""
    model = a_model("m", "u", "v")
    have = {"u": ranges(days("01", "03")), "v": ranges(days("02", "05"))}
    good, waiting = ready(model, ranges(days("01", "05")), {"u": a_model("u"), "v": a_model("v")}, have, now=LATER)
    assert str(good) == "2024-01-02..2024-01-03"
    assert {n: (str(a), str(b)) for n, (a, b) in waiting.items()} == {
        "u": ("2024-01-04..2024-01-05",) * 2,
        "v": ("2024-01-01",) * 2,
    }


def test_no_upstream_models_no_waiting() -> None:
    """A model that reads sources only can be built at once."""
    asked = ranges(days("01", "05"))
    assert ready(a_model("m", "raw"), asked, {}, {}, now=LATER) == (asked, {})


def test_end_bounded_leaves_out_what_goes_beyond() -> None:
    """A month that the range only touches is left out; whole ones and the model's own end are not."""
    model = a_model("m", cadence=Cadence.MONTHLY)
    asked = {"start": utc("2024-01-01"), "end": utc("2024-03-15"), "now": utc("2024-06-01")}
    assert str(wanted(model, **asked)) == "2024-01-01..2024-03-31"  # type: ignore[arg-type]
    assert str(wanted(model, **asked, end_bounded=True)) == "2024-01-01..2024-02-29"  # type: ignore[arg-type]
    asked["end"] = utc("2024-01-20")
    assert not wanted(model, **asked, end_bounded=True)  # type: ignore[arg-type]
