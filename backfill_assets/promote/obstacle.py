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

    @property
    def text(self) -> str:
        """What it is, and where, in one line."""
        return f"{self.model}: {self.what}{f' {self.intervals}' if self.intervals else ''}"

    def __str__(self) -> str:
        return f"{self.text}\n  fix: {self.remedy}"
