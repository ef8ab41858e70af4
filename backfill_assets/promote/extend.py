"""What may a routine run publish? The models that it extended, without those that something is in the way of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from backfill_assets.core.model import Project
from backfill_assets.plan.plan import Facts, make_plan
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.gate import Case, Purpose, gate
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.proposal import moved_meanwhile


def routine_case(project: Project, facts: Facts, case: Callable[[Plan], Case]) -> tuple[Case, tuple[Obstacle, ...]]:
    """The case of all that nothing is in the way of, and what that is of the others; what reads those stays, too.

    `project` is what was shown when the run began: models that show another version by now (somebody promoted, or went
    back) stay as they are. `case` is what the gate is asked about a plan's models.
    """
    moved = (moved_meanwhile(project, name, pointer) for name, pointer in facts.environment.pointers.items())
    held = [obstacle for obstacle in moved if obstacle is not None]
    plan = make_plan(project, facts, Request())
    models = _without(project, plan.models, held)
    while True:
        asked = replace(case(replace(plan, models=models)), purpose=Purpose.ROUTINE)
        verdict = gate(asked)
        if verdict.open:
            return asked, tuple(held)
        held.extend(verdict.obstacles)
        models = _without(project, models, verdict.obstacles)


def _without(project: Project, models: Sequence[str], obstacles: Sequence[Obstacle]) -> tuple[str, ...]:
    """The models that nothing is in the way of, and that read none of those; none when it is no model's."""
    named = [f"{m}+" for o in obstacles for m in o.model.split(", ") if m in models]
    stuck = select_models(project, named) if named else models if obstacles else ()
    return tuple(m for m in models if m not in stuck)
