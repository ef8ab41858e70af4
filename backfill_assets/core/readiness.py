"""What does a model wait for? For the ticks of its own cron expression, and for those of all that it reads; one of
local days for the ends of the days and hours of UTC that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Model


def with_readiness(models: Mapping[str, Model]) -> dict[str, Model]:
    """The models (given in dependency order), each with what it waits for of what it reads."""
    found: dict[str, Model] = {}
    for name, model in models.items():
        above = [found[u.name] for u in model.upstreams if u.name in found]
        crons = tuple(sorted({cron for upstream in above for cron in upstream.crons}))
        longest = _longest([u.cadence if u.time_zone != model.time_zone else u.upstream_cadence for u in above])
        if (crons, longest) != (model.upstream_ready, model.upstream_cadence):
            model = replace(model, upstream_ready=crons, upstream_cadence=longest)
        found[name] = model
    return found


def _longest(cadences: Sequence[Cadence | None]) -> Cadence | None:
    return max((c for c in cadences if c is not None), key=list(Cadence).index, default=None)
