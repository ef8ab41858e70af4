"""How many intervals does a batch compute where nobody says it? About a minute's, and more where each reads all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence
from backfill_assets.plan.batch_size import (
    MOST_FIXED,
    SOME_MORE,
    TARGET,
    Machine,
    Pace,
    batch_size,
    pace_by_batches,
    pace_by_bytes,
)
from backfill_assets.plan.batch_times import Basis, Line
from backfill_assets.plan.missing import USUAL
from backfill_assets.plan.source_bytes import Reads
from backfill_assets.plan.spread import NO_TIME

SMALL = Machine(cores=2, memory=4 << 30)
GB = 1e9
FIT = Pace(fixed=2, each=0.5, bytes=0, basis="a guess")
WHOLE = Pace(
    fixed=40, each=0.14, bytes=1.3e6, basis="a guess", whole=(("raw.lines", 2_500_000_000), ("raw.orders", 700_000_000))
)


def size(pace: Pace | None, count: int, machine: Machine = SMALL) -> int:
    return batch_size(pace, machine, count, Cadence.DAILY).size


def why(pace: Pace | None, count: int, machine: Machine = SMALL) -> str:
    return batch_size(pace, machine, count, Cadence.DAILY, unknown="catalog.x").why


def learnt(line: Line, source: str = "what 3 batches took") -> Basis:
    return Basis(version="v1", line=line, rows=1, bytes=1, audits=NO_TIME, words="", source=source, size=0, beyond="")


def a_line(fixed: float, each: float, smallest: int, largest: int) -> Line:
    return Line(fixed=fixed, each=each, smallest=smallest, largest=largest, down=0.8, up=1.2)


def test_about_a_minute_and_all_alike() -> None:
    """116 days are a minute; a thousand are nine batches, none of which is a remnant of a day."""
    assert (size(FIT, 1000), why(FIT, 1000)) == (112, "batches of 112 days, about 58 s each, by a guess")
    assert size(FIT, 140) == 140, "two halves of half a minute are no better than one batch"
    assert size(FIT, 146) == 73


def test_all_of_it_where_that_takes_less() -> None:
    assert (size(FIT, 20), why(FIT, 20)) == (20, "one batch of about 12 s, by a guess")


def test_few_batches_where_each_reads_everything() -> None:
    """The trial's 2,406 days of orders and their lines: 27 batches read all of both 27 times."""
    assert size(WHOLE, 2406) == 2406
    assert why(WHOLE, 2406) == (
        "one batch: raw.lines and raw.orders are not partitioned by the model's days, so each batch reads all 3.2 GB"
    )
    assert size(replace(WHOLE, each=0.7), 2406) == 482
    said = why(replace(WHOLE, each=0.7), 2406)
    assert said.startswith("batches of 482 days: raw.lines and raw.orders are not partitioned")


def test_no_more_than_fits_the_memory() -> None:
    """What is large is divided, even where each part reads all of it again."""
    small = Machine(cores=2, memory=1 << 28)
    assert size(WHOLE, 2406, small) < 500
    assert why(WHOLE, 2406, small).endswith("larger batches would not fit into 268 MB of memory")


def test_an_interval_that_takes_hours_is_a_batch() -> None:
    assert size(Pace(fixed=2, each=7200, bytes=0, basis=""), 10) == 1


def test_a_commit_has_an_end() -> None:
    assert size(Pace(fixed=1, each=0, bytes=0, basis=""), 50_000) == 10_000


def test_what_nobody_knows_is_as_it_was() -> None:
    assert (size(None, 1000), why(None, 1000)) == (USUAL, "batches of 90 days: nobody knows how large catalog.x is")


@given(
    st.floats(0.1, 500),
    st.floats(0.001, 50),
    st.integers(1, 5000),
    st.sampled_from([0.0, 1e5, 1e8]),
    st.integers(1, 64),
)
def test_a_minute_or_hardly_any_fixed_time(fixed: float, each: float, count: int, bytes_: float, memory: int) -> None:
    """Whatever the pace: a batch is never empty nor longer than what there is, and one of more than a minute (and what
    is allowed beyond it) is so for its fixed time; together they hold all intervals in no more batches than needed."""
    machine = Machine(cores=2, memory=memory << 26)
    pace = Pace(fixed=fixed, each=each, bytes=bytes_, basis="")
    found = size(pace, count, machine)
    assert 1 <= found <= count
    minute, seldom = (TARGET - fixed) / each, fixed * (1 / MOST_FIXED - 1) / each
    assert found <= max(1, max(minute, seldom) * (1 + SOME_MORE) + 1)


def test_bytes_say_what_a_batch_takes() -> None:
    """What is read whole is fixed, what is an interval's own is not; more cores are faster, batches beside are not."""
    reads = Reads(fixed=0.4 * GB, more=0, each=1e6, total=0.4 * GB)
    two = pace_by_bytes(reads, SMALL, 1)
    four = pace_by_bytes(reads, Machine(cores=4, memory=1), 1)
    beside = pace_by_bytes(reads, Machine(cores=4, memory=1), 2)
    assert two is not None and four is not None and beside is not None
    assert two.fixed > four.fixed > 2
    assert two.each == pytest.approx(2 * four.each)
    assert (beside.fixed, beside.each) == (two.fixed, two.each)
    assert two.basis == "400 MB to read on 2 cores"
    assert pace_by_bytes(replace(reads, unknown=("catalog.x",)), SMALL, 1) is None


def test_batches_of_several_sizes_say_it_better_than_bytes() -> None:
    """A line through them tells what is fixed."""
    expected = Pace(fixed=2, each=1, bytes=7, basis="bytes", whole=(("raw", 1),))
    found = pace_by_batches(learnt(a_line(10, 0.1, 30, 90)), expected)
    assert (found.fixed, found.each) == (10, 0.1)
    assert (found.bytes, found.whole, found.basis) == (7, (("raw", 1),), "what 3 batches took")


def test_batches_of_one_size_take_what_is_fixed_from_bytes() -> None:
    """A day of 40 s over tables that each batch reads whole does not mean 2,406 times 40 s."""
    found = pace_by_batches(learnt(a_line(0, 40, 1, 1)), Pace(fixed=20, each=0.1, bytes=0, basis="bytes"))
    assert found(1) == pytest.approx(40)
    assert found.fixed == pytest.approx(40 * 20 / 20.1)
    alone = pace_by_batches(learnt(a_line(0, 40, 1, 1)), None)
    assert (alone.fixed, alone.each) == (2, 38)
