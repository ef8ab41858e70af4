"""What small part of a plan tells how the rest will go? A few intervals of each model, with what they need."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.copied import NO_COPY
from backfill_assets.plan.missing import needed, upstream_models
from backfill_assets.plan.renamed_columns import batches_apart
from backfill_assets.plan.stages import AuditStage, Build, Plan


def sample_plan(plan: Plan, project: Project, count: int) -> Plan:
    """The plan cut to `count` intervals of each model that no other reads, and to what those need of their upstreams.

    What it builds is kept: it is a part of the whole. Nothing is promoted by it.
    """
    builds = {stage.model: stage for stage in plan.stages if isinstance(stage, Build)}
    chosen: dict[str, Ranges] = {}
    for name in reversed([n for n in project.models if n in builds]):
        model, stage = project.models[name], builds[name]
        mine = chosen.get(name) or evenly_spaced(stage.intervals, model.cadence, count)
        chosen[name] = mine & stage.intervals
        for upstream in upstream_models(project, model).values():
            if upstream.name in builds:
                for interval in chosen[name].split(model.cadence):
                    chosen[upstream.name] = chosen.get(upstream.name, Ranges()) | needed(model, upstream, interval)
    stages = [cut(s, chosen[s.model], project, plan) if isinstance(s, Build) else s for s in plan.stages]
    return replace(plan, stages=tuple(s for s in stages if isinstance(s, Build | AuditStage)))


def evenly_spaced(intervals: Ranges, cadence: Cadence, n: int) -> Ranges:
    """`n` single intervals, spread evenly from the first to the last; all of them if there are no more.

    The newest is always one of them: it holds the most rows where a business grows. Neighbours touch, so they are one
    range. Raises ValueError when n is less than 1.

    >>> from backfill_assets.core.intervals import Interval
    >>> str(evenly_spaced(Ranges((Interval.of("2024-01-01", "2024-01-10"),)), Cadence.DAILY, 3))
    '2024-01-01, 2024-01-05, 2024-01-09'
    """
    if n < 1:
        raise ValueError(f"a sample has at least one interval, not {n}")
    every = list(intervals.split(cadence))
    if n >= len(every):
        return intervals
    last = len(every) - 1
    return Ranges.of(every[last - last * i // max(n - 1, 1)] for i in range(n))


def cut(stage: Build, intervals: Ranges, project: Project, plan: Plan) -> Build:
    """A stage that builds these of its intervals only."""
    model = project.models[stage.model]
    return replace(
        stage,
        intervals=intervals,
        count=intervals.count(model.cadence),
        batches=batches_apart(model, intervals, plan.now, plan.copies.get(stage.model, NO_COPY)),
        open=stage.open & intervals,
    )
