"""How do old and new compare by month? Summed up from the days that were compared: nothing is read again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from backfill_assets.compare.diff import ColumnMove, ModelDiff, RowCounts, RowGroup, Stats, sum_number


def months(model: ModelDiff) -> tuple[RowGroup, ...]:
    """The rows by calendar month, called `2024-03`, in order, where there is more than one and days are told apart. Of
    columns what adds up: changed rows, NULLs and the sum. Weeks count for the month in which they begin."""
    days: dict[str, list[RowGroup]] = {}
    for group in model.days:
        if group.name is not None:
            days.setdefault(group.name[:7], []).append(group)
    if len(days) < 2 or all(len(groups) == 1 for groups in days.values()):
        return ()
    return tuple(_month(name, groups) for name, groups in sorted(days.items()))


def months_json(models: Iterable[ModelDiff]) -> Mapping[str, object]:
    """The same by model, as plain values: of each month its rows, and by column the changed rows and both sums."""
    return {
        model.model: [
            {
                "month": group.name,
                "rows": {field.name: getattr(group.rows, field.name) for field in fields(RowCounts)},
                "columns": {
                    m.column: {"changed": m.changed, "old": _plain(m.old), "new": _plain(m.new)} for m in group.moves
                },
            }
            for group in found
        ]
        for model in models
        if (found := months(model))
    }


def _month(name: str, groups: Sequence[RowGroup]) -> RowGroup:
    counts = {field.name: sum(getattr(g.rows, field.name) for g in groups) for field in fields(RowCounts)}
    columns = dict.fromkeys(m.column for g in groups for m in g.moves)
    return RowGroup(name=name, rows=RowCounts(**counts), moves=tuple(_moves(c, groups) for c in columns))


def _moves(column: str, groups: Sequence[RowGroup]) -> ColumnMove:
    found = [m for g in groups if (m := g.move(column)) is not None]
    return ColumnMove(
        column=column,
        changed=sum(m.changed for m in found),
        old=_sum([m.old for m in found]),
        new=_sum([m.new for m in found]),
    )


def _sum(parts: Sequence[Stats | None]) -> Stats | None:
    there = [part for part in parts if part is not None]
    sums = [sum_number(part.sum) for part in there if part.sum is not None]
    if not there:
        return None
    return Stats(nulls=sum(part.nulls for part in there), sum=sum(sums[1:], sums[0]) if sums else None)


def _plain(stats: Stats | None) -> float | None:
    found = float(sum_number(stats.sum)) if stats is not None and stats.sum is not None else None
    return found if found is None or math.isfinite(found) else None
