"""How is what the environment shows extended and settled day by day, by the versions that it shows?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from backfill_assets.adapters.heartbeat import sending_heartbeats
from backfill_assets.app.carry_out import Carried, Follow, carry_out, unseen
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.faults import stale_by_promotion
from backfill_assets.app.gate import promotion_case
from backfill_assets.app.ledger_edits import withdraw
from backfill_assets.app.plan import find_odd_files, plan_request
from backfill_assets.app.promote import Promoted
from backfill_assets.app.release import mover
from backfill_assets.app.watch import find_outdated, find_unsettled
from backfill_assets.contracts.publish import promoted_headers
from backfill_assets.core.errors import BackfillError, PlanError
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.away import find_away, not_extended
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Plan, PlanWarning, Request
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.extend import as_published, routine_case, settling_case
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.release import Attempt, release_case
from backfill_assets.promote.settled import redeclared, settleable
from backfill_assets.state.ledger import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a routine run has built again of provisional intervals: by model what shows other rows, and what was in the
    way of the rest."""

    replaced: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    held: tuple[Obstacle, ...] = ()
    odd: tuple[PlanWarning, ...] = ()
    """Of the files that were read for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """What a routine run built, and what it published of it."""

    carried: Carried
    promoted: Promoted
    settled: Settled
    left: tuple[Obstacle, ...] = ()
    """What it did not build, as it would read something else than what was published."""
    odd: tuple[PlanWarning, ...] = ()
    """Files that lack columns that were read, or have them as another type."""

    @property
    def held(self) -> tuple[Obstacle, ...]:
        """What keeps models, or intervals that were built again, from being shown. What was left out on purpose is not
        told once more as not being there."""
        told = {(o.model, o.intervals) for o in self.left}
        rest = (o for o in self.promoted.held if (o.model, o.intervals) not in told)
        return (*self.settled.held, *self.left, *rest)


def extend(context: Context, *, run: str = "", follow: Follow = unseen) -> Extended:
    """Build again what is provisional, or built and not shown yet, and whose sources changed, then what is over by now,
    and publish what is green.

    All of it by the published versions. What cannot be settled holds up no growth. Raises StateError, PlanError when a
    stored definition cannot be executed.
    """
    shown, run = published_context(context), run or new_id()
    with sending_heartbeats(context.warehouse, run, routine=True):  # heavy builds let it go first
        settled = _settle(shown, run=run, follow=follow)
        facts = _without_outdated(shown, shown.facts())
        plan, left = as_published(shown.project, plan_request(shown, facts=facts, resume=False))
        odd = tuple(dict.fromkeys((*settled.odd, *find_odd_files(shown, plan))))
        carried = carry_out(shown, plan, run=run, follow=follow)
        return Extended(carried=carried, promoted=promote_green(shown), settled=settled, left=left, odd=odd)


def _settle(context: Context, *, run: str, follow: Follow) -> Settled:
    try:
        facts = context.facts()
        if not facts.settling or not facts.settling.since:
            return Settled()
        late = find_unsettled(context)
        found = settleable(context.project, facts, late)
        left, request = (*redeclared(context.project, facts, late), *found.held), found.request
        if request is None:
            return Settled(held=left)
        plan = make_plan(context.project, facts, request)
        odd = find_odd_files(context, plan)
        carry_out(context, plan, run=run, follow=follow)
        done = _show_settled(context, request, plan)
        return replace(done, held=(*left, *done.held), odd=odd)
    except BackfillError as error:
        what = f"what is provisional could not be built again: {error.what}; {error.why}"
        held = Obstacle(model=context.environment, what=what, remedy=f"{error.fix}; then backfill routine")
        return Settled(held=(held,))


def _without_outdated(context: Context, facts: Facts) -> Facts:
    """The facts, once what earlier runs built and held back is missing again where its sources changed since."""
    late = find_outdated(context, facts)
    for name, ranges in late.items():
        with suppress(PlanError):  # something that is shown was built from it: the watch tells of that
            withdraw(context, [(name, part) for part in ranges], reason="its sources changed before it was shown")
    return context.facts() if late else facts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holding(Attempt):
    """What would move, and what is in the way of the rest."""

    held: tuple[Obstacle, ...]


def _show_settled(context: Context, request: Request, built: Plan) -> Settled:
    """Show what is green of a plan of provisional intervals, with all that reads it, as far as it may still change."""

    def look() -> _Holding:
        facts = context.facts().with_pins(built.sources)  # a revision is of one state of the sources
        late = find_unsettled(context)

        def asked(plan: Plan) -> Case:
            return promotion_case(context, request, facts, plan, purpose=Purpose.ROUTINE)

        case, held = settling_case(context.project, facts, request, late, asked)
        return _Holding(case=case, held=held)

    done = release_case(mover(context), look, evidence=partial(seal_release, context))
    replaced = done.verdict.changed if done.moved else {}
    return Settled(replaced=replaced, held=(*done.attempt.held, *done.verdict.obstacles))


def published_context(context: Context) -> Context:
    """The same warehouse with the project as the environment shows it: what routine runs extend, and whose older logic
    they keep. Models whose sources, or those of their audits, cannot be looked at stay as they are.

    Raises StateError, PlanError when a stored definition cannot be executed.
    """
    shown = context.control.environments.read(context.environment)
    headers = promoted_headers(context.control, context.environment)
    project = published(context.project, shown, context.control.versions.all(), headers)
    project = not_extended(project, find_away(project, context.pins))
    return replace(context, project=project, keeps_older=True)


def promote_green(context: Context) -> Promoted:
    """Promote what a routine run extended, without the models that something is in the way of and those that read
    them; and what that is. Models that show another version by now than the run began with stay as they are."""
    before = context.control.environments.read(context.environment)

    def look() -> _Holding:
        facts = context.facts()

        def asked(plan: Plan) -> Case:
            return promotion_case(context, Request(), facts, plan, purpose=Purpose.ROUTINE)

        case, held = routine_case(context.project, facts, asked)
        return _Holding(case=case, held=held)

    done = release_case(mover(context), look, evidence=partial(seal_release, context))
    return Promoted(
        before=before,
        environment=done.environment,
        verdict=done.verdict,
        held=done.attempt.held,
        notes=tuple(context.rules().notes),
        stale=stale_by_promotion(context, before, done.environment, done.attempt.case.facts.tables.entries)
        if done.verdict.open
        else (),
    )
