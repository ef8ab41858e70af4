"""Do the sources have rows for what is to be built? Where they have none, the plan says so before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.stages import Build, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncovered:
    """Intervals that a plan builds of a model, in which a source that it reads has no rows at all."""

    model: str
    source: str
    intervals: Ranges
    count: int
    has: Ranges
    """From the source's first row to its last; empty when it has none."""


def uncovered(project: Project, plan: Plan, days: Mapping[str, Ranges]) -> tuple[Uncovered, ...]:
    """What the plan's closed intervals lack. `days` are the times that sources have rows for, where it is known."""
    found: list[Uncovered] = []
    for stage in plan.stages:
        if not isinstance(stage, Build):
            continue
        model = project.models[stage.model]
        for upstream in model.upstreams:
            if upstream.name not in days:
                continue
            there = days[upstream.name]
            touched = Ranges.of(model.calendar.meeting(part) for part in there)
            if lacking := stage.intervals - stage.open - touched:
                found.append(
                    Uncovered(
                        model=stage.model,
                        source=upstream.name,
                        intervals=lacking,
                        count=lacking.count(model.cadence),
                        has=Ranges((there.span,)) if there.span else there,
                    )
                )
    return tuple(found)
