"""Which rows of a model were computed from other rows than the renamed model beside it has, that it reads by now?

A model under another name is built from nothing, perhaps later, when its sources had other rows: those of the old name
are others then where they are late, or computed from older rows of what they read, and those of the new name are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stale_inputs import shown_parts, stale_inputs
from backfill_assets.state.versions import Version
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.late import late_intervals


def other_rows(look: WatchFacts, version: Version) -> Ranges:
    """What is shown of a version that reads other models by now, and was computed from others of their rows. `look`
    is as before that is recorded."""
    found = NOTHING
    for old, new in _renamed(version):
        if {old, new} <= look.project.models.keys() and {old, new, version.model} <= look.environment.pointers.keys():
            found = found | _of_pair(look, version.model, old, new)
    return found


def _renamed(version: Version) -> Iterator[tuple[str, str]]:
    """What it reads no more, each with what it reads in its place."""
    was, now = version.before.upstream if version.before else {}, version.upstream
    added = [name for name in now if name not in was]
    for old, of in was.items():
        if old not in now:
            same = [name for name in added if now[name] == logic_of(of)]
            yield from ((old, new) for new in same or added)


def _of_pair(look: WatchFacts, reader: str, old: str, new: str) -> Ranges:
    models, pointers = look.project.models, look.environment.pointers
    near = {reader, old, new, *(u.name for name in (old, new) for u in models[name].upstreams)}
    beside = replace(look.environment, pointers={n: p for n, p in pointers.items() if n in near})
    stale = stale_inputs(look.project, beside, look.entries)

    def behind(name: str) -> Ranges:
        return Ranges.of(part for s in stale if s.model == name for part in s.intervals) | late_intervals(look, name)

    own = [part for s in stale if (s.model, s.upstream) == (reader, old) for part in s.intervals]
    others = [affected_interval(models[reader], models[old], part) for part in behind(old) - behind(new)]
    read = (part for _, part, entry in shown_parts(look.entries, pointers[reader]) if old in (entry.inputs or {}))
    return Ranges.of([*own, *others]) & Ranges.of(read)
