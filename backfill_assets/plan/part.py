"""Which part of a plan builds just these days? What somebody tries again; the plan stays whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.wording import listed
from backfill_assets.plan.sample import cut
from backfill_assets.plan.select import asked_of_each
from backfill_assets.plan.stages import AuditStage, Build, Plan

Part = tuple[str, Interval]
"""A model and days of it, as somebody wrote them: they are made whole intervals."""


def part_plan(plan: Plan, project: Project, parts: Sequence[Part]) -> Plan:
    """The plan cut to these days of these models; nothing is promoted by it. Raises PlanError, naming all that are
    wrong, where it has nothing to build or audit there."""
    asked = asked_of_each(project, parts)
    todo = {s.model: s.intervals & asked.get(s.model, Ranges()) for s in plan.work}
    if idle := [f"{name} {part}" for name, part in asked.items() if not todo.get(name)]:
        left = [f"{stage.model} {stage.intervals}" for stage in plan.work]
        raise PlanError(
            f"nothing is to be done of {listed(idle)}",
            why=f"missing are {'; '.join(left)}" if left else "the plan is complete",
            fix="name days that are missing, of models that the plan builds" if left else "approve it, or promote it",
        )
    stages = [_cut(stage, todo[stage.model], project, plan) for stage in plan.work if todo[stage.model]]
    blocked = tuple(b for b in plan.blocked if b.intervals & asked.get(b.model, Ranges()))
    return replace(plan, stages=tuple(stages), blocked=blocked)


def _cut(stage: Build | AuditStage, intervals: Ranges, project: Project, plan: Plan) -> Build | AuditStage:
    if isinstance(stage, Build):
        return cut(stage, intervals, project, plan)
    return replace(stage, intervals=intervals, count=intervals.count(project.models[stage.model].cadence))
