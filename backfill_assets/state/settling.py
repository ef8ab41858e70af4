"""Which published intervals may still change, because rows of them are still to come? Those that are *provisional*.

By the settling windows that the rules in force give, and a clock that never goes back. What was settled once stays so:
a longer window holds for intervals that end after the first release under it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.state.control import Control
from backfill_assets.state.last_change import undone_by
from backfill_assets.state.releases import Release
from backfill_assets.state.rules import RulesKind, RulesRecord, newest_rules
from backfill_assets.state.versions import Version

LAST_LOOK = timedelta(days=1)
"""Routine runs come once a day: the one after the window reads the last rows that came within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """Where the provisional intervals of an environment's models begin."""

    clock: datetime
    """The latest instant that this machine, or any release, knows of."""
    behind: bool = False
    """Whether this machine's clock is behind a release's: nobody knows then what is over, so nothing changes."""
    since: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """Model → the instant after which its intervals that end are provisional. Others have none."""
    since_days: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """The same of local days. Rows of these come as long as the source says of the days of UTC that they end in."""
    reach: Mapping[str, timedelta] = field(default_factory=dict[str, timedelta])
    """Model → its window: how far back rows that come now may belong."""
    went_back: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Model → what a rollback has put there, and nobody has changed since, or undone: it stays."""

    def provisional(self, model: str, calendar: Calendar, shown: Ranges) -> Ranges:
        """What of a model's shown intervals is not settled; what somebody has gone back to stays as it is."""
        since = self.after(model, calendar)
        if since is None:
            return NOTHING
        return shown - shown.until(calendar.over(since)) - self.went_back.get(model, NOTHING)

    def after(self, model: str, calendar: Calendar) -> datetime | None:
        """The instant after which a model's intervals that end are provisional; None: it has none."""
        return (self.since_days if calendar.time_zone else self.since).get(model)

    def open_to_change(self, model: str, calendar: Calendar, shown: Ranges) -> Ranges:
        """The part of `shown` that is in the model's settling window; nothing while this clock is behind."""
        return NOTHING if self.behind else self.provisional(model, calendar, shown)


def settling(control: Control, environment: str, now: datetime) -> Settling:
    """Which published intervals are provisional, by the records of an environment. Raises StateError when its rules are
    not what was written."""
    return settling_by(control.rules.of(environment), control.releases.all(environment), now)


def shown_calendar(pointer: Pointer, versions: Mapping[tuple[str, str], Version]) -> Calendar:
    """The intervals of what a pointer shows; the longest ones where no version is recorded."""
    record = versions.get((pointer.model, pointer.version))
    return Calendar.of_definition(record.definition) if record else Calendar(Cadence.MONTHLY)


def settling_by(records: Sequence[RulesRecord], releases: Sequence[Release], now: datetime) -> Settling:
    """The same from its rules and its releases, each oldest first."""
    clocks = [r.clock for r in releases if r.clock is not None]
    clock = max([now, *clocks])
    newest = newest_rules(records)
    if newest is None or not newest.rules.settle:
        return Settling(clock=clock, behind=now < clock, went_back=_went_back(releases) if newest else {})
    held = [r for r in records if r.kind is not RulesKind.PROPOSED]

    def since(cut: Callable[[datetime], datetime]) -> dict[str, datetime]:
        ends = {model: _since(model, held, releases, clock, cut) for model in newest.rules.settle}
        return {model: end for model, end in ends.items() if end is not None}

    instants = since(lambda at: at)
    reach = {model: timedelta(seconds=newest.rules.settle[model]) for model in instants}
    return Settling(
        clock=clock,
        behind=now < clock,
        since=instants,
        since_days=since(Cadence.DAILY.floor),
        reach=reach,
        went_back=_went_back(releases),
    )


def _since(
    model: str,
    held: Sequence[RulesRecord],
    releases: Sequence[Release],
    clock: datetime,
    begins: Callable[[datetime], datetime],
) -> datetime | None:
    """The end after which a model's intervals are provisional; None where the rules in force let none be so. `begins`:
    of a window's beginning, the end that counts."""
    known = [r for r in held if model in r.rules.owners]  # before it was shown, nobody was promised anything
    window, found = float("inf"), None
    for record in reversed(known):
        window = min(window, record.rules.settle.get(model, 0))
        if not window:
            break
        cut = begins(clock - timedelta(seconds=window) - LAST_LOOK)
        if record is not known[0] or _shown_before(model, record, releases):
            began = _first_release(record.number, releases)
            cut = max(cut, began) if began is not None else None
        found = min(found, cut) if found is not None and cut is not None else cut or found
    return found


def _first_release(number: int, releases: Sequence[Release]) -> datetime | None:
    """The latest clock at the first release by a record or by one that came after it; None when there was none yet."""
    latest: datetime | None = None
    for release in releases:
        if release.clock is None:
            continue
        latest = max(latest or release.clock, release.clock)
        if _rules_of(release) >= number:
            return latest
    return None


def _shown_before(model: str, record: RulesRecord, releases: Sequence[Release]) -> bool:
    """Whether a release by earlier rules, or by none, has shown a model."""
    made = (r for r in releases if _rules_of(r) < record.number)
    return any(move.model == model and move.after is not None for r in made for move in r.moves)


def _rules_of(release: Release) -> int:
    return cast(int, release.rules.get("number", 0))


def _went_back(releases: Sequence[Release]) -> dict[str, Ranges]:
    """Whoever undoes a rollback goes back to what was gone back to before it, and to nothing else."""
    found: dict[str, Ranges] = {}
    before: dict[str, Mapping[str, Ranges]] = {}
    for release in releases:
        undone = None
        if release.back_to:
            before[release.id] = dict(found)
            undone = undone_by(release, releases, {m.model for m in release.moves})
        for move in release.moves:
            known = found.get(move.model, NOTHING)
            if move.compaction or not (known or release.back_to):  # nothing is there to be changed
                continue
            again = move.again
            stays = again if release.back_to else NOTHING
            if undone is not None:
                stays = again & before[undone.id].get(move.model, NOTHING)
            found[move.model] = (known - again) | stays
    return {model: ranges for model, ranges in found.items() if ranges}
