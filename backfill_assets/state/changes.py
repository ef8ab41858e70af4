"""What did a MERGE do to rows? Counts that tell how much really changed, and how much was rewritten for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Rows by what became of them. `copied` ones did not change, and were rewritten because they share a file."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    copied: int = 0

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            inserted=self.inserted + other.inserted,
            updated=self.updated + other.updated,
            deleted=self.deleted + other.deleted,
            copied=self.copied + other.copied,
        )

    def __str__(self) -> str:
        """In words.

        >>> str(Changes(updated=3, copied=1200)), str(Changes())
        ('0 inserted, 3 updated, 0 deleted; 1,200 unchanged rows copied', 'no row changed')
        """
        if self == Changes():
            return "no row changed"
        said = f"{self.inserted:,} inserted, {self.updated:,} updated, {self.deleted:,} deleted"
        return said + (f"; {self.copied:,} unchanged rows copied" if self.copied else "")
