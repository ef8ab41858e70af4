"""Looking for the bad intervals of a batch: all of them are found, all others are kept, and the work is bounded."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.build.bisect import HOPELESS, Budget, bisect, halved
from backfill_assets.core.errors import BuildError, DataError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc

START = utc("2024-01-01")


def search(
    count: int, bad: set[int], budget: Budget | None = None, *, divisible: bool = True
) -> tuple[str, Ranges, int]:
    """What is isolated, what was kept, and how many attempts it took, in a batch of `count` days."""
    whole = Interval(START, Cadence.DAILY.shift(START, count))
    days = [Interval(Cadence.DAILY.shift(START, n), Cadence.DAILY.shift(START, n + 1)) for n in range(count)]
    kept: list[Interval] = []
    attempts = 0

    def attempt(part: Interval) -> BuildError | None:
        nonlocal attempts
        attempts += 1
        assert not Ranges((part,)) & Ranges.of(kept), "what is done is not done again"
        if Ranges((part,)) & Ranges.of(days[n] for n in bad):
            return DataError(f"cannot build {part}")
        kept.append(part)
        return None

    first = (DataError if divisible else BuildError)(f"cannot build {whole}")
    found = bisect(whole, first, Cadence.DAILY, attempt, budget or Budget())
    return str(Ranges.of(part for part, _ in found)), Ranges.of(kept), attempts


def test_one_bad_day_among_sixty_costs_a_day() -> None:
    """It alone is left, and it took two attempts a level."""
    found, kept, attempts = search(60, {37})
    assert (found, kept.count(Cadence.DAILY)) == ("2024-02-07", 59)
    assert attempts <= 2 * math.ceil(math.log2(60))


@given(st.integers(2, 130), st.data())
def test_exactly_what_is_bad_is_left(count: int, data: st.DataObject) -> None:
    """A few bad days anywhere: every one is isolated, every good one is kept, none is tried twice."""
    bad = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=4))
    found, kept, attempts = search(count, bad)
    days = Ranges.of(Interval(Cadence.DAILY.shift(START, n), Cadence.DAILY.shift(START, n + 1)) for n in bad)
    assert found == str(days)
    assert kept.count(Cadence.DAILY) == count - len(bad)
    assert attempts <= 2 * len(bad) * math.ceil(math.log2(count))


@given(st.integers(2, 400), st.data())
def test_the_work_is_bounded_and_nothing_is_forgotten(count: int, data: st.DataObject) -> None:
    """However much is bad: what is left and what is kept are the whole together, and failures do not exceed the budget
    by more than the level under way."""
    bad = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    budget = Budget(left=20)
    found, kept, attempts = search(count, bad, budget)
    whole = Ranges((Interval(START, Cadence.DAILY.shift(START, count)),))
    assert str(whole - kept) == found
    assert attempts <= 2 * 20 + 4


def test_a_batch_of_which_nothing_works_is_given_up_as_one() -> None:
    """Eight parts that all fail are enough: the message is of the whole, and 90 days cost 14 attempts."""
    whole = Interval(START, Cadence.DAILY.shift(START, 90))
    attempts: list[Interval] = []

    def attempt(part: Interval) -> BuildError | None:
        attempts.append(part)
        return DataError(f"cannot build {part}", why="x")

    [(part, error)] = bisect(whole, DataError("cannot build it", why="division"), Cadence.DAILY, attempt, Budget())
    assert part == whole and len(attempts) == 2 + 4 + HOPELESS
    assert str(error) == "cannot build it\nwhy: division; so do its 8 parts, tried one by one"
    assert isinstance(error, DataError)


def test_an_error_of_the_code_is_not_looked_into() -> None:
    """A column that does not exist is missing in every part."""
    found, kept, attempts = search(10, {3}, divisible=False)
    assert (found, str(kept), attempts) == ("2024-01-01..2024-01-10", "nothing", 0)


def test_batches_share_what_may_be_spent() -> None:
    """A model that fails everywhere does not spend as much again for each of its batches."""
    budget = Budget(left=3)
    search(8, {0}, budget)
    assert search(8, {5}, budget) == ("2024-01-01..2024-01-08", Ranges(), 0)


def test_a_single_interval_has_no_halves() -> None:
    """Months are halved at months."""
    assert halved(Interval(START, utc("2024-01-02")), Cadence.DAILY) == ()
    assert [str(h) for h in halved(Interval(START, utc("2024-04-01")), Cadence.MONTHLY)] == [
        "2024-01-01..2024-01-31",
        "2024-02-01..2024-03-31",
    ]
