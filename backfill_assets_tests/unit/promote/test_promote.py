"""Promotion and its crashes: killed between any two steps, readers saw one release or the other, and the next one who
comes leaves plain views that show what the environment says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.core.errors import LostRaceError, PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.processes import beginning
from backfill_assets.promote import promote as module
from backfill_assets.promote.promote import ABANDONED_AFTER, alive, promote, recover, write_again
from backfill_assets.state.environment import Environment, Environments, Promotion
from backfill_assets_tests.fakes import Catalog, Crash, FakeViews, Life, MortalStore, a_pointer, days
from backfill_assets_tests.memory_store import MemoryStore

A1, A2, A3 = (a_pointer("a", v, days("01", "05")) for v in ("a-1", "a-2", "a-3"))
B1, B2, B3 = (a_pointer("b", v, days("01", "05")) for v in ("b-1", "b-2", "b-3"))
C1 = a_pointer("c", "c-1", days("01"))
OLD, NEW = {"a": A1, "b": B1}, {"a": A2, "b": B2, "c": C1}
LATER = {"a": A3, "b": B3, "c": C1}


class Place:
    """An environment that shows a-1 and b-1, and a shared catalog with their views."""

    def __init__(self) -> None:
        self.store, self.catalog = MemoryStore(), Catalog()
        self.environments = Environments(self.store)
        promote(self.environments, self.read(), [A1, B1], self.views())
        assert self.catalog.views == OLD

    def read(self) -> Environment:
        return self.environments.read("prod")

    def views(self, life: Life | None = None) -> FakeViews:
        return FakeViews(self.catalog, life)

    def promote(self, life: Life) -> Environment:
        """As one process: a and b move, c is new."""
        mine = Environments(MortalStore(self.store, life))
        return promote(mine, mine.read("prod"), [A2, B2, C1], self.views(life))

    def recover(self, life: Life | None = None) -> Environment:
        mine = Environments(MortalStore(self.store, life or Life()))
        return recover(mine, "prod", self.views(life))

    def assert_readers_see_one_release(self) -> None:
        """Every view that exists shows the environment's pointer; the pointers are all old or all new."""
        now = self.read()
        assert dict(now.pointers) in (OLD, NEW)
        for model in self.catalog.views:
            assert self.catalog.shows(now, model) == now.pointers[model]
        assert set(self.catalog.views) >= set(OLD), "a view of the old release is never absent"

    def assert_settled(self) -> None:
        """Nobody promotes, and every view is plainly what the environment shows."""
        now = self.read()
        assert now.promotion is None
        assert self.catalog.views == dict(now.pointers)


def steps_of_a_promotion() -> int:
    life = Life()
    Place().promote(life)
    return life.steps


def steps_of_a_recovery(crash: int) -> int:
    place, life = Place(), Life()
    with pytest.raises(Crash):
        place.promote(Life(crash))
    place.recover(life)
    return life.steps


@pytest.fixture(autouse=True)
def nobody_is_left_at_work() -> Iterator[None]:
    """Whatever happens, no test leaves a promotion that this process is taken to be working on."""
    yield
    assert not module._working


CRASHES = list(range(steps_of_a_promotion()))


def test_a_promotion_moves_everything() -> None:
    """Pointers, views and the journal: all there, all plain, in as many steps as there are crashes tested below."""
    place = Place()
    after = place.promote(Life())
    assert dict(after.pointers) == NEW
    assert len(set(after.releases.values())) == 1
    place.assert_settled()
    assert len(CRASHES) >= 16


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_at_any_step_is_seen_by_nobody_and_recovered_by_the_next(crash: int) -> None:
    """Dead before or after any side effect: readers see one release; recovery makes plain views; a retry completes."""
    place = Place()
    with pytest.raises(Crash):
        place.promote(Life(crash))
    place.assert_readers_see_one_release()
    before = dict(place.read().pointers)
    recovered = place.recover()
    place.assert_settled()
    assert dict(recovered.pointers) == before, "recovery moves no pointer"
    place.promote(Life())
    assert dict(place.read().pointers) == NEW
    place.assert_settled()


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_of_the_recovery_is_recovered_as_well(crash: int) -> None:
    """Whoever cleans up may die at any step too: the journal stays open until every view is plain."""
    for second in range(steps_of_a_recovery(crash)):
        place = Place()
        with pytest.raises(Crash):
            place.promote(Life(crash))
        with pytest.raises(Crash):
            place.recover(Life(second))
        place.assert_readers_see_one_release()
        place.recover()
        place.assert_settled()


def zombie(place: Place, moment: str, meanwhile: dict[str, Pointer] | None) -> None:
    """A promotion that is taken for dead at `moment`: somebody else recovers, may promote, and then it wakes up."""
    done: list[str] = []

    def others(what: str) -> None:
        if what == moment and not done:
            done.append(what)
            module._working.clear()
            place.recover()
            place.assert_settled()
            if meanwhile:
                promote(place.environments, place.read(), list(meanwhile.values()), place.views())

    views = FakeViews(place.catalog, hook=others)
    promote(place.environments, place.read(), [A2, B2, C1], views)


@pytest.mark.parametrize("moment", ["expand a", "expand b"])
@pytest.mark.parametrize("meanwhile", [None, LATER])
def test_a_zombie_that_was_withdrawn_cannot_flip(moment: str, meanwhile: dict[str, Pointer] | None) -> None:
    """It wakes up while it expands views: it is refused, moves nothing, and leaves the views plain behind it."""
    place = Place()
    with pytest.raises(PromotionError, match="nothing was changed"):
        zombie(place, moment, meanwhile)
    assert dict(place.read().pointers) == (meanwhile or OLD)
    place.assert_settled()


@pytest.mark.parametrize("moment", ["settle a", "settle b", "settle c"])
@pytest.mark.parametrize("meanwhile", [None, LATER])
def test_a_zombie_that_has_flipped_overwrites_nothing(moment: str, meanwhile: dict[str, Pointer] | None) -> None:
    """It wakes up while it settles views, after others finished its promotion and made the next: theirs stays."""
    place = Place()
    zombie(place, moment, meanwhile)
    assert dict(place.read().pointers) == (meanwhile or NEW)
    place.assert_settled()


def test_a_failure_withdraws_itself() -> None:
    """A cast that would lose values is found while expanding the second view: nothing moves, all views are plain."""
    place = Place()

    def refuse(what: str) -> None:
        if what == "expand b":
            raise PromotionError("unsafe cast")

    with pytest.raises(PromotionError, match="unsafe cast"):
        promote(place.environments, place.read(), [A2, B2], FakeViews(place.catalog, hook=refuse))
    assert dict(place.read().pointers) == OLD
    place.assert_settled()


def test_an_interrupt_can_be_recovered_by_the_same_process() -> None:
    """Ctrl-C in a notebook or a long-lived server does not lock the environment until that process ends."""
    place = Place()

    def interrupt(what: str) -> None:
        if what == "expand b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        promote(place.environments, place.read(), [A2, B2], FakeViews(place.catalog, hook=interrupt))
    place.assert_readers_see_one_release()
    place.recover()
    place.assert_settled()


def test_a_commit_that_would_come_after_the_cutover_waits_for_a_later_one() -> None:
    """What is asked before it, or a machine, may be slow. After the cutover, views look at the environment one by one:
    a commit between two of these looks would be seen by the one and not by the other."""
    place, cutovers, asked = Place(), list[datetime](), list[datetime]()

    class Timed(FakeViews):
        def expand(self, environment: str, moves: Sequence[tuple[Pointer, Pointer]], cutover: datetime) -> None:
            cutovers.append(cutover)
            super().expand(environment, moves, cutover)

    def slow() -> None:
        if len(asked) == 1:  # the first look is before any view is expanded
            time.sleep(0.6)
        asked.append(datetime.now(UTC))

    views = Timed(place.catalog)
    views.grace = timedelta(seconds=0.1)
    promote(place.environments, place.read(), [A2, B2, C1], views, check=slow)
    assert len(cutovers) >= 2 and cutovers[0] < cutovers[-1], "both views were expanded again"
    assert asked[-1] < cutovers[-1]
    place.assert_settled()
    assert dict(place.read().pointers) == NEW


def test_a_cutover_fits_what_altering_takes() -> None:
    """Of views that take long they are altered once more, for a cutover that is as far as they took: not again and
    again, each time twice as far."""
    place, rounds = Place(), list[timedelta]()

    class Slow(FakeViews):
        def expand(self, environment: str, moves: Sequence[tuple[Pointer, Pointer]], cutover: datetime) -> None:
            rounds.append(cutover - datetime.now(UTC))
            super().expand(environment, moves, cutover)
            time.sleep(0.8)

    views = Slow(place.catalog)
    views.grace = timedelta(seconds=0.02)
    promote(place.environments, place.read(), [A2, B2, C1], views)
    assert len(rounds) == 2, "doubling alone would take four rounds"
    assert rounds[0] < timedelta(seconds=0.8) < rounds[1]
    place.assert_settled()
    assert dict(place.read().pointers) == NEW


def test_an_environment_that_moved_is_refused_before_any_view_is_touched() -> None:
    """What the gate looked at is what is promoted over."""
    place = Place()
    seen = place.read()
    promote(place.environments, seen, [B2], place.views())

    def untouchable(what: str) -> None:
        raise AssertionError(what)

    with pytest.raises(PromotionError, match="moved since"):
        promote(place.environments, seen, [A2], FakeViews(place.catalog, hook=untouchable))
    assert dict(place.read().pointers) == {"a": A1, "b": B2}
    place.assert_settled()


def test_without_a_shared_catalog_one_commit_is_all() -> None:
    """Sessions project their own views: there is no journal. Whoever lost a race, also to other models, looks again."""
    environments = Environments(MemoryStore())
    seen = environments.read("prod")
    now = promote(environments, seen, [B1], None)
    with pytest.raises(LostRaceError, match="b already point elsewhere"):
        promote(environments, seen, [A1], None)
    assert environments.read("prod") == now
    after = promote(environments, now, [A1], None, release="mine")
    assert dict(after.pointers) == OLD
    assert after.releases["a"] == "mine"
    assert after.revision == 1


def test_nothing_to_move_is_nothing_done() -> None:
    """No commit, no release, no view."""
    place = Place()
    seen = place.read()
    assert promote(place.environments, seen, [], place.views()) == seen
    assert place.read().revision == seen.revision


# --- whose promotion is this? -----------------------------------------------------------------------------------------


def a_promotion(**more: object) -> Promotion:
    values: dict[str, object] = {
        "release": "r9",
        "models": ("a", "b"),
        "opened": datetime.now(UTC),
        "host": "somewhere else",
        "pid": 1,
    }
    return Promotion(**(values | more))  # type: ignore[arg-type]


def a_dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_a_promotion_under_way_is_left_alone() -> None:
    """Somebody on another machine opened it a minute ago: recovery refuses, names them, and touches nothing."""
    place = Place()
    opened = place.environments.open(place.read(), a_promotion(host="alices-laptop", pid=4711))
    with pytest.raises(PromotionError) as refused:
        place.recover()
    assert "alices-laptop" in refused.value.why
    assert "4711" in refused.value.why
    assert refused.value.fix
    assert place.read() == opened


def test_an_abandoned_promotion_is_recovered() -> None:
    """Nobody has heard from the other machine for long enough."""
    place = Place()
    place.environments.open(place.read(), a_promotion(opened=datetime.now(UTC) - 2 * ABANDONED_AFTER))
    place.recover()
    place.assert_settled()


def test_views_of_a_shared_catalog_need_that_catalog() -> None:
    """Who promotes without it cannot recover what altered it: refused, with where to go."""
    place = Place()
    place.environments.open(place.read(), a_promotion(host=socket.gethostname(), pid=a_dead_process()))
    with pytest.raises(PromotionError) as refused:
        recover(place.environments, "prod", None)
    assert "catalog" in refused.value.fix
    assert place.read().promotion is not None


def test_nothing_to_recover() -> None:
    """The usual case costs one read and changes nothing."""
    place = Place()
    seen = place.read()
    assert place.recover() == seen == place.read()


def test_alive_by_process_on_this_host() -> None:
    """A process that is gone is dead at once; one that runs is alive however long ago it opened."""
    now, here = datetime.now(UTC), socket.gethostname()
    long_ago = now - timedelta(days=1)
    assert alive(a_promotion(host=here, pid=os.getppid(), opened=long_ago), now=now)
    assert not alive(a_promotion(host=here, pid=a_dead_process(), opened=now), now=now)


def test_a_number_that_another_process_got_is_not_it() -> None:
    """A promotion says when its process began: one of that number that began later is another one. It is read back."""
    place, now, here = Place(), datetime.now(UTC), socket.gethostname()
    # One that begins now: who started this process may have begun in the same hundredth of a second.
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        began = beginning(other.pid)
        assert began and began != beginning(os.getpid())
        for said, there in ((began, True), (beginning(os.getpid()), False), ("another start/1", False), ("", True)):
            opened = place.environments.open(place.read(), a_promotion(host=here, pid=other.pid, began=said))
            stored = place.read().promotion
            assert stored is not None and stored.began == said and alive(stored, now=now) is there
            place.environments.close(opened)
        other.kill()


def test_alive_by_time_on_other_hosts() -> None:
    """Nobody can ask another machine: an open promotion counts as alive for a while."""
    there = a_promotion()
    assert alive(there, now=there.opened + ABANDONED_AFTER - timedelta(seconds=1))
    assert not alive(there, now=there.opened + ABANDONED_AFTER)


def test_a_restarted_container_is_not_its_predecessor() -> None:
    """Same host name, same process id: what this process does not work on itself is dead."""
    mine = a_promotion(host=socket.gethostname(), pid=os.getpid())
    assert not alive(mine, now=mine.opened)
    with module._at_work(mine):
        assert alive(mine, now=mine.opened)
        assert not alive(replace(mine, release="r8"), now=mine.opened)


def test_two_promotions_in_one_process() -> None:
    """A thread that recovers while another one promotes is refused: that one is at work."""
    place = Place()
    refused: list[str] = []

    def others(what: str) -> None:
        with pytest.raises(PromotionError, match="under way"):
            place.recover()
        refused.append(what)

    promote(place.environments, place.read(), [A2, B2, C1], FakeViews(place.catalog, hook=others))
    assert refused == ["expand a", "expand b", "settle a", "settle b", "settle c"]
    place.assert_settled()


def test_names_are_made_before_readers_wait() -> None:
    """Of what is shown and of what is to be shown, before the promotion is opened and any view is touched."""
    place, opened = Place(), list[bool]()

    class Names(FakeViews):
        def prepare(self, pointers: Sequence[Pointer]) -> None:
            super().prepare(pointers)
            opened.append(place.read().promotion is not None)

    views = Names(place.catalog)
    promote(place.environments, place.read(), [A2, B2], views)
    assert opened == [False] and set(views.prepared) == {"a-1", "b-1", "a-2", "b-2"}


def test_views_are_written_again() -> None:
    """Those that somebody changed, with no pointer moved; nobody promotes meanwhile, whoever looked earlier is told."""
    place = Place()
    seen = place.read()
    place.catalog.views["a"] = A3
    assert dict(write_again(place.environments, seen, ["a"], place.views()).pointers) == OLD
    place.assert_settled()
    promote(place.environments, place.read(), [A2, B2], place.views())
    with pytest.raises(LostRaceError):
        write_again(place.environments, seen, ["a"], place.views())
    assert place.catalog.views["a"] == A2

    opened: list[Promotion | None] = []
    views = FakeViews(place.catalog, hook=lambda _: opened.append(place.read().promotion))
    write_again(place.environments, place.read(), ["a"], views)
    assert [p and p.models for p in opened] == [("a",)]


@pytest.mark.parametrize("crash", range(1, 8))
def test_a_crash_while_views_are_written_again(crash: int) -> None:
    """Is recovered by the next one, as that of a promotion is."""
    place, life = Place(), Life(crash)
    place.catalog.views["a"] = A3
    mine = Environments(MortalStore(place.store, life))
    try:
        write_again(mine, mine.read("prod"), ["a"], place.views(life))
    except Crash:
        if place.recover().promotion is None and place.catalog.views["a"] == A3:  # it had not begun
            write_again(place.environments, place.read(), ["a"], place.views())
    place.assert_settled()
