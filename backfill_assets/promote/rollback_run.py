"""How does a rollback go? Look, build what the older release lacks, look again, prove that it can be read, move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.changed_rows import cadence_of, find_changed_rows
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.proposal import Proposal
from backfill_assets.promote.rehearsal import Readability, doubtful, unreadable
from backfill_assets.promote.rollback import ProposedRollback
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.replaced_rows import replaced
from backfill_assets.state.tables import TableLog

MOST_ATTEMPTS = 4
"""How often what is lacking is built: the environment may gain intervals meanwhile."""


class ReadRollback(Protocol):
    """Says what going back to a release would be, as things are now."""

    def __call__(self, release: str | None, select: Sequence[str]) -> tuple[ProposedRollback, list[Readability]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """How a rollback ended. `moved` is the environment afterwards; None when nothing moved."""

    found: ProposedRollback
    proofs: tuple[Readability, ...]
    obstacles: tuple[Obstacle, ...]
    moved: Environment | None


def rollback_obstacles(
    found: ProposedRollback, proofs: Sequence[Readability], *, at_once: bool
) -> tuple[Obstacle, ...]:
    """All that forbids to go back; `at_once` takes losses into the bargain."""
    removed = {o.model for o in found.obstacles if o.intervals}  # by the janitor: that says it all
    seen = [p for p in proofs if p.model not in removed]
    hard = [*found.obstacles, *unreadable(seen)]
    return tuple(hard if at_once else [*hard, *found.losses, *doubtful([p for p in seen if not p.broken])])


def carry_out_rollback(
    look: ReadRollback,
    build: Callable[[ProposedRollback], None],
    move: Callable[[ProposedRollback], tuple[Environment, Verdict]],
    release: str | None,
    select: Sequence[str],
    *,
    at_once: bool,
) -> RolledBack:
    """Carry it out. What is lacking and could not be built is in the result's `found`; then nothing has moved."""
    found, proofs = look(release, select)
    for _ in range(MOST_ATTEMPTS):
        obstacles = rollback_obstacles(found, proofs, at_once=at_once)
        if obstacles or not found.steps or at_once or not found.lacking:
            break
        build(found)
        before = found
        found, proofs = look(found.release.id, select)
        if [s.lacks for s in found.steps] == [s.lacks for s in before.steps]:
            break  # it could not be built
    obstacles = rollback_obstacles(found, proofs, at_once=at_once)
    ready = bool(found.steps) and not obstacles and (at_once or not found.lacking)
    if not ready:
        return RolledBack(found=found, proofs=tuple(proofs), obstacles=obstacles, moved=None)
    moved, verdict = move(found)
    ended = moved if verdict.open else None
    return RolledBack(found=found, proofs=tuple(proofs), obstacles=verdict.obstacles, moved=ended)


def rollback_case(
    project: Project,
    facts: Facts,
    control: Control,
    log: TableLog,
    found: ProposedRollback,
    way: Sequence[Obstacle],
    *,
    at_once: bool,
) -> Case:
    """What the gate is asked about a rollback, as things are now. Rows that the release showed were let through when it
    was made, and what came since in its versions would have been growth of it: its record stands for an approval."""
    obstacles = list(way)
    if facts.environment.pointers != found.environment.pointers:
        obstacles.append(_again(facts.environment.name, "it moved while it was looked at"))
    if found.lacking and not at_once:
        lacking = ", ".join(f"{s.model} {s.lacks}" for s in found.steps if s.lacks)
        obstacles.append(_again(facts.environment.name, f"intervals came meanwhile: {lacking}"))
    # What comes back is a release's, whatever another one showed later.
    in_sight = replace(facts, past=replace(facts.past, out_of_sight={}))
    weight = find_changed_rows(project, in_sight, log, found.pointers, found.removed)
    older = {s.model: s.older for s in found.steps}
    return Case(
        purpose=Purpose.ROLLBACK,
        project=project,
        facts=facts,
        versions=control.versions.all(),
        wanted=Proposal(wanted=(), pointers=found.pointers),
        removed=found.removed,
        changed=weight.changed,
        rewritten=weight.rewritten,
        released={p.model: _of_release(project, older[p.model], p, log) | _gone(found, p) for p in found.pointers}
        | {name: weight.changed[name] for name in found.removed if name in weight.changed},
        way_back=tuple(obstacles),
    )


def _of_release(project: Project, older: Pointer | None, pointer: Pointer, log: TableLog) -> Ranges:
    """What a pointer shows as a release showed it, and what it shows beyond that in the logic of that time."""
    assert older is not None
    same = older.covers - replaced(older, pointer, log, cadence_of(project, pointer.model))
    logic = {s.logic for s in older.segments}
    grown = Ranges.of(s.interval for s in pointer.segments if s.logic in logic) - older.covers
    return same | grown


def _gone(found: ProposedRollback, pointer: Pointer) -> Ranges:
    """What would be out of sight: the release did not show it. A rollback that takes no losses is refused before."""
    shown = found.environment.pointers.get(pointer.model)
    return shown.covers - pointer.covers if shown else Ranges()


def _again(environment: str, what: str) -> Obstacle:
    return Obstacle(model=environment, what=what, remedy="run it again")
