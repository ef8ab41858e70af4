"""How is what the environment shows extended day by day, by the versions that it shows?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.gate import promotion_case
from backfill_assets.app.release import release_by_case, rules_of
from backfill_assets.contracts.publish import promoted_audits
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Request
from backfill_assets.promote.extend import routine_case
from backfill_assets.promote.gate import Case, Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment


def published_context(context: Context) -> Context:
    """The same warehouse with the project as the environment shows it: what routine runs extend.

    Raises StateError, PlanError when a stored definition cannot be executed.
    """
    shown = context.control.environments.read(context.environment)
    audits = promoted_audits(context.control, context.environment)
    project = published(context.project, shown, context.control.versions.all(), audits)
    return replace(context, project=project)


def promote_green(context: Context) -> tuple[Environment, Verdict, tuple[Obstacle, ...]]:
    """Promote what a routine run extended, without the models that something is in the way of and those that read
    them; and what that is. Models that show another version by now than the run began with stay as they are."""
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
    return done.environment, done.verdict, held
