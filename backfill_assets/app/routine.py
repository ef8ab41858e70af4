"""How is what the environment shows extended day by day, by the versions that it shows?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from backfill_assets.app.carry_out import Carried, Follow, carry_out, unseen
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.gate import promotion_case
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import Promoted
from backfill_assets.app.release import release_by_case, rules_of
from backfill_assets.contracts.publish import promoted_audits
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Request
from backfill_assets.promote.extend import routine_case
from backfill_assets.promote.gate import Case
from backfill_assets.promote.obstacle import Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """What a routine run built, and what it published of it."""

    carried: Carried
    promoted: Promoted


def extend(context: Context, *, run: str = "", follow: Follow = unseen) -> Extended:
    """Build what is over by now of what the environment shows, by the published versions, and publish what is green.

    Raises StateError, PlanError when a stored definition cannot be executed.
    """
    shown = published_context(context)
    carried = carry_out(shown, plan_request(shown, resume=False), run=run, follow=follow)
    return Extended(carried=carried, promoted=promote_green(shown))


def published_context(context: Context) -> Context:
    """The same warehouse with the project as the environment shows it: what routine runs extend.

    Raises StateError, PlanError when a stored definition cannot be executed.
    """
    shown = context.control.environments.read(context.environment)
    audits = promoted_audits(context.control, context.environment)
    project = published(context.project, shown, context.control.versions.all(), audits)
    return replace(context, project=project)


def promote_green(context: Context) -> Promoted:
    """Promote what a routine run extended, without the models that something is in the way of and those that read
    them; and what that is. Models that show another version by now than the run began with stay as they are."""
    before = context.control.environments.read(context.environment)
    held: tuple[Obstacle, ...] = ()

    def look() -> Case:
        nonlocal held
        facts = context.facts()
        case, held = routine_case(context.project, facts, lambda plan: promotion_case(context, Request(), facts, plan))
        return case

    done = release_by_case(
        context,
        look,
        context.shared_views(),
        evidence=partial(seal_release, context),
        rules=partial(rules_of, context),
    )
    return Promoted(
        before=before,
        environment=done.environment,
        verdict=done.verdict,
        held=held,
        notes=tuple(context.rules().notes),
    )
