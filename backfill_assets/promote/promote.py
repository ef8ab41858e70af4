"""How do prod's pointers move? Expand the views, flip all pointers in one commit, contract; from any crash, recover."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Protocol

from backfill_assets.core.errors import ConflictError, LostRaceError, PromotionError, too_busy
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.processes import beginning, is_running
from backfill_assets.state.environment import Environment, Environments, Promotion
from backfill_assets.state.ledger import new_id
from backfill_assets.state.release_note import UNSIGNED, ReleaseNote

ABANDONED_AFTER = timedelta(minutes=10)
"""How long an open promotion of another machine is taken to be alive."""


class ViewCatalog(Protocol):
    """The persisted views of a shared catalog. With a catalog per session there are none to move."""

    @property
    def grace(self) -> timedelta:
        """Longer than any query takes from reading its first view's text to its last one's."""
        ...

    def prepare(self, pointers: Sequence[Pointer]) -> None:
        """Make what views of these will call, where tables have names: before readers wait. Again is harmless."""
        ...

    def expand(self, environment: str, moves: Sequence[tuple[Pointer, Pointer]], cutover: datetime) -> None:
        """Make the view of each (old, new) show the old to queries before the cutover, then what the environment says.
        The views exist."""
        ...

    def settle(self, environment: Environment, models: Collection[str]) -> None:
        """Make these views plainly what the environment shows; create and drop them as needed."""
        ...


def promote(
    environments: Environments,
    seen: Environment,
    pointers: Sequence[Pointer],
    views: ViewCatalog | None,
    *,
    release: str = "",
    remove: Collection[str] = (),
    note: ReleaseNote = UNSIGNED,
    check: Callable[[], object] = lambda: None,
) -> Environment:
    """Move the pointers, and drop the models in `remove`, all in one commit. `seen` is what the gate looked at.

    The same commit records the release, with what the `note` says of it.

    Raises LostRaceError, having moved nothing, when the environment moved since, another promotion is under way, or
    `check` raises it: that is asked before views are expanded, and again right before each
    attempt to commit.
    Killed at any point, the next promotion (or `recover`) puts the views right.
    """
    release = release or new_release()
    if not pointers and not remove:
        return seen

    def flip(current: Environment, asked: Callable[[], object]) -> Environment:
        now = datetime.now(UTC)
        return environments.flip(current, pointers, remove=remove, release=release, at=now, note=note, check=asked)

    if views is None:
        return flip(seen, check)
    check()
    views.prepare([*seen.pointers.values(), *pointers])
    promotion = _promotion(release, [*(p.model for p in pointers), *remove])
    with _at_work(promotion):
        try:
            opened = environments.open(seen, promotion)
        except ConflictError as error:
            raise LostRaceError(
                f"{seen.name} moved since it was looked at", why=error.what, fix="run the promotion again"
            ) from None
        try:
            flipped, cutover = _flip_before_cutover(views, opened, pointers, flip, check)
        except Exception:
            _clean_up(environments, promotion, seen.name, views)
            raise
        _wait_until(cutover)
        views.settle(flipped, promotion.models)
        closed = _close(environments, flipped)
        if closed is None:  # somebody took over while we settled: what we settled may be old by now
            return _clean_up(environments, promotion, seen.name, views)
        return closed


def write_again(
    environments: Environments, seen: Environment, models: Collection[str], views: ViewCatalog
) -> Environment:
    """Write the views of these models as they are to be: a promotion that moves nothing, so that none is beside it.

    Raises LostRaceError when the environment moved since it was `seen`. Killed at any point, the next promotion (or
    `recover`) goes on.
    """
    promotion = _promotion(new_release(), sorted(models))
    views.prepare([seen.pointers[m] for m in models if m in seen.pointers])
    with _at_work(promotion):
        try:
            opened = environments.open(seen, promotion)
        except ConflictError as error:
            raise LostRaceError(f"{seen.name} moved", why=error.what, fix="run this again") from None
        views.settle(opened, models)
        return _close(environments, opened) or environments.read(seen.name)


def new_release() -> str:
    """A name that no other release has: when somebody wanted it, in UTC, and something random."""
    return f"r{datetime.now(UTC):%Y%m%d%H%M%S}-{new_id()[:6]}"


def recover(environments: Environments, name: str, views: ViewCatalog | None) -> Environment:
    """Finish or withdraw a promotion that nobody is working on any more; returns the environment as it then is.

    Whether its commit happened is in the environment itself, so both come to the same: make the views plain.
    Raises PromotionError when the promotion may still be alive.
    """
    current = environments.read(name)
    promotion = current.promotion
    if promotion is None:
        return current
    if alive(promotion, now=datetime.now(UTC)):
        raise PromotionError(
            f"another promotion of {name} is under way",
            why=f"release {promotion.release} was opened at {promotion.opened:%Y-%m-%d %H:%M:%S} UTC "
            f"by process {promotion.pid} on {promotion.host}",
            fix="wait for it to finish, then run this again",
        )
    if views is None:
        raise PromotionError(
            f"an earlier promotion of {name} was interrupted",
            why=f"release {promotion.release} altered views of a shared catalog",
            fix="promote from a place whose Spark configuration has that catalog: it recovers by itself",
        )
    return _finish(environments, current, views)


class _LateError(Exception):
    """The cutover is too near for a commit that is to be seen before it."""


def _flip_before_cutover(
    views: ViewCatalog,
    opened: Environment,
    pointers: Sequence[Pointer],
    flip: Callable[[Environment, Callable[[], object]], Environment],
    check: Callable[[], object],
) -> tuple[Environment, datetime]:
    """Expand the views, then commit well before their cutover, which is returned as well.

    After the cutover each view says what its own look at the environment finds, and a commit may fall between two of
    these: so where `check` or other writers took too long, all are expanded again, for a later one.
    """
    attempt = 0
    while True:
        cutover = _expand(views, opened, pointers, attempt)

        def in_time(cutover: datetime = cutover) -> None:
            check()
            if datetime.now(UTC) > cutover - views.grace / 2 and views.grace and _moves(opened, pointers):
                raise _LateError

        with suppress(_LateError):
            return flip(opened, in_time), cutover
        attempt += 1


def _moves(seen: Environment, pointers: Sequence[Pointer]) -> list[tuple[Pointer, Pointer]]:
    """What is shown, and what is to be shown in its place."""
    return [(old, new) for new in pointers if (old := seen.pointers.get(new.model)) is not None]


def _expand(views: ViewCatalog, seen: Environment, pointers: Sequence[Pointer], attempt: int) -> datetime:
    """Expand every view that exists; returns the cutover, which is at least the catalog's grace away, and further with
    each `attempt`.

    A query that read one view before it was expanded must have read the others before the cutover: so the grace is
    counted from the last view's expansion, and all are expanded again, for a later cutover, when that took too long.
    """
    moves = _moves(seen, pointers)
    if not moves:
        return datetime.now(UTC)
    spare, again = views.grace * 2**attempt, views.grace if attempt else timedelta()
    if views.grace:
        spare += _A_VIEW * len(moves)
    while True:
        began = datetime.now(UTC)
        cutover = began + spare + again + views.grace
        views.expand(seen.name, moves, cutover)
        took = datetime.now(UTC) - began
        _wait_until(datetime.now(UTC) + again)  # whoever read a text of the round before is done with reading texts
        if not views.grace or datetime.now(UTC) <= cutover - views.grace:
            return cutover
        spare, again = max(spare * 2, took * 1.5), views.grace  # of hundreds of views, once more is enough


_A_VIEW = timedelta(seconds=0.1)
"""What altering one may take, of many at a time: a cutover that is too near has all of them altered again."""


def _wait_until(instant: datetime) -> None:
    while (left := (instant - datetime.now(UTC)).total_seconds()) > 0:
        time.sleep(left)


def _finish(environments: Environments, current: Environment, views: ViewCatalog) -> Environment:
    """Make the views of the open promotion plain, then close it: a crash in between leaves it to the next one."""
    assert current.promotion is not None
    mine = _promotion(current.promotion.release, current.promotion.models)
    with _at_work(mine):
        try:
            taken = environments.take_over(current, mine)  # from here on the other one cannot flip
        except ConflictError as error:
            raise PromotionError(
                f"{current.name} moved while a promotion was being recovered", why=error.what, fix="run this again"
            ) from None
        views.settle(taken, mine.models)
        return _close(environments, taken) or environments.read(current.name)


def _clean_up(environments: Environments, mine: Promotion, name: str, views: ViewCatalog) -> Environment:
    """After a failure: leave the views of our own promotion plain, whoever withdrew it.

    Another open promotion settles its views itself.
    """
    current = environments.read(name)
    if current.promotion == mine:
        return _finish(environments, current, views)
    if current.promotion is None:
        views.settle(current, mine.models)
    return current


def alive(promotion: Promotion, *, now: datetime) -> bool:
    """Whether the process that opened a promotion may still be at work."""
    if promotion.host == socket.gethostname():
        if promotion.pid == os.getpid():  # ours, or a container that was started again
            return promotion in _working
        return is_running(promotion.pid, promotion.began)
    return now - promotion.opened < ABANDONED_AFTER


_working: set[Promotion] = set()
"""The promotions that this process is working on right now."""


@contextmanager
def _at_work(promotion: Promotion) -> Generator[None]:
    _working.add(promotion)
    try:
        yield
    finally:
        _working.discard(promotion)


def _promotion(release: str, models: Sequence[str]) -> Promotion:
    return Promotion(
        release=release,
        models=tuple(models),
        opened=datetime.now(UTC),
        host=socket.gethostname(),
        pid=os.getpid(),
        began=beginning(os.getpid()),
    )


def _close(environments: Environments, seen: Environment) -> Environment | None:
    """The environment without its promotion; None when somebody else put an end to it first."""
    current = seen
    for _ in range(20):
        with suppress(ConflictError):
            return environments.close(current)
        current = environments.read(seen.name)
        if current.promotion != seen.promotion:
            return None
    raise too_busy(f"{seen.name} is too busy", PromotionError)
