"""Which bins does a histogram have, and what do the counted rows say?"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.compare.codec import diff_from_json, diff_to_json
from backfill_assets.compare.diff import Diff, DiffColumn, Distribution, ModelDiff
from backfill_assets.compare.distributions import BINS, COMMON, KnownNumbers, chosen, counted, edges, told
from backfill_assets.compare.profile import TOTAL
from backfill_assets.compare.query import ComparedColumn, Comparison

NUMBERS = st.lists(st.floats(allow_subnormal=False), min_size=4, max_size=4)


@given(NUMBERS, NUMBERS, st.booleans())
def test_edges_rise_are_finite_and_few(bounds: list[float], percentiles: list[float], whole: bool) -> None:
    """Whatever the numbers are: infinities, NaN, one value only, the largest there are."""
    held = KnownNumbers(distinct=99, whole=whole, bounds=tuple(bounds), percentiles=tuple(percentiles))
    found = edges(held)
    assert len(found) <= BINS + 1 and len(found) != 1
    assert all(map(math.isfinite, found)) and all(one < other for one, other in pairwise(found))


def test_a_bin_of_whole_numbers_holds_as_many_as_the_next() -> None:
    """From 0 to 30 in steps of 2, not of 1.25, which would leave every fourth bin with twice as many."""
    found = edges(KnownNumbers(distinct=31, whole=True, bounds=(0, 30), percentiles=(0, 30)))
    assert found == tuple(map(float, range(0, 31, 2)))


def test_one_value_far_off_does_not_take_all_bins() -> None:
    """The bins are where 98 % of the rows are; where nearly all rows have one value, they reach to all."""
    assert edges(KnownNumbers(distinct=99, bounds=(0.0, 1e12), percentiles=(1.0, 2.0)))[-1] == 2.0
    assert edges(KnownNumbers(distinct=99, bounds=(0.0, 48.0), percentiles=(1.0, 1.0)))[-1] == 48.0


def a_query(**more: Any) -> Comparison:
    columns = {"ds": {"key": True, "kind": "text"}, "n": {"kind": "integer"}, "who": {"kind": "text"}} | more
    return Comparison(
        columns=tuple(
            ComparedColumn(
                column=DiffColumn(name=name, old_type="x", new_type="x", **said),
                old=(name, "long"),
                new=(name, "long"),
                type="long",
            )
            for name, said in columns.items()
        ),
        slices=(),
        time=0,
        unit="DAY",
        tolerance=0.0,
    )


def test_keys_and_what_is_masked_or_nested_are_not_told() -> None:
    """A masked column's most common values would be its values."""
    query = a_query(mail={"kind": "text", "masked": True}, tags={"kind": "nested"})
    found = {(TOTAL, side, None): {"distinct1": 50, "min1": 0, "max1": 9, "percentiles1": (1, 2, 0, 48)}
             for side in ("old", "new")}  # fmt: skip
    asked = chosen(query, found, range(5))
    assert set(asked) == {1, 2} and asked[1][0] == 0.0 and asked[1][-1] == 48.0 and asked[2] == ()
    assert counted(query, "a", "b", {}, 1) is None
    assert "c3" not in (counted(query, "a", "b", asked, 4) or "").split("stack")[1].split("FROM")[0]


def test_the_rows_that_were_counted_are_told_with_all_others() -> None:
    """Most common first, NULL among them; a bin without rows is there with none."""

    def row(column: int, value: str | None, old: int, new: int, rank: int) -> dict[str, Any]:
        return {"bf_column": column, "bf_value": value, "bf_old": old, "bf_new": new, "bf_rank": rank,
                "bf_all_old": 90, "bf_all_new": 80}  # fmt: skip

    rows = [row(1, "2", 5, 0, 2), row(1, "0", 7, 9, 1), row(1, None, 1, 1, 3)]
    rows += [row(2, f"v{n}" if n else None, 3, 2, n + 1) for n in range(COMMON + 3)]
    by_bin, by_value = told(a_query(), {2: (), 1: (0.0, 1.0, 2.0)}, rows, 3)
    assert by_bin == Distribution(column="n", edges=(0.0, 1.0, 2.0), old=(7, 0, 5, 0), new=(9, 0, 0, 0), one_in=3)
    assert by_value.column == "who" and by_value.values == (None, *(f"v{n}" for n in range(1, COMMON)))
    assert by_value.old == (*[3] * COMMON, 60) and by_value.new == (*[2] * COMMON, 60)

    model = ModelDiff(model="m", grain=(), time_column="ds", tolerance=0.0, old=(), new=(), distributions=(by_bin,))
    stored = diff_to_json(Diff(old="a", new="b", models=(model,)))
    assert diff_from_json(stored).models == (model,)
    del stored["models"][0]["distributions"]  # as earlier releases wrote it
    before = diff_from_json(stored)
    assert before.models[0].distributions == () and diff_to_json(before) == stored, "its hash stays"
