"""How did the values move? What the comparison of old and new data says, column by column and day by day."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from backfill_assets.evidence.shape import ModelPart, ProofPart

Numbers = tuple[float | None, ...]
Measure = Literal["rows", "total", "average"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChange:
    """A column of both sides that holds something else.

    `before` and `after` are totals of whole numbers and averages of others; None for what has neither.
    """

    column: str
    changed: int
    rows: int
    measure: Literal["total", "average"]
    before: float | None
    after: float | None

    @property
    def share(self) -> float | None:
        """How much larger it is now, relative to before; None where that says nothing."""
        if not self.before or self.after is None:
            return None
        return (self.after - self.before) / abs(self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One measure over time, old against new; None where a side has nothing. `starts` are ISO 8601."""

    name: str
    measure: Measure
    starts: tuple[str, ...]
    old: Numbers
    new: Numbers

    @property
    def fresh(self) -> bool:
        """Whether there is nothing to compare with: a new column."""
        return all(value is None for value in self.old)


def value_changes(diff: ProofPart | None, model: str) -> list[ValueChange]:
    """The columns that moved, the most changed rows first."""
    raw = compared(diff, model)
    if raw is None:
        return []
    total, kinds = raw["total"], {c["name"]: c["kind"] for c in raw["columns"]}
    both = {c["name"] for c in raw["columns"] if c["old_type"] and c["new_type"]}
    rows = int(total["rows"]["unchanged"]) + int(total["rows"]["changed"])
    found = [
        ValueChange(
            column=name,
            changed=m["changed"],
            rows=rows,
            measure=_MEASURES[kinds[name] == "integer"][0],
            before=_number(m["old"], _MEASURES[kinds[name] == "integer"][1]),
            after=_number(m["new"], _MEASURES[kinds[name] == "integer"][1]),
        )
        for name, m in total["columns"].items()
        if name in both and m["changed"]
    ]
    return sorted(found, key=lambda m: (-m.changed, m.column))


def row_series(m: ModelPart) -> Series | None:
    """Rows per interval; None when there is nothing to draw."""
    if len(m.rows) < 2:
        return None
    return Series(
        name="rows",
        measure="rows",
        starts=tuple(r.start for r in m.rows),
        old=tuple(r.old for r in m.rows),
        new=tuple(r.new for r in m.rows),
    )


def value_series(diff: ProofPart | None, model: str) -> list[Series]:
    """A series for each column that moved or is new: totals of whole numbers, averages of others."""
    raw = compared(diff, model)
    if raw is None:
        return []
    kinds = {c["name"]: c["kind"] for c in raw["columns"]}
    found: list[Series] = []
    more = [c["name"] for c in raw["columns"] if c["old_type"] is None and not c["masked"]]
    for column in [*(move.column for move in value_changes(diff, model)), *more]:
        if kinds[column] not in ("integer", "decimal", "float"):
            continue
        measure, of = _MEASURES[kinds[column] == "integer"]
        days = [(g["name"], g["columns"].get(column)) for g in raw["days"] if g["name"]]
        days = [(name, m) for name, m in days if m]
        if len(days) > 1:
            found.append(
                Series(
                    name=column,
                    measure=measure,
                    starts=tuple(name for name, _ in days),
                    old=tuple(_number(m["old"], of) for _, m in days),
                    new=tuple(_number(m["new"], of) for _, m in days),
                )
            )
    return found


_MEASURES: tuple[tuple[Literal["total", "average"], str], ...] = (("average", "mean"), ("total", "sum"))
"""Of anything else, and of whole numbers: the sum of rates or prices would say nothing."""


def compared(diff: ProofPart | None, model: str) -> Mapping[str, Any] | None:
    """What a comparison that holds says of a model (`compare.ModelDiff` as JSON)."""
    if diff is None or diff.holds is False:
        return None
    return next((m for m in diff.document.get("models", ()) if m["model"] == model), None)


def _number(stats: Mapping[str, Any] | None, name: str) -> float | None:
    """A value of one side; decimals are text, and what is no number counts as nothing."""
    value = stats.get(name) if stats else None
    if value is None:
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
