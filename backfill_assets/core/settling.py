"""How long may rows of a model's intervals still come, after these are over? What it declares, and what it reads."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Model, Project, Source

_LONGEST = {
    Cadence.HOURLY: timedelta(hours=1),
    Cadence.DAILY: timedelta(days=1),
    Cadence.WEEKLY: timedelta(weeks=1),
    Cadence.MONTHLY: timedelta(days=31),
}


def longest_interval(cadence: Cadence) -> timedelta:
    """How long an interval can be."""
    return _LONGEST[cadence]


def settling_windows(project: Project) -> Mapping[str, timedelta]:
    """As `windows_of`, of a project."""
    return windows_of(project.models, project.sources)


def windows_of(models: Mapping[str, Model], sources: Mapping[str, Source]) -> Mapping[str, timedelta]:
    """The settling window of each model that has one: its own, or the longest of what it reads, if that is longer.

    A day that reads a whole month upstream is not settled before the month is, which ends up to 31 days after it; a
    local day that reads two days of UTC, not before the second one.
    """
    found: dict[str, timedelta] = {}
    for name, model in models.items():
        longest = timedelta(seconds=model.settle)
        for upstream in model.upstreams:
            if (source := sources.get(upstream.name)) is not None:
                longest = max(longest, timedelta(seconds=source.settle))
            elif upstream.name in found:
                above = models[upstream.name]
                late = _LONGEST[above.cadence] > _LONGEST[model.cadence] or above.time_zone != model.time_zone
                longer = _LONGEST[above.cadence] if late else timedelta()
                longest = max(longest, found[upstream.name] + longer)
        if longest:
            found[name] = longest
    return found
