"""What does somebody do next about a plan that a run worked on, or that waits? With a job, or in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.app.context import Context
from backfill_assets.defs.names import job_text
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.stored import stored_plan, stored_request
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.required_approvals import titled


def what_comes_next(context: Context, record: PlanRecord, in_the_way: Sequence[Obstacle] = ()) -> str:
    """What somebody does now about it; where something about its rows is in the way, that comes first."""
    if not record.live:
        return f"it is {record.status.value}"
    if record.status is not PlanStatus.APPLIED:
        command = apply_command(stored_request(context.control, record.id))
        return f"not complete yet: materialize the rest, or `{command}`"
    if in_the_way:
        return f"it can be neither approved nor promoted yet: {'; '.join(dict.fromkeys(o.remedy for o in in_the_way))}"
    said = stored_plan(context.control, record.id)
    asks = [titled(one.owner, one.roles, "somebody else") for one in (said.asked if said else ())]
    approve = job_text(context.project, "approve")
    asked = f"{' and '.join(asks)} approve: `backfill approve {record.id}` or {approve}, then " if asks else ""
    return f"{asked}{promote_words(context, record.id)}"


def promote_words(context: Context, plan: str) -> str:
    """How a plan is promoted."""
    return f"`backfill promote {plan}` or {job_text(context.project, 'promote')} with plan: {plan}"
