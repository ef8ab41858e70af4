"""How does a stored plan differ from how things are by now?"""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.app.context import Context
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.amendment import Amendment, amend
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.leases import targets
from backfill_assets.plan.stages import Plan
from backfill_assets.plan.stored import stored_plan
from backfill_assets.promote.planned import stored_patches
from backfill_assets.state.plans import PlanRecord


def amend_continued(context: Context, record: PlanRecord | None, plan: Plan, facts: Facts) -> Amendment | None:
    """What is different from the stored plan that a plan goes on with, where there is one."""
    return record and amend_stored(context, record, facts, {t.model: t.intervals for t in targets(plan)})


def amend_stored(context: Context, record: PlanRecord, facts: Facts, gives: Mapping[str, Ranges]) -> Amendment:
    """What is different from a stored plan of the loaded code; `gives` is what it builds or shows by now, by model."""
    stored = stored_plan(context.control, record.id)
    if stored is None:
        return Amendment(plan=record.id)
    return amend(
        context.project,
        record,
        stored,
        facts,
        releases=context.control.releases.all(record.environment),
        patches=stored_patches(context.project, facts, stored),
        gives=gives,
    )
