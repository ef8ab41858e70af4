"""How does a rollback go? Look, build what the older release lacks, look again, prove that it can be read, move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from backfill_assets.promote.gate import Obstacle
from backfill_assets.promote.rehearsal import Readability, doubtful, unreadable
from backfill_assets.promote.rollback import Rollback
from backfill_assets.state.environment import Environment

LOOKS = 4
"""How often what is lacking is built: the environment may gain intervals meanwhile."""


class Look(Protocol):
    """Says what going back to a release would be, as things are now."""

    def __call__(self, release: str | None, select: Sequence[str]) -> tuple[Rollback, list[Readability]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """How a rollback ended. `moved` is the environment afterwards; None when nothing moved."""

    found: Rollback
    proofs: tuple[Readability, ...]
    obstacles: tuple[Obstacle, ...]
    moved: Environment | None


def in_the_way(found: Rollback, proofs: Sequence[Readability], *, at_once: bool) -> tuple[Obstacle, ...]:
    """All that forbids to go back; `at_once` takes losses into the bargain."""
    removed = {o.model for o in found.obstacles if o.intervals}  # by the janitor: that says it all
    seen = [p for p in proofs if p.model not in removed]
    hard = [*found.obstacles, *unreadable(seen)]
    return tuple(hard if at_once else [*hard, *found.losses, *doubtful([p for p in seen if not p.broken])])


def go_back(
    look: Look,
    build: Callable[[Rollback], None],
    move: Callable[[Rollback], Environment],
    release: str | None,
    select: Sequence[str],
    *,
    at_once: bool,
) -> RolledBack:
    """Carry it out. What is lacking and could not be built is in the result's `found`; then nothing has moved.

    Raises PromotionError when the environment moved between the last look and the move.
    """
    found, proofs = look(release, select)
    for _ in range(LOOKS):
        obstacles = in_the_way(found, proofs, at_once=at_once)
        if obstacles or not found.steps or at_once or not found.lacking:
            break
        build(found)
        before = found
        found, proofs = look(found.release.id, select)
        if [s.lacks for s in found.steps] == [s.lacks for s in before.steps]:
            break  # it could not be built
    obstacles = in_the_way(found, proofs, at_once=at_once)
    ready = bool(found.steps) and not obstacles and (at_once or not found.lacking)
    moved = move(found) if ready else None
    return RolledBack(found=found, proofs=tuple(proofs), obstacles=obstacles, moved=moved)
