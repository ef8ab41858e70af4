"""What is known of a table with a time column that a query reads?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTable:
    """Its time column, and all columns. `cadence`: of a model; None of a source."""

    time: str
    columns: Sequence[Column]
    cadence: Cadence | None = None

    def type(self, column: str) -> str:
        """The column's Spark SQL type; "" where it is unknown."""
        return next((c.type or "" for c in self.columns if c.name.lower() == column.lower()), "")

    @property
    def other_times(self) -> list[str]:
        """Its other columns that are times, as far as their types are known."""
        names = (c.name for c in self.columns if (c.type or "").startswith(("date", "timestamp")))
        return [name for name in names if name.lower() != self.time.lower()]
