"""What was computed from other rows than are shown is found the same, whether or not the usual case is told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from backfill_assets.core.intervals import Interval
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.plan import stale_inputs as looked
from backfill_assets.plan.stale_inputs import StaleInput, stale_inputs
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Entry, Kind, by_version
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, days

DAYS = [days(f"{n:02}") for n in range(1, 6)]
VERSIONS = ("a-1", "a-2", "a-1.1")
"""Of another logic, and of a correction."""
batches = st.tuples(st.sampled_from(VERSIONS), st.integers(0, 4), st.integers(1, 3), st.integers(1, 4))
"""Of the upstream: version, first day, days, commit."""
read = st.fixed_dictionaries(
    {"version": st.sampled_from(VERSIONS), "commit": st.integers(0, 4)},
    optional={
        "over": st.just([{"of": str(DAYS[1]), "version": "a-1.1", "commit": 1}]),
    },
)


commits = st.integers(0, 4)
tables_shown = st.one_of(
    st.tuples(st.sampled_from(VERSIONS), commits).map(lambda one: [one] * 5),
    st.tuples(st.sampled_from(VERSIONS), st.lists(commits, min_size=5, max_size=5)).map(
        lambda of: [(of[0], each) for each in of[1]]
    ),
    st.lists(st.tuples(st.sampled_from(VERSIONS), commits), min_size=5, max_size=5),
)
"""Of each day: one table at a commit or at several, or several tables."""


def some(first: int, length: int) -> Interval:
    return Interval(DAYS[first].start, DAYS[min(first + length, len(DAYS)) - 1].end)


def built(model: str, version: str, part: Interval, commit: int, inputs: Mapping[str, object], number: int) -> Entry:
    at = NOW + timedelta(minutes=number)
    return Entry(
        kind=Kind.BUILT, model=model, version=version, interval=part, table_commit=commit, batch=f"{model}{number}",
        at=at, inputs=inputs, id=f"{model}{number:03}",
    )  # fmt: skip


@settings(deadline=None, max_examples=400)
@example(
    below=[("a-1", 0, 3, 1), ("a-1.1", 1, 1, 1)],
    readers=[(0, 3, "a", {"version": "a-1", "commit": 4})],
    shown=[("a-1", 1), ("a-1.1", 1), ("a-1", 1), ("a-1", 1), ("a-1", 1)],
    gained=False,
    third=False,
)
@given(
    below=st.lists(batches, min_size=1, max_size=5),
    readers=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.sampled_from(["a", "old"]), read), max_size=5),
    shown=tables_shown,
    gained=st.booleans(),
    third=st.booleans(),
)
def test_the_usual_case_is_told_at_once(
    below: list[tuple[str, int, int, int]],
    readers: list[tuple[int, int, str, dict[str, object]]],
    shown: list[tuple[str, int]],
    gained: bool,
    third: bool,
) -> None:
    """As a look at each of its parts tells it."""
    world = World(a_model("a", "raw"), a_model("b", "a", lookback=1))
    entries = [
        built("a", v, some(at, n), commit, {"raw": {"commit": commit}}, k) for k, (v, at, n, commit) in enumerate(below)
    ]
    entries += [
        built("b", "b-1", some(at, n), 9, {name: said}, 50 + k) for k, (at, n, name, said) in enumerate(readers)
    ]
    segments = Segments(Segment(version=v, commit=c, interval=day) for (v, c), day in zip(shown, DAYS, strict=True))
    pointers: dict[str, Pointer] = {
        "a": replace(a_pointer("a", shown[-1][0], days("01", "05")), segments=segments),
        "b": a_pointer("b", "b-1", days("01", "05"), commit=9),
    }
    environment = Environment(name="prod", pointers=pointers, revision=1, releases={})
    unlike = (lambda *_: True) if third else None

    def found() -> tuple[StaleInput, ...]:
        return stale_inputs(world.project, environment, by_version(entries), gained=gained, unlike=unlike)

    told = found()
    with patch.object(looked._ShownRows, "all_read", lambda *_: False):
        assert told == found()
    unread = stale_inputs(world.project, environment, by_version(entries), gained=gained, unlike=unlike, about=["a"])
    assert unread == tuple(each for each in told if each.model == "a") == ()
    event("stale" if told else "nothing")
