"""Which days were asked to be restated, and are not shown? There is nothing to compute again: the plan says so."""

from __future__ import annotations

from collections.abc import Iterator

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.plan.select import asked_of_each
from backfill_assets.plan.stages import PlanWarning, Request


def not_shown(project: Project, facts: Facts, request: Request) -> Iterator[PlanWarning]:
    """A warning for each model of which days were named that lie before the last one that is shown, and are not shown
    themselves. What comes later is not over, or somebody else's: ranges are often written with an end to come."""
    named = [(name, days) for name, days in request.restate if days.start != ALL_TIME.start]  # else: all that is shown
    for name, ranges in asked_of_each(project, named).items():
        model, shown = project.models[name], facts.environment.pointers[name].covers
        assert shown.span is not None
        if left := (ranges - shown) & Ranges((Interval(ALL_TIME.start, shown.span.end),)):
            yield PlanWarning(
                model=name,
                place=model.path.relative_to(project.root).as_posix(),
                what=f"{name} {left} is not restated",
                why=f"{facts.environment.name} shows {shown} of it: there is nothing to compute again",
                fix="for days that were never built: let the model's `start` begin with them, then backfill apply",
            )
