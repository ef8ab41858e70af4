"""Which provisional rows does no routine run build again, though their sources changed? What reads them stays."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.patch import restatement
from backfill_assets.promote.settled import may_change, why_it_stays
from backfill_assets.watch.before_restating import before_restating
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind


def held_by_readers(look: WatchFacts, model: Model, intervals: Ranges) -> dict[Interval, Mapping[str, Ranges]]:
    """What of these no routine run builds again, as something that reads it stays: what of which readers."""
    found: dict[Interval, Mapping[str, Ranges]] = {}
    for part in intervals.split(model.cadence):
        patches = restatement(look.project, look.environment, [(model.name, part)], {}, look.now, {})
        closed = {n: p.intervals - may_change(look.project, look, n) for n, p in patches.items() if n != model.name}
        if staying := {name: over for name, over in closed.items() if over}:
            found[part] = staying
    return found


def staying_notice(look: WatchFacts, model: Model, held: Mapping[Interval, Mapping[str, Ranges]]) -> Notice:
    """What to do about it."""
    intervals = Ranges.of(held)
    names = dict.fromkeys(name for staying in held.values() for name in staying)
    readers = {name: Ranges.of(i for staying in held.values() for i in staying.get(name, NOTHING)) for name in names}
    patches = restatement(look.project, look.environment, [(model.name, part) for part in intervals], {}, look.now, {})
    arguments = restate_argument(model.name, intervals)
    why = "; ".join(why_it_stays(look.project, look, name, there) for name, there in readers.items())
    return Notice(
        kind=NoticeKind.LATE,
        model=model.name,
        intervals=intervals,
        what=f"its sources changed, and no routine run builds it again, as what belongs to it stays ({why})",
        remedy=before_restating(look, patches)
        + f"{restate_command(arguments)}, then backfill promote PLAN, which it names",
        downstream={name: patch.intervals for name, patch in patches.items() if name != model.name},
        restate=arguments,
    )
