"""The sum of names says that some are gone only where sets of them do, and always where few are others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.name_sum import are_gone, sum_of_names

NAMES = st.sets(st.sampled_from("abcdefghij"))


@given(st.sets(st.sampled_from("abcdefghij"), min_size=1), NAMES, NAMES, NAMES)
def test_it_says_what_the_names_would(before: set[str], gone: set[str], again: set[str], new: set[str]) -> None:
    """`again` were written once more, as `new` were: of both nobody knows which they are."""
    gone, again = gone & before, (again & before) - gone
    kept, came = before - gone - again, again | {name.upper() for name in new}
    said = are_gone(sum_of_names(sorted(before)), len(before), kept, came)
    assert not (said and not gone), "nothing is gone"
    others = len(before) - len(kept)
    if gone and (others <= 2 or len(came) - others <= 2):
        assert said
