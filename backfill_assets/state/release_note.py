"""What is said of a release, beside which pointers it moved? It is written in the commit that moves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from backfill_assets.core.intervals import Ranges, utc


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseNote:
    """What the record of a release says of it."""

    by: str = ""
    """Who released."""
    back_to: str = ""
    """For a rollback, the release that it goes back to."""
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plan, and the release itself → the digest of its packet."""
    compaction: bool = False
    """Whether it points at copies: no row is another one."""
    rules: Mapping[str, object] = field(default_factory=dict[str, object])
    """Which rules were in force (`RulesInForce.to_json`); empty in releases of earlier versions."""
    at_once: bool = False
    """For a rollback: whether it took losses, or rows that nobody vouches for, into the bargain (`--now`)."""
    changed: Mapping[str, Ranges] | None = None
    """The published intervals that have other rows by it, as the gate judged it by batches and commits; None: nobody
    looked, as in records of earlier releases."""
    clock: datetime | None = None
    """The project's clock, by which intervals were over; None in releases of earlier versions."""
    settling: bool = False
    """Whether a routine run replaced provisional intervals by it: no change that anybody decided on."""
    pin: Mapping[str, object] = field(default_factory=dict[str, object])
    """In a pinned consumer's environment: what it is kept on (`state/pinned.py`); empty when that is over."""

    def to_json(self) -> dict[str, object]:
        said: dict[str, object] = {
            "by": self.by,
            "back_to": self.back_to,
            "evidence": dict(self.evidence),
            "compaction": self.compaction,
        }
        said |= {"rules": dict(self.rules)} if self.rules else {}
        said |= {"at_once": True} if self.at_once else {}
        if self.changed is not None:
            said["changed"] = {name: ranges.to_plain() for name, ranges in self.changed.items() if ranges}
        said |= {"clock": self.clock.isoformat()} if self.clock is not None else {}
        said |= {"settling": True} if self.settling else {}
        said |= {"pin": dict(self.pin)} if self.pin else {}
        return said


UNSIGNED = ReleaseNote()
"""Of a release that nobody says anything of."""


def note_from_json(said: Mapping[str, Any]) -> ReleaseNote:
    """What `to_json` wrote, here or in an earlier version."""
    changed = said.get("changed")
    return ReleaseNote(
        by=said["by"],
        back_to=said["back_to"],
        evidence=said.get("evidence", {}),
        compaction=said.get("compaction", False),
        rules=said.get("rules", {}),
        at_once=said.get("at_once", False),
        changed=None if changed is None else {name: Ranges.of_plain(ranges) for name, ranges in changed.items()},
        clock=utc(said["clock"]) if said.get("clock") else None,
        settling=said.get("settling", False),
        pin=said.get("pin", {}),
    )
