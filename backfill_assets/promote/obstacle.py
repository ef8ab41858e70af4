"""What is in the way of a release? One thing each, with its remedy."""

from __future__ import annotations

from dataclasses import dataclass

from backfill_assets.core.intervals import NOTHING, Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One thing in the way of a promotion. `intervals` may be empty when it is not about intervals."""

    model: str
    what: str
    intervals: Ranges = NOTHING
    remedy: str

    def __str__(self) -> str:
        at = f" {self.intervals}" if self.intervals else ""
        return f"{self.model}: {self.what}{at}\n  fix: {self.remedy}"
