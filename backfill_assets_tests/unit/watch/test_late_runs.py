"""Which parts of what is shown are held against a source's changes as one?"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.state.columns import micros
from backfill_assets.watch.late import _runs
from backfill_assets_tests.strategies import day, sets_of_days

parts = st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 1)), max_size=12)
"""Of each: how many days after the one before it begins, and the commit that it read (-1: it does not say)."""


@given(parts, st.just(Ranges((Interval(day(0), day(30)),))) | sets_of_days())
def test_runs_say_of_each_part_what_it_says_alone(parts: list[tuple[int, int]], expected: Ranges) -> None:
    """Two parts that follow one another are of a run when there is no gap between them, both are expected whole, and
    they read the same commit; nothing else is."""
    numbers: list[int] = []
    for gap, _ in parts:
        numbers.append((numbers[-1] + 1 if numbers else 0) + gap)
    start = np.array([micros(day(n)) for n in numbers], np.int64)
    end = np.array([micros(day(n) + timedelta(days=1)) for n in numbers], np.int64)
    commits = [commit for _, commit in parts]
    whole = [Interval(day(n), day(n + 1)) in expected for n in numbers]
    first, last = _runs(start, end, np.array(commits, np.int64), expected)
    together = [
        numbers[a] + 1 == numbers[b] and commits[a] == commits[b] >= 0 and whole[a] and whole[b]
        for a, b in pairwise(range(len(parts)))
    ]
    begins = [at for at in range(len(parts)) if at == 0 or not together[at - 1]]
    assert first.tolist() == begins
    assert last.tolist() == [b - 1 for b in [*begins[1:], len(parts)]][: len(begins)]
