"""Months are what their days amount to."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from backfill_assets.compare.diff import ColumnMove, ModelDiff, RowCounts, RowGroup, Stats
from backfill_assets.compare.months import months, months_json


def a_day(day: str | None, old: str | None, new: str | None, changed: int) -> RowGroup:
    sides = [Stats(nulls=1, sum=None if value is None else Decimal(value)) for value in (old, new)]
    move = ColumnMove(column="total", changed=changed, old=sides[0], new=sides[1])
    return RowGroup(name=day, rows=RowCounts(old=3, new=4, changed=changed, added=1), moves=(move,))


def a_diff(*groups: RowGroup) -> ModelDiff:
    return ModelDiff(
        model="daily", grain=("ds",), time_column="ds", tolerance=0, old=(), new=(), days=groups
    )  # fmt: skip


DAYS = (
    a_day("2024-01-30", "1.10", "1.20", 1),
    a_day("2024-01-31", None, "0.05", 2),
    a_day("2024-02-01", "5", "5", 0),
    a_day(None, "9", "9", 0),
)


def test_a_month_is_the_sum_of_its_days() -> None:
    """Rows, NULLs, and exact sums; rows without a day are in none of them."""
    january, february = months(a_diff(*DAYS))
    assert (january.name, february.name) == ("2024-01", "2024-02")
    assert january.rows == RowCounts(old=6, new=8, changed=3, added=2)
    [move] = january.moves
    assert move.changed == 3 and move.old == Stats(nulls=2, sum=Decimal("1.10"))
    assert move.new == Stats(nulls=2, sum=Decimal("1.25"))
    assert february.rows.new == 4 and not february.rows.changed
    assert months_json([a_diff(*DAYS)]) == {
        "daily": [
            {"month": m.name, "rows": rows, "columns": columns}
            for m, rows, columns in (
                (january, counts(january), {"total": {"changed": 3, "old": 1.1, "new": 1.25}}),
                (february, counts(february), {"total": {"changed": 0, "old": 5.0, "new": 5.0}}),
            )
        ]
    }


def counts(group: RowGroup) -> dict[str, int]:
    return {name: getattr(group.rows, name) for name in RowCounts.__dataclass_fields__}


def test_where_there_is_nothing_to_sum_up() -> None:
    """One month; a monthly model, whose days are months; and nothing compared."""
    assert not months(a_diff(*DAYS[:2])) and not months(a_diff())
    assert not months(a_diff(*(replace(DAYS[0], name=f"2024-0{n}-01") for n in range(1, 5))))
    assert months_json([a_diff()]) == {}
