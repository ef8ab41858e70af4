"""What does a model wait for? For the ticks of its own cron expression, and for those of all that it reads; for the
ends of longer intervals that it reads; one of local days for the ends of the days and hours of UTC that it reads."""

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
        others = [u for u in above if u.time_zone != model.time_zone]
        same = [u for u in above if u.time_zone == model.time_zone]
        longest = _longest([*(c for u in others for c in (u.cadence, *u.longer)), *(u.upstream_cadence for u in same)])
        read = {c for u in same for c in (*([] if u.end else [u.cadence]), *u.longer)}
        longer = tuple(c for c in Cadence if c in read and not _ends_within(c, model.cadence))
        if (crons, longest, longer) != (model.upstream_ready, model.upstream_cadence, model.longer):
            model = replace(model, upstream_ready=crons, upstream_cadence=longest, longer=longer)
        found[name] = model
    return found


def _ends_within(one: Cadence, other: Cadence) -> bool:
    """Whether each interval of one cadence lies in one of the other."""
    order = list(Cadence)
    return order.index(one) <= order.index(other) and (one, other) != (Cadence.WEEKLY, Cadence.MONTHLY)


def _longest(cadences: Sequence[Cadence | None]) -> Cadence | None:
    return max((c for c in cadences if c is not None), key=list(Cadence).index, default=None)
