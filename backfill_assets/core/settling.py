"""How long may rows of a model's intervals still come, after these are over? What it declares, and what it reads."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Model, Source

LONGEST = {
    Cadence.HOURLY: timedelta(hours=1),
    Cadence.DAILY: timedelta(days=1),
    Cadence.WEEKLY: timedelta(weeks=1),
    Cadence.MONTHLY: timedelta(days=31),
}
"""How long an interval can be."""


def settling_windows(models: Mapping[str, Model], sources: Mapping[str, Source]) -> Mapping[str, timedelta]:
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
                late = LONGEST[above.cadence] > LONGEST[model.cadence] or above.time_zone != model.time_zone
                longer = LONGEST[above.cadence] if late else timedelta()
                longest = max(longest, found[upstream.name] + longer)
        if longest:
            found[name] = longest
    return found
