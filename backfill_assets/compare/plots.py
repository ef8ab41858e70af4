"""What does a plot of a diff show? Plain numbers by day, old beside new, for whoever draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from backfill_assets.compare.diff import ModelDiff, Value, most_moved, sum_number

MOVED_BETWEEN = 0.2
"""Days' deltas that cancel out to no more than this part of themselves are values that went from day to day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSums:
    """The sums of a column by day. A day that a side has no rows of is None there; `changed` counts rows."""

    model: str
    column: str
    days: tuple[str, ...]
    old: tuple[float | None, ...]
    new: tuple[float | None, ...]
    changed: tuple[int, ...]

    @property
    def deltas(self) -> tuple[float, ...]:
        """New minus old, a missing day being 0."""
        return tuple((n or 0.0) - (o or 0.0) for o, n in zip(self.old, self.new, strict=True))

    @property
    def between_days(self) -> bool:
        """Whether the sums of single days differ much and their total hardly does: what a wrong time zone, or another
        cut of the day, looks like."""
        amount = math.fsum(map(abs, self.deltas))
        moved_days = sum(d != 0 for d in self.deltas)
        return moved_days > 1 and abs(math.fsum(self.deltas)) <= MOVED_BETWEEN * amount

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "model": self.model,
            "column": self.column,
            "days": list(self.days),
            "old": list(self.old),
            "new": list(self.new),
            "delta": list(self.deltas),
            "changed": list(self.changed),
            "between_days": self.between_days,
        }


def plot_series(model: ModelDiff, *, at_most: int = 6, columns: Sequence[str] = ()) -> tuple[ColumnSums, ...]:
    """The columns that moved, as they are worth a plot: most moved first, `columns` before all. Numbers only."""
    found: list[ColumnSums] = []
    for column in most_moved(model, at_most, columns):
        moves = [(g, g.move(column.name)) for g in model.days]
        found.append(
            ColumnSums(
                model=model.model,
                column=column.name,
                days=tuple(g.name or "" for g, _ in moves),
                old=tuple(_sum(m.old.sum) if m and m.old else None for _, m in moves),
                new=tuple(_sum(m.new.sum) if m and m.new else None for _, m in moves),
                changed=tuple(m.changed if m else 0 for _, m in moves),
            )
        )
    return tuple(found)


def _sum(value: Value) -> float | None:
    found = None if value is None else float(sum_number(value))
    return found if found is None or math.isfinite(found) else None
