"""How far a new column is filled: what is expected of it, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from backfill_assets.compare.diff import ColumnMove, Diff, DiffColumn, ModelDiff, RowCounts, RowGroup, SameFiles, Stats
from backfill_assets.compare.filling import Filling, expected_filling, found_filling
from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import Ranges
from backfill_assets.promote.findings import unfilled
from backfill_assets_tests.fakes import days

COLUMNS = {"daily": ["ds", "kind", "Total"], "other": []}
NEW = DiffColumn(name="Total", kind="decimal", old_type=None, new_type="decimal(18,2)")


def a_day(day: str, rows: int, nulls: int | None) -> RowGroup:
    moves = [] if nulls is None else [ColumnMove(column="Total", changed=0, old=None, new=Stats(nulls=nulls))]
    return RowGroup(name=f"2024-01-{day}", rows=RowCounts(new=rows), moves=tuple(moves))


def a_diff(*groups: RowGroup, column: DiffColumn = NEW) -> Diff:
    model = ModelDiff(
        model="daily", grain=("ds",), time_column="ds", tolerance=0, old=(), new=(),
        compared=Ranges((days("01", "04"),)), columns=(column,), days=groups,
    )  # fmt: skip
    return Diff(old="prod", new="plan-p", models=(model,))


def found(diff: Diff, *texts: str) -> Sequence[Filling]:
    return found_filling(diff, expected_filling(texts, COLUMNS))


def test_a_share_of_the_rows_from_a_day_on() -> None:
    """Days before it, and days without a row, count for nothing; the bound itself is enough."""
    diff = a_diff(a_day("01", 100, 100), a_day("02", 60, 4), a_day("03", 40, 1), a_day("04", 0, None))
    [one] = found(diff, "daily.total=95%@2024-01-02")
    assert one.met and (one.rows, one.filled) == (100, 95)
    assert str(one) == "daily.Total has a value in 95 of 100 rows since 2024-01-02 (95.0 %); expected are 95 %"
    [more, every] = found(diff, "daily.total=95.5%@2024-01-02", "daily.Total=40%")
    assert not more.met and (every.rows, every.filled, every.met) == (200, 95, True)
    [finding] = unfilled([one, more, every])
    assert (finding.name, finding.model) == ("daily.Total.filled", "daily") and "expected are 95.5 %" in finding.text


def test_what_nobody_counted_bears_out_nothing() -> None:
    """No rows since then; a day without a count; a column that is not new, or gone; a model that is not compared."""
    for diff, text in (
        (a_diff(a_day("01", 100, 0)), "daily.total=1%@2024-01-02"),
        (a_diff(a_day("01", 100, 0), a_day("02", 100, None)), "daily.total=1%"),
        (a_diff(a_day("01", 100, 0), column=replace(NEW, old_type="int")), "daily.total=1%"),
        (a_diff(a_day("01", 100, 0), column=replace(NEW, new_type=None)), "daily.total=1%"),
        (a_diff(a_day("01", 100, 0)), "other.total=1%"),
    ):
        [one] = found(diff, text)
        assert not one.met and str(one).endswith("; expected are 1 %"), one


def test_days_of_the_same_files_are_not_left_out() -> None:
    """A column that is filled forward only is empty before: nobody is told that all of its rows have a value."""
    diff = a_diff(a_day("03", 100, 0))
    same = SameFiles(interval=days("01", "03"), version="v", commits=(1, 1), rows=10_000)
    diff = replace(diff, models=tuple(replace(m, proofs=(same,)) for m in diff.models))
    every, within, since = found(diff, *(f"daily.total=95%{at}" for at in ("", "@2024-01-02", "@2024-01-04")))
    assert not every.met and "was not counted in 2024-01-01..2024-01-03, where both sides show" in str(every)
    assert not within.met and "was not counted in 2024-01-02..2024-01-03, where both sides show" in str(within)
    assert "name the day that it is filled from" in str(every)
    assert since.instead == ""
    rowless = replace(diff, models=tuple(replace(m, proofs=(replace(same, rows=0),)) for m in diff.models))
    [nothing] = found(rowless, "daily.total=95%")
    assert nothing.met, "no row, nothing to fill"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("daily=95%", "is not understood"),
        ("daily.total", "is not understood"),
        ("daily.total=0%", "is not understood"),
        ("daily.total=101%", "is not understood"),
        ("daily.total=95", "is not understood"),
        ("daily.total=95%@", "is not understood"),
        ("daily.total=95%@soon", "names no day"),
        ("dialy.total=95%", "names no model"),
        ("daily.totl=95%", "names no column of daily"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    """With what to write instead."""
    with pytest.raises(UsageError, match=why):
        expected_filling([text], COLUMNS)
