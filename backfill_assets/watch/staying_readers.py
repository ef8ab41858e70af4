"""Which provisional rows does no routine run build again, though their sources changed? What belongs to them stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.plan.patch import Patch, restatement
from backfill_assets.promote.settled import may_change, what_stays, why_it_stays
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.late_notice import late_notice
from backfill_assets.watch.notice import Notice

Held = Mapping[Interval, Mapping[str, Ranges]]
"""Interval → what stays, of which models, so that no routine run builds it again."""


def held_by_readers(look: WatchFacts, waiting: Mapping[str, Ranges]) -> dict[str, Held]:
    """Model → what of its intervals that wait for a routine run none builds again: what reads them stays, or what is
    read beside them, which stays as something else reads it."""
    patches = _restated(look, [(name, part) for name, parts in waiting.items() for part in parts])
    stays = what_stays(look.project, look, patches)
    closed = {n: over for n, part in stays.items() if (over := part - may_change(look.project, look, n))}
    found: dict[str, Held] = {}
    for name, parts in waiting.items():
        held: dict[Interval, Mapping[str, Ranges]] = {}
        for part in (parts & stays.get(name, NOTHING)).split(look.project.models[name].cadence):
            readers = {n: p.intervals & closed.get(n, NOTHING) for n, p in _restated(look, [(name, part)]).items()}
            held[part] = {n: over for n, over in readers.items() if n != name and over} or closed
        found[name] = held
    return found


def _restated(look: WatchFacts, parts: Sequence[tuple[str, Interval]]) -> dict[str, Patch]:
    return restatement(look.project, look.environment, parts, {}, look.now, {}) if parts else {}


def staying_notice(look: WatchFacts, model: Model, held: Held) -> Notice:
    """What to do about it."""
    names = dict.fromkeys(name for staying in held.values() for name in staying)
    readers = {name: Ranges.of(i for staying in held.values() for i in staying.get(name, NOTHING)) for name in names}
    why = "; ".join(why_it_stays(look.project, look, name, there) for name, there in readers.items())
    what = f"its sources changed, and no routine run builds it again, as what belongs to it stays ({why})"
    intervals = Ranges.of(held)
    return late_notice(look, model.name, intervals, what, restated=intervals)
