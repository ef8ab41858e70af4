"""What may a routine run publish? What it extended or settled, without what something is in the way of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.build_stage import build_stage
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Build, Plan, Request, Stage
from backfill_assets.project.stored import PUT_BACK, UNSAID
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.gate import gate
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.proposal import moved_meanwhile
from backfill_assets.promote.settled import green_part


def routine_case(project: Project, facts: Facts, case: Callable[[Plan], Case]) -> tuple[Case, tuple[Obstacle, ...]]:
    """The case of all that nothing is in the way of, and what that is of the others; what reads those stays, too.

    `project` is what was shown when the run began: models that show another version by now (somebody promoted, or went
    back) stay as they are. `case` is what the gate is asked about a plan's models.
    """
    held = _moved(project, facts)
    plan = make_plan(project, facts, Request())
    models = _without(project, plan.models, held)
    while True:
        asked = replace(case(replace(plan, models=models)), purpose=Purpose.ROUTINE)
        verdict = gate(asked)
        if verdict.open:
            return asked, tuple(held)
        held.extend(verdict.obstacles)
        models = _without(project, models, verdict.obstacles)


def as_published(project: Project, plan: Plan) -> tuple[Plan, tuple[Obstacle, ...]]:
    """The plan of a routine run without the intervals that would read something else than what was published, and
    those that read them; and what it leaves out, and why. A record that does not say what it read is extended as ever.
    """
    other = {name: why for name, why in project.redeclared.items() if why != UNSAID}
    builds = {stage.model: stage for stage in plan.stages if isinstance(stage, Build)}
    gone, left = dict[str, Ranges](), list[Obstacle]()
    for name, model in project.models.items():
        if (stage := builds.get(name)) is None:
            continue
        stuck = [u.name for u in model.upstreams if u.name in gone]
        reads = Ranges.of(
            affected_interval(model, project.models[above], part) for above in stuck for part in gone[above]
        )
        if part := stage.intervals if name in other else stage.intervals & reads:
            gone[name] = part
            why = other.get(name) or f"it reads {', '.join(stuck)}"
            left.append(Obstacle(model=name, what=f"is not extended: {why}:", intervals=part, remedy=PUT_BACK))
    cut = (_without_intervals(project, stage, gone, plan.now) for stage in plan.stages)
    return replace(plan, stages=tuple(stage for stage in cut if stage is not None)), tuple(left)


def _without_intervals(project: Project, stage: Stage, gone: Mapping[str, Ranges], now: datetime) -> Stage | None:
    if not isinstance(stage, Build) or stage.model not in gone:
        return stage
    rest = stage.intervals - gone[stage.model]
    if not rest:
        return None
    return build_stage(project.models[stage.model], stage.version, rest, now, reason=stage.reason)


def settling_case(
    project: Project, facts: Facts, request: Request, late: Mapping[str, Ranges], case: Callable[[Plan], Case]
) -> tuple[Case, tuple[Obstacle, ...]]:
    """The case of what was computed again of provisional intervals, as far as it is green and may still change; and
    what is in the way of the rest. `facts` have the sources that it was computed from. Nothing is shown once somebody
    has promoted another version of some model, or gone back to one: it may read what would change."""
    plan = make_plan(project, facts, request)
    if moved := _moved(project, facts):
        asked = case(replace(plan, models=(), patches={}))
        return replace(asked, purpose=Purpose.ROUTINE, late=late), tuple(moved)
    patches = green_part(project, facts, plan.patches)
    held = [
        Obstacle(
            model=name,
            what="was to be built again, as its sources changed, and is not green, or what belongs to it is not: what "
            f"{facts.environment.name} shows stays as it was",
            intervals=rest,
            remedy="mend it, then backfill routine",
        )
        for name, patch in plan.patches.items()
        if (rest := patch.intervals - (patches[name].intervals if name in patches else NOTHING))
    ]
    asked = case(replace(plan, models=tuple(patches), patches=patches))
    asked = replace(asked, purpose=Purpose.ROUTINE, late=late)
    return asked, tuple(held)


def _moved(project: Project, facts: Facts) -> list[Obstacle]:
    """The models that show another version by now than when the run began."""
    found = (moved_meanwhile(project, name, pointer) for name, pointer in facts.environment.pointers.items())
    return [obstacle for obstacle in found if obstacle is not None]


def _without(project: Project, models: Sequence[str], obstacles: Sequence[Obstacle]) -> tuple[str, ...]:
    """The models that nothing is in the way of, and that read none of those; none when it is no model's."""
    named = [f"{m}+" for o in obstacles for m in o.model.split(", ") if m in models]
    stuck = select_models(project, named) if named else models if obstacles else ()
    return tuple(m for m in models if m not in stuck)
