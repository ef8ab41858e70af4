"""Which intervals of which other versions does a restatement reach? By what each version said that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.digest import digest
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.segments import NO_ROWS, Segment, Segments, logic_of
from backfill_assets.plan.patch import Patch, affected_by
from backfill_assets.plan.stages import Invalidate
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage, Entry, Kind
from backfill_assets.state.versions import Version, VersionKey, built_from


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltVersion:
    """A version that was built at some time: what is there of it, and what was invalidated with which reason."""

    record: Version
    have: Coverage
    invalidated: Mapping[str, Ranges]

    @property
    def calendar(self) -> Calendar:
        return Calendar.of_definition(self.record.definition)

    @property
    def lookback(self) -> int:
        return int(cast(Any, self.record.definition.get("lookback", 0)))


def invalidated(entries: Iterable[Entry]) -> dict[str, Ranges]:
    """Reason → what was invalidated for it."""
    found: dict[str, list[Interval]] = {}
    for entry in entries:
        if entry.kind is Kind.INVALIDATED:
            found.setdefault(entry.reason, []).append(entry.interval)
    return {reason: Ranges.of(parts) for reason, parts in found.items()}


def shown_segments(environments: Iterable[Environment]) -> dict[VersionKey, Segments]:
    """What these environments show of each version's table."""
    found: dict[VersionKey, list[Segment]] = {}
    for environment in environments:
        for name, pointer in environment.pointers.items():
            for segment in pointer.segments:
                found.setdefault((name, segment.version), []).append(segment)
    return {table: Segments(segments) for table, segments in found.items()}


def invalidations(
    restate: Sequence[tuple[str, Interval]],
    patches: Mapping[str, Patch],
    versions: Mapping[VersionKey, BuiltVersion],
    shown: Mapping[VersionKey, Segments],
) -> tuple[Invalidate, ...]:
    """What is built of versions, other than the patches' own, that the restated intervals reach through all that they
    read; without what is shown at the commit that it was built in, and what was invalidated for this before.

    What the patches lie over stays: it is under them, and whoever promotes the next days wants it complete.
    """
    own = {(name, patch.version) for name, patch in patches.items()}
    under = {(n, logic_of(p.version)): p.below.covers for n, p in patches.items()}
    named = ", ".join(f"{name} {interval}" for name, interval in restate)
    reason = f"all versions of {named} are restated ({digest(*sorted(p.version for p in patches.values()))[:8]})"
    days = {n: there.calendar for n, p in patches.items() if (there := versions.get((n, logic_of(p.version))))}
    reached: dict[VersionKey, Ranges] = {}
    found: list[Invalidate] = []
    for key in sorted(versions):
        there = versions[key]
        if key in own:
            continue
        again = _reached(key, restate, days, versions, reached) - under.get(key, Ranges())
        built = [
            part for part, entry in there.have.batches(again) if not is_shown(part, entry, shown.get(key, NO_ROWS))
        ]
        if left := Ranges.of(built) - there.invalidated.get(reason, Ranges()):
            found.append(
                Invalidate(
                    model=key[0],
                    version=key[1],
                    intervals=left,
                    count=left.count(there.calendar.cadence),
                    reason=reason,
                )
            )
    return tuple(found)


def _reached(
    key: VersionKey,
    restate: Sequence[tuple[str, Interval]],
    days: Mapping[str, Calendar],
    versions: Mapping[VersionKey, BuiltVersion],
    known: dict[VersionKey, Ranges],
) -> Ranges:
    """The version's intervals that are restated, or read any that is. A revision is reached as its logic is. `days`:
    those by which a model is restated."""
    if key not in known:
        there = versions[key]
        own = there.calendar
        again = [own.seen_from(days.get(name, own), interval) for name, interval in restate if name == key[0]]
        parts = [part for part in again if part is not None]
        for upstream in built_from(there.record):
            if upstream in versions:
                above = _reached(upstream, restate, days, versions, known)
                read = versions[upstream].calendar
                parts += [affected_by(own, there.lookback, read, part) for part in above]
        known[key] = Ranges.of(parts)
    return known[key]


def is_shown(part: Interval, entry: Entry, segments: Segments) -> bool:
    """Whether what a batch wrote is shown by these segments of its table."""
    return any(part in Ranges((s.interval,)) and entry.table_commit <= s.commit for s in segments)
