"""What an environment shows, and who may move it: everything or nothing, and never over somebody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.attempts import LONGEST_WAIT, MOST
from backfill_assets.core.errors import ConflictError, LostRaceError, PromotionError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.pointer import Pointer, pointer_from_json
from backfill_assets.core.segments import Segment
from backfill_assets.state.environment import ENVIRONMENTS, Environment, Environments, Promotion
from backfill_assets_tests.fakes import a_pointer, days
from backfill_assets_tests.memory_store import MemoryStore, MemoryTable
from backfill_assets_tests.strategies import spans

AT = utc("2024-02-01")
PROMOTION = Promotion(release="r1", models=("a",), opened=AT, host="here", pid=7)
A1, A2, A3 = (a_pointer("a", v, days("01", "05")) for v in ("a-1", "a-2", "a-3"))
B1, B2 = (a_pointer("b", v, days("01", "05")) for v in ("b-1", "b-2"))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def environments(store: MemoryStore) -> Environments:
    return Environments(store)


def flip(
    environments: Environments,
    *pointers: Pointer,
    seen: Environment | None = None,
    name: str = "prod",
    release: str = "r",
) -> Environment:
    return environments.flip(seen or environments.read(name), pointers, release=release, at=AT)


class Racing:
    """A table that lets something else happen, once, before or after the next replacement commits."""

    def __init__(
        self,
        store: MemoryStore,
        *,
        before: Callable[[], object] | None = None,
        after: Callable[[], object] | None = None,
    ) -> None:
        self.table, self.before, self.after = store.table(ENVIRONMENTS), before, after
        store.tables[ENVIRONMENTS.name] = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table, name)

    def replace(self, *args: Any, **named: Any) -> int:
        act, self.before = self.before, None
        if act:
            act()
        revision = self.table.replace(*args, **named)
        act, self.after = self.after, None
        if act:
            act()
        return revision


def test_an_unknown_environment_is_empty(environments: Environments) -> None:
    """Nothing is shown before the first promotion."""
    assert environments.read("prod") == Environment(name="prod", revision=-1, pointers={}, releases={})
    assert environments.names() == []


def test_a_flip_moves_all_of_its_models_and_no_other(environments: Environments) -> None:
    """Pointers, releases and the revision change together; what is not named stays."""
    first = flip(environments, A1, B1, release="r1")
    assert dict(first.pointers) == {"a": A1, "b": B1}
    second = flip(environments, A2, release="r2")
    assert dict(second.pointers) == {"a": A2, "b": B1}
    assert dict(second.releases) == {"a": "r2", "b": "r1"}
    assert second.revision == first.revision + 1 == environments.revision()
    assert environments.read("prod") == second


def test_a_flip_can_remove_models(environments: Environments) -> None:
    """In the same commit in which others move."""
    flip(environments, A1, B1)
    seen = environments.read("prod")
    after = environments.flip(seen, [A2], remove=["b"], release="r2", at=AT)
    assert dict(after.pointers) == {"a": A2}
    assert after.revision == seen.revision + 1


def test_environments_do_not_touch_each_other(environments: Environments) -> None:
    """`dev` moves, `prod` stays, although they share a table."""
    flip(environments, A1)
    flip(environments, A2, name="dev")
    assert environments.read("prod").pointers["a"] == A1
    assert environments.names() == ["dev", "prod"]


def test_a_race_lost_to_another_environment_is_retried(environments: Environments) -> None:
    """All share a table: a candidate that moves is nobody's business."""
    seen = flip(environments, A1, B1)
    flip(environments, A3, name="dev")
    assert dict(flip(environments, A2, seen=seen).pointers) == {"a": A2, "b": B1}


def test_a_race_lost_to_another_model_is_no_retry(environments: Environments) -> None:
    """Whoever moved a looked at b beside it: with another b it may not fit. Nothing moves; the gate is asked again."""
    seen = flip(environments, A1, B1)
    moved = flip(environments, B2)
    with pytest.raises(LostRaceError, match="b already point elsewhere"):
        flip(environments, A2, seen=seen)
    assert environments.read("prod") == moved


def test_a_lost_race_about_the_same_model_is_refused(environments: Environments) -> None:
    """Whoever looked at an older pointer moves nothing: not that model, and not the others of the flip either."""
    seen = flip(environments, A1, B1)
    moved = flip(environments, A3)
    with pytest.raises(PromotionError, match="a already point elsewhere"):
        flip(environments, A2, B2, seen=seen)
    assert environments.read("prod") == moved


def test_a_race_lost_at_the_last_moment(store: MemoryStore, environments: Environments) -> None:
    """The same holds when somebody commits between our look and our commit."""
    flip(environments, A1, B1)
    Racing(store, before=lambda: flip(Environments(store), B2, name="dev"))
    after = flip(Environments(store), A2)
    assert dict(after.pointers) == {"a": A2, "b": B1}
    for other in (A3, B2):
        Racing(store, before=lambda other=other: flip(Environments(store), other))
        with pytest.raises(LostRaceError):
            flip(Environments(store), A1)
    assert dict(environments.read("prod").pointers) == {"a": A3, "b": B2}


def test_a_flip_that_always_loses_gives_up(environments: Environments, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not spin for ever: after many attempts it says that the environment is too busy."""
    attempts: list[int] = []

    def lose(self: object, *_: object, **__: object) -> int:
        attempts.append(1)
        raise ConflictError("lost")

    monkeypatch.setattr(MemoryTable, "replace", lose)
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with pytest.raises(PromotionError, match="too busy"):
        flip(environments, A1)
    assert len(attempts) == MOST == len(waits) + 1
    assert 5 < sum(waits) < 30 and max(waits) <= LONGEST_WAIT and len(set(waits)) > MOST / 2, (
        "each waits a while of its own"
    )


def test_an_open_promotion_is_seen_by_everybody(environments: Environments) -> None:
    """It is a row of the same table: read together with the pointers, gone when closed, and no model of its own."""
    flip(environments, A1)
    opened = environments.open(environments.read("prod"), PROMOTION)
    assert opened.promotion == PROMOTION
    assert dict(opened.pointers) == {"a": A1}
    assert environments.read("prod") == opened
    assert environments.read("dev").promotion is None
    closed = environments.close(opened)
    assert closed.promotion is None
    assert dict(closed.pointers) == {"a": A1}


def test_opening_needs_an_environment_that_stands_still(environments: Environments) -> None:
    """What the gate looked at is what is promoted over: any move in between refuses the opening."""
    seen = flip(environments, A1)
    flip(environments, B1)
    with pytest.raises(ConflictError):
        environments.open(seen, PROMOTION)
    assert environments.read("prod").promotion is None


def test_of_two_openings_one_succeeds(environments: Environments) -> None:
    """Two people promote at once: the second is refused."""
    seen = flip(environments, A1)
    environments.open(seen, PROMOTION)
    with pytest.raises(ConflictError):
        environments.open(seen, replace(PROMOTION, release="r2"))
    assert environments.read("prod").promotion == PROMOTION


def test_an_opening_excludes_flips_that_did_not_see_it(environments: Environments) -> None:
    """A promotion without views that looked before the journal was opened may not slip through."""
    seen = flip(environments, A1)
    opened = environments.open(seen, PROMOTION)
    with pytest.raises(PromotionError):
        flip(environments, B1, seen=seen)
    assert environments.read("prod") == opened


def test_a_withdrawn_promotion_cannot_flip(environments: Environments) -> None:
    """A zombie wakes up after somebody withdrew its promotion: it is refused, whoever promotes by then."""
    opened = environments.open(flip(environments, A1), PROMOTION)
    withdrawn = environments.close(opened)
    with pytest.raises(PromotionError, match="nothing was changed"):
        flip(environments, A2, seen=opened)
    assert environments.read("prod") == withdrawn
    again = environments.open(withdrawn, replace(PROMOTION, release="r2"))
    with pytest.raises(PromotionError):
        flip(environments, A2, seen=opened)
    assert environments.read("prod") == again


def test_what_open_returns_is_what_it_committed(store: MemoryStore, environments: Environments) -> None:
    """Somebody who withdraws right after the opening is not overlooked: the opener's flip is refused."""
    seen = flip(environments, A1)

    def withdraw() -> None:
        other = Environments(store)
        other.close(other.read("prod"))

    Racing(store, after=withdraw)
    mine = Environments(store)
    opened = mine.open(seen, PROMOTION)
    with pytest.raises(PromotionError):
        mine.flip(opened, [A2], release="r1", at=AT)
    assert mine.read("prod").pointers["a"] == A1


def test_a_promotion_that_was_taken_over_cannot_flip(environments: Environments) -> None:
    """Whoever cleans up after it puts its own name there first; the journal stays open until the cleaning is done."""
    opened = environments.open(flip(environments, A1), PROMOTION)
    taken = environments.take_over(opened, replace(PROMOTION, pid=8))
    assert taken.promotion == replace(PROMOTION, pid=8)
    with pytest.raises(PromotionError):
        flip(environments, A2, seen=opened)
    with pytest.raises(ConflictError):
        environments.take_over(opened, replace(PROMOTION, pid=9))
    assert environments.close(taken).promotion is None


# --- pointers ---------------------------------------------------------------------------------------------------------

names = st.text("ab'\"\\ é", min_size=1, max_size=4)


@st.composite
def pointers(draw: st.DrawFn) -> Pointer:
    return Pointer(
        model=draw(names),
        time_column=draw(names),
        timestamps=draw(st.booleans()),
        columns=tuple(draw(st.lists(st.tuples(names, names), max_size=3))),
        segments=tuple(
            Segment(
                version=draw(names),
                commit=draw(st.integers(0)),
                interval=part,
            )
            for part in draw(st.lists(spans(), min_size=1, max_size=3))
        ),
    )


@given(pointers())
def test_pointers_survive_json(pointer: Pointer) -> None:
    """What is stored reads back equal, with the same id."""
    again = pointer_from_json(pointer.to_json())
    assert again == pointer
    assert again.id == pointer.id


@given(pointers(), pointers())
def test_ids_tell_pointers_apart(a: Pointer, b: Pointer) -> None:
    """Views flip by comparing ids: equal exactly when the pointers are."""
    assert (a.id == b.id) == (a == b)


def test_ids_are_stable() -> None:
    """The id is stored in views: a release of this software that computes it differently would blank them."""
    assert A1.id == "a8cae14fe4aae6cb"
    segment = A1.segments[0]
    for other in (
        replace(segment, commit=2),
        replace(segment, version="x"),
        replace(segment, interval=Interval(segment.interval.start, utc("2024-02-01"))),
    ):
        assert replace(A1, segments=(other,)).id != A1.id
    assert replace(A1, columns=tuple(reversed(A1.columns))).id != A1.id


def test_a_pointer_covers_its_segments() -> None:
    """Touching segments are one range; the newest segment names the version."""
    pointer = replace(
        A1,
        segments=(
            Segment(version="a-1", commit=1, interval=days("01", "02")),
            Segment(version="a-2", commit=4, interval=days("03")),
            Segment(version="a-2", commit=4, interval=days("06")),
        ),
    )
    assert str(pointer.covers) == "2024-01-01..2024-01-03, 2024-01-06"
    assert pointer.version == "a-2"
