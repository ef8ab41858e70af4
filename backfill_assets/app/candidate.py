"""Which plan is open, and what does its candidate environment show?"""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.adapters.session import check_machine
from backfill_assets.app.context import Context
from backfill_assets.app.plan import with_again
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Plan
from backfill_assets.promote.lifecycle import Abandoned, Opened, end_abandoned, move_candidate, store_plan
from backfill_assets.state.environment import Environment


def open_plan(context: Context, plan: Plan, facts: Facts | None = None) -> Opened | None:
    """Store a plan that is about to be built; None when there is nothing to it. `facts` are those that it was made by;
    None: they are read here, where they are needed.

    Raises PlanError on a collision, and SettingsError, having stored nothing, when this machine cannot build.
    """
    if plan.work:
        check_machine(context.project.root, context.project.settings)
    opened = store_plan(
        context.control, plan, by=context.user, views=context.shared_views, code=context.project.fingerprints
    )
    if opened is None or not opened.beside:
        return opened
    return replace(opened, beside=with_again(context, opened.beside, facts or context.facts()))


def show_candidate(context: Context, plan: str, facts: Facts | None = None) -> Environment | None:
    """Point the plan's candidate environment at what is complete, by `facts` or as they are read here; None when the
    plan has ended. They are read again when somebody else moved the candidate at the same time."""
    given = iter((facts,) if facts else ())
    return move_candidate(
        context.control,
        context.project,
        lambda: next(given, None) or context.facts(),
        plan,
        by=context.user,
        views=context.shared_views,
    )


def abandon_plan(context: Context, plan: str) -> Abandoned:
    """End a plan and drop its candidate environment. Raises PlanError for an unknown or promoted one."""
    return end_abandoned(
        context.control, context.log, context.warehouse, plan, by=context.user, views=context.shared_views
    )
