"""Which rows does a plan copy instead of computing them? Rows that are shown, under the new names of their columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.segments import NO_ROWS, Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Rows of a new version that are read from what is shown, instead of being computed."""

    version: str = ""
    """The new one."""
    segments: Segments = NO_ROWS
    """Where they are shown: tables and commits."""
    columns: tuple[tuple[str, str], ...] = ()
    """Every column of the new version, lower-cased: as it is called there, and as it is called now."""

    @property
    def covers(self) -> Ranges:
        """The time that is copied."""
        return self.segments.covers

    @property
    def renamed(self) -> tuple[tuple[str, str], ...]:
        """The columns (old, new) that have another name now."""
        return tuple((old, new) for old, new in self.columns if old != new)

    def cut(self, to: Ranges) -> Copied:
        """What is copied within these ranges."""
        return replace(self, segments=self.segments.cut(to))


NO_COPY = Copied()
"""All of it is computed."""
