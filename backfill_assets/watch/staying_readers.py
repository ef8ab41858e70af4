"""Which provisional rows does no routine run build again, though their sources changed? What reads them stays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.plan.patch import restatement
from backfill_assets.promote.settled import may_change, why_it_stays
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.late_notice import late_notice
from backfill_assets.watch.notice import Notice


def held_by_readers(look: WatchFacts, model: Model, intervals: Ranges) -> dict[Interval, Mapping[str, Ranges]]:
    """What of these no routine run builds again, as something that reads it stays: what of which readers."""
    found: dict[Interval, Mapping[str, Ranges]] = {}
    may = cache(lambda name: may_change(look.project, look, name))
    for part in intervals.split(model.cadence):
        patches = restatement(look.project, look.environment, [(model.name, part)], {}, look.now, {})
        closed = {name: p.intervals - may(name) for name, p in patches.items() if name != model.name}
        if staying := {name: over for name, over in closed.items() if over}:
            found[part] = staying
    return found


def staying_notice(look: WatchFacts, model: Model, held: Mapping[Interval, Mapping[str, Ranges]]) -> Notice:
    """What to do about it."""
    names = dict.fromkeys(name for staying in held.values() for name in staying)
    readers = {name: Ranges.of(i for staying in held.values() for i in staying.get(name, NOTHING)) for name in names}
    why = "; ".join(why_it_stays(look.project, look, name, there) for name, there in readers.items())
    what = f"its sources changed, and no routine run builds it again, as what belongs to it stays ({why})"
    intervals = Ranges.of(held)
    return late_notice(look, model.name, intervals, what, restated=intervals)
