"""What can go, and how does it go? Tables that nothing reaches and nobody used for the retention; nothing else deletes.

A table is marked before it is deleted, in a commit to the table of pointers: whoever wants to point at it finds another
revision and is refused. Builds write down that they begin, then look whether their table is marked; the janitor marks,
then looks whether anybody has begun. So one of the two sees the other (docs/decisions/0013).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import ConflictError, too_busy
from backfill_assets.promote.reachable import VersionKey, reachable
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import Release
from backfill_assets.state.removals import Removal
from backfill_assets.state.tables import StoredTable, TableStorage
from backfill_assets.state.versions import Version

RUNS_FOR = timedelta(hours=24)
"""How long a batch that began and did not end is taken to be running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTable:
    """A table that stays, and why. `until` is set when only its age keeps it."""

    table: StoredTable
    why: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageTable:
    """A table that nothing needs, and since when nobody has used it."""

    table: StoredTable
    why: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """What the janitor finds. `unknown` are folders that no record knows: they are left alone."""

    revision: int
    goes: tuple[GarbageTable, ...]
    kept: tuple[KeptTable, ...]
    unknown: tuple[StoredTable, ...]
    unfinished: tuple[Removal, ...]
    """Removals that a janitor began who is not there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """What the janitor did."""

    removed: tuple[Removal, ...]
    unmarked: tuple[Removal, ...]
    """Somebody came to need these while the janitor was about to delete them."""


def find_unreachable(control: Control, storage: TableStorage, *, now: datetime, retention: timedelta) -> Unreachable:
    """What would go and what stays. `now` decides about ages, the real clock about who is at work. Changes nothing."""
    # Before everything else: what moves from here on is seen by `mark_for_deletion`.
    revision = control.environments.revision()
    removals = control.removals.all()
    needed = _needed(control, now - retention)
    used = _last_used(control)
    goes: list[GarbageTable] = []
    kept: list[KeptTable] = []
    unknown: list[StoredTable] = []
    for stored in storage.tables():
        table = stored.model, stored.version
        removal = removals.get(table)
        if removal and not removal.done:
            continue  # it is being removed
        if table in needed:
            kept.append(KeptTable(table=stored, why=needed[table]))
        elif table not in used:
            unknown.append(stored)
        elif (until := used[table] + retention) > now:
            kept.append(KeptTable(table=stored, why=f"used at {used[table]:%Y-%m-%d %H:%M} UTC", until=until))
        else:
            why = "no environment shows it, no open plan leads to it, no release can go back to it"
            goes.append(GarbageTable(table=stored, why=why, since=used[table]))
    real = datetime.now(UTC)
    return Unreachable(
        revision=revision,
        goes=tuple(goes),
        kept=tuple(kept),
        unknown=tuple(unknown),
        unfinished=tuple(r for r in removals.values() if not r.done and not r.owned(now=real)),
    )


def sweep(control: Control, storage: TableStorage, *, now: datetime, retention: timedelta, by: str) -> Cleanup:
    """Remove what can go, and what an interrupted janitor left. Killed anywhere, the next one goes on."""
    for _ in attempts():
        found = find_unreachable(control, storage, now=now, retention=retention)
        doomed = {(g.table.model, g.table.version): (g.why, g.table.bytes) for g in found.goes}
        try:
            begun = control.removals.mark_for_deletion(doomed, revision=found.revision, by=by)
            break
        except ConflictError:  # an environment moved: look again what is needed
            continue
    else:
        raise too_busy("environments are too busy")
    needed = _needed(control, now - retention)
    pardoned = [r for r in begun if r.table in needed]
    control.removals.unmark(pardoned)
    # What another one began may be half gone: whoever wants it meanwhile was refused, and builds it anew.
    removed = [r for r in begun if r.table not in needed] + control.removals.take_over(found.unfinished)
    for removal in removed:
        storage.remove(removal.model, removal.version)
        control.removals.finish(removal)
    return Cleanup(removed=tuple(removed), unmarked=tuple(pardoned))


def _needed(control: Control, since: datetime) -> dict[VersionKey, str]:
    """The tables that must stay whatever their age, and why."""
    environments = [control.environments.read(name) for name in control.environments.names()]
    recent = [r for r in control.releases.everywhere() if r.at >= since]
    found = reachable(environments, control.plans.all(), control.versions.all(), recent)
    return _running(control.ledger.entries(), datetime.now(UTC)) | found


def _running(entries: Iterable[Entry], now: datetime) -> dict[VersionKey, str]:
    begun: dict[str, Entry] = {}
    ended: set[str] = set()
    for entry in entries:
        if entry.kind is Kind.STARTED:
            begun[entry.batch] = entry
        elif entry.batch:
            ended.add(entry.batch)
    return {
        (e.model, e.version): f"a batch of it runs since {e.at:%Y-%m-%d %H:%M} UTC"
        for batch, e in begun.items()
        if batch not in ended and now - e.at < RUNS_FOR
    }


def _last_used(control: Control) -> dict[VersionKey, datetime]:
    """When each table was last written to, shown, or a plan's: from records, not from files."""
    used: dict[VersionKey, datetime] = {}
    for table, at in _uses(
        control.versions.all().values(),
        control.ledger.entries(),
        control.plans.all(),
        control.releases.everywhere(),
    ):
        used[table] = max(used.get(table, at), at)
    return used


def _uses(
    versions: Collection[Version], entries: Iterable[Entry], plans: Iterable[PlanRecord], releases: Iterable[Release]
) -> Iterable[tuple[VersionKey, datetime]]:
    yield from (((v.model, v.version), v.created) for v in versions)
    yield from (((e.model, e.version), e.at) for e in entries)
    yield from (((t.model, t.version), p.since) for p in plans for t in p.targets)
    for release in releases:
        for move in release.moves:
            for pointer in (move.before, move.after):
                yield from (((move.model, s.version), release.at) for s in (pointer.segments if pointer else ()))
