"""What does a model wait for? For the ticks of its own cron expression, and for those of all that it reads; for the
ends of longer intervals that it reads; one of local days for the ends of the days and hours of UTC that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

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
        apart = [c for u in others for c in (u.cadence, *chain.from_iterable(u.longer))]
        longest = _longest([*apart, *(u.upstream_cadence for u in same)])
        longer = _chains(model, [u for u in same if not u.end])
        if (crons, longest, longer) != (model.upstream_ready, model.upstream_cadence, model.longer):
            model = replace(model, upstream_ready=crons, upstream_cadence=longest, longer=longer)
        found[name] = model
    return found


def _chains(model: Model, upstreams: Sequence[Model]) -> tuple[tuple[Cadence, ...], ...]:
    """What a model waits for of upstreams, and of what these wait for, the nearest first: what ends within the interval
    before it in a chain is over with it."""
    found = set[tuple[Cadence, ...]]()
    for upstream in upstreams:
        for above in upstream.longer or ((),):
            kept, last = list[Cadence](), model.cadence
            for cadence in (upstream.cadence, *above):
                if not _ends_within(cadence, last):
                    kept.append(cadence)
                    last = cadence
            found.add(tuple(kept))
    return tuple(sorted(found - {()}, key=lambda one: [list(Cadence).index(cadence) for cadence in one]))


def _ends_within(one: Cadence, other: Cadence) -> bool:
    """Whether each interval of one cadence lies in one of the other."""
    order = list(Cadence)
    return order.index(one) <= order.index(other) and (one, other) != (Cadence.WEEKLY, Cadence.MONTHLY)


def _longest(cadences: Sequence[Cadence | None]) -> Cadence | None:
    return max((c for c in cadences if c is not None), key=list(Cadence).index, default=None)
