"""How does the environment go back to an older release?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from backfill_assets.app.carry_out import Carried, Follow, carry_out, unseen
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.follow import rows_apart
from backfill_assets.app.release import mover
from backfill_assets.audits.reads import tables_read
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import BackfillError
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.left_open import left_open
from backfill_assets.plan.stages import PlanWarning
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.lifecycle import end_promoted
from backfill_assets.promote.promote import recover
from backfill_assets.promote.rehearsal import Readability, rehearse
from backfill_assets.promote.release import Attempt, release_case
from backfill_assets.promote.rollback import ProposedRollback, propose_rollback, rollback_work
from backfill_assets.promote.rollback_run import RolledBack, carry_out_rollback, rollback_case, rollback_obstacles
from backfill_assets.state.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackOutcome:
    """How a rollback ended, and what was built for it."""

    ended: RolledBack
    carried: tuple[Carried, ...]
    left_open: tuple[PlanWarning, ...] = ()
    """Open intervals that read what goes back, and stay as they are shown."""

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """What came of each model, the last time that it was built."""
        return {name: outcome for each in self.carried for name, outcome in each.outcomes.items()}


def plan_rollback(
    context: Context, release: str | None = None, select: Sequence[str] = (), *, exact: bool = True
) -> tuple[ProposedRollback, list[Readability]]:
    """What going back to a release (None: before the last change) would be, and whether it can still be read. `exact`:
    also on what routine runs alone have settled since."""
    found = propose_rollback(
        context.project,
        context.control,
        context.log,
        context.source_changes.history,
        environment=context.environment,
        now=context.now(),
        release=release,
        select=select,
        exact=exact,
    )
    found = replace(found, obstacles=(*found.obstacles, *rows_apart(context, found.follows)))
    return found, rehearse(found.pointers, context.storage, context.log, context.control.ledger)


def roll_back(
    context: Context,
    release: str | None,
    select: Sequence[str] = (),
    *,
    at_once: bool = False,
    dry_run: bool = False,
    reason: str = "",
    run: str = "",
    tell: Callable[[ProposedRollback, Sequence[Readability]], None] = lambda _, __: None,
    follow: Follow = unseen,
) -> RollbackOutcome:
    """Go back to an older release: build and audit first what it lacks (or not: `at_once`), then move all pointers.

    `reason` says why, in the evidence; `tell` hears what is ahead, before anything is done. Nothing moves when anything
    is in the way or could not be built, and nothing is done in a `dry_run`.
    """
    look_at = partial(plan_rollback, context, exact=release is not None)
    ahead, readable = look_at(release, select)
    tell(ahead, readable)
    if dry_run:
        way = rollback_obstacles(ahead, readable, at_once=at_once)
        ended = RolledBack(found=ahead, proofs=tuple(readable), obstacles=way, moved=None)
        return RollbackOutcome(ended=ended, carried=(), left_open=_left_open(context, ahead))
    recover(context.control.environments, context.environment, context.shared_views())
    if ahead.done:
        return RollbackOutcome(ended=RolledBack(found=ahead, proofs=(), obstacles=(), moved=None), carried=())

    carried: list[Carried] = []
    stay: list[PlanWarning] = []

    def extend(found: ProposedRollback) -> None:
        assert found.project is not None
        project, after = found.project, found.after.pointers
        extended = replace(context, project=project, shown=after)
        read = {table for step in found.steps if step.lacks for table in tables_read(project.models[step.model])}
        sources = {name: context.pins.pin(source) for name, source in project.sources.items() if name in read}
        carried.append(carry_out(extended, rollback_work(found, context.now(), sources), run=run, follow=follow))

    def move(found: ProposedRollback) -> tuple[Environment, Verdict]:
        def look() -> Attempt:
            again, proofs = look_at(found.release.id, select)
            way = rollback_obstacles(again, proofs, at_once=at_once)
            facts = context.facts()
            stay[:] = _left_open(context, again, facts)
            return Attempt(
                case=rollback_case(context.project, facts, context.control, context.log, again, way, at_once=at_once)
            )

        context.control.versions.follow(found.follows)
        done = release_case(
            mover(context),
            look,
            evidence=partial(seal_release, context, back_to=found.release, at_once=at_once, reason=reason),
            back_to=found.release.id,
            at_once=at_once,
        )
        if done.moved:
            end_promoted(context.control, done.environment, by=context.user, views=context.shared_views)
        return done.environment, done.verdict

    ended = carry_out_rollback(look_at, extend, move, ahead.release.id, select, at_once=at_once)
    return RollbackOutcome(ended=ended, carried=tuple(carried), left_open=tuple(stay) if ended.moved else ())


def _left_open(context: Context, back: ProposedRollback, facts: Facts | None = None) -> tuple[PlanWarning, ...]:
    """What is told of them; nothing where that cannot be found out: it is in nobody's way."""
    with suppress(BackfillError):
        facts = facts or context.facts()
        changed = find_changed_rows(context.project, facts, context.log, back.pointers).changed
        return tuple(left_open(context.project, facts, changed, "goes back"))
    return ()
