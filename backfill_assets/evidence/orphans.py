"""Which packets belong to nothing? One is written before its release moves; when that does not move, it stays behind.

Packets of releases and of plans are history: the janitor never removes them. What it removes is a release's packet that
no release has the name of, and the packet of a further release of a plan that has ended without one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from backfill_assets.evidence.write import FILES, KEYS, MANIFEST, RELEASE_FILES
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import Release

UNDER_WAY = timedelta(hours=24)
"""So long nothing is taken for left behind, whatever the retention: its release may be about to move."""
_OURS = frozenset({*FILES, *RELEASE_FILES, KEYS, MANIFEST})


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFolder:
    """A folder of `evidence/`: its name, its files, their size together, and when the newest was written."""

    name: str
    files: tuple[str, ...]
    bytes: int
    written: datetime


def orphans(
    folders: Iterable[PacketFolder], releases: Collection[Release], plans: Collection[PlanRecord], *, before: datetime
) -> tuple[PacketFolder, ...]:
    """The packets that no release and no plan refers to, written before an instant. `releases` are of all environments.

    A folder that holds anything but a packet's files is somebody's: it is left alone.
    """
    kept = {r.id for r in releases} | {p.id for p in plans}
    known, live = {p.id for p in plans}, {p.id for p in plans if p.live}

    def refers(folder: PacketFolder) -> bool:
        plan, _, number = folder.name.rpartition("-")
        if folder.name in kept or any(folder.name in r.evidence for r in releases):
            return True
        if plan not in known or not number.isdigit():
            return False
        return plan in live or int(number) <= sum(plan in r.evidence for r in releases)

    return tuple(f for f in folders if f.files and _OURS.issuperset(f.files) and f.written < before and not refers(f))
