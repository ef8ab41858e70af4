"""What would it be to build everything again? The work that a plan is measured against."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.build_stage import build_stage
from backfill_assets.plan.missing import wanted
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Build, Stage


def full_rebuild(
    project: Project, now: datetime, stages: Sequence[Stage], changed: Collection[str], done: Mapping[str, Ranges]
) -> tuple[Build, ...]:
    """What builds the `changed` models, all that reads them, and what the stages build, over all of their history.

    Without the intervals that are `done` of a model already: somebody began with the plan. Nothing when the stages
    build as much, or no more than that was to be done.
    """
    built = [stage for stage in stages if isinstance(stage, Build)]
    if not changed or (any(done.values()) and not built):
        return ()
    names = select_models(project, [*(f"{name}+" for name in changed), *(stage.model for stage in built)])
    found: list[Build] = []
    for name in names:
        model = project.models[name]
        intervals = wanted(model, now=now) - done.get(name, NOTHING)
        if intervals:
            found.append(
                build_stage(model, project.fingerprints[name], intervals, now, reason="to build everything again")
            )
    return tuple(found) if sum(b.count for b in found) > sum(b.count for b in built) else ()
