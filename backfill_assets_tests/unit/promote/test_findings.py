"""Is all that came out otherwise than the plan said a finding, and nothing else?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.compare.diff import ColumnMove, Diff, DiffColumn, ModelDiff, RowCounts, RowGroup, Stats
from backfill_assets.compare.expect import Expectation
from backfill_assets.contracts.rerun import Answer, Rerun, Reruns
from backfill_assets.core.consumer import Consumer
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.proof import Drift, KeptModels
from backfill_assets.promote.findings import drifted, unanswered, unexpected
from backfill_assets_tests.fakes import days, ranges

ADDITIVE = TableChange(category=Category.ADDITIVE, columns=("margin",))


def a_diff(rows: RowCounts, *moved: str) -> Diff:
    """Of one model with the columns amount, margin and updated_at; these changed in four rows."""
    same, other = Stats(sum=5), Stats(sum=6)
    names = ("amount", "margin", "updated_at")
    moves = tuple(
        ColumnMove(column=n, changed=4 * (n in moved), old=same, new=other if n in moved else same) for n in names
    )
    model = ModelDiff(
        model="orders",
        grain=("id",),
        time_column="ds",
        tolerance=1e-9,
        old=("1 at commit 1",),
        new=("2 at commit 1",),
        compared=ranges(days("01")),
        columns=tuple(DiffColumn(name=n, kind="integer", old_type="bigint", new_type="bigint") for n in names),
        total=RowGroup(name="", rows=rows, moves=moves),
    )
    return Diff(old="prod", new="plan-1", models=(model,))


def found(
    diff: Diff, said: TableChange = ADDITIVE, *expected: Expectation, marker: str | None = "updated_at"
) -> dict[str, str]:
    return {f.name: f.text for f in unexpected(diff, {"orders": said}, expected, {"orders": marker})}


SAME, CHANGED = RowCounts(old=10, new=10, unchanged=10), RowCounts(old=10, new=10, unchanged=6, changed=4)


def test_a_column_that_the_change_does_not_name() -> None:
    assert list(found(a_diff(CHANGED, "amount"))) == ["orders.amount"]
    assert "amount changed in 4 rows" in found(a_diff(CHANGED, "amount"))["orders.amount"]


def test_a_column_that_it_names_may_move() -> None:
    assert not found(a_diff(CHANGED, "margin"))
    assert not found(a_diff(CHANGED, "margin"), replace(ADDITIVE, columns=("MARGIN",)))


def test_a_key_that_it_names_may_move() -> None:
    """A row with another key is one that came, and one that went: as many of both."""
    keyed = replace(ADDITIVE, columns=("ID",))
    assert not found(a_diff(RowCounts(old=10, new=10, unchanged=6, added=4, removed=4)), keyed)
    text = "the change is of id, by which rows are told apart, and leaves their number alone, but 4 came and 3 went"
    assert found(a_diff(RowCounts(old=10, new=11, unchanged=7, added=4, removed=3)), keyed) == {"orders.rows": text}


def test_the_marker_of_a_row_is_new_in_a_new_table() -> None:
    """It says when the row was written there; no edit of the model could mend that."""
    assert not found(a_diff(CHANGED, "updated_at"))
    assert list(found(a_diff(CHANGED, "updated_at"), marker=None)) == ["orders.updated_at"]
    stays = Expectation(model="orders", column="updated_at", moves=False)
    assert list(found(a_diff(CHANGED, "updated_at"), ADDITIVE, stays)) == ["orders.updated_at"]


@pytest.mark.parametrize("category", [Category.BREAKING, Category.UNCHANGED, Category.ADDITIVE])
def test_nothing_is_left(category: Category) -> None:
    """No change is meant to leave nothing of what is shown, whatever it may do to rows; new days may have none."""
    said = TableChange(category=category, rows=True)
    text = "none of the 10 rows that are shown of 2024-01-01 is left, and none came"
    assert found(a_diff(RowCounts(old=10, removed=10)), said) == {"orders.empty": text}
    assert not found(a_diff(RowCounts(old=10, new=1, removed=10, added=1)), said)
    assert not found(a_diff(RowCounts(old=0, new=0)), said)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (RowCounts(old=10, new=12, unchanged=10, added=2), "the change leaves rows alone, but 2 came and 0 went"),
        (RowCounts(old=10, new=9, unchanged=9, removed=1), "the change leaves rows alone, but 0 came and 1 went"),
    ],
)
def test_rows_that_came_or_went(rows: RowCounts, text: str) -> None:
    assert found(a_diff(rows)) == {"orders.rows": text}


@pytest.mark.parametrize(
    "said",
    [
        TableChange(category=Category.BREAKING, rows=True),
        TableChange(category=Category.NEW, rows=False),
        TableChange(category=Category.UNCHANGED, rows=False),
    ],
)
def test_a_change_that_may_move_anything(said: Mapping[str, Any]) -> None:
    rows = RowCounts(old=10, new=12, unchanged=6, changed=4, added=2)
    assert not found(a_diff(rows, "amount"), said)
    stays = Expectation(model="orders", column="amount", moves=False)
    assert list(found(a_diff(rows, "amount"), said, stays)) == ["orders.amount"], "unless somebody declared it"


def test_what_was_declared_counts_once() -> None:
    moves = Expectation(model="orders", column="amount", moves=True)
    assert not found(a_diff(CHANGED, "amount"), ADDITIVE, moves)
    assert list(found(a_diff(SAME), ADDITIVE, moves)) == ["orders.amount"], "it should have moved"


def test_a_query_that_does_not_say_what_it_has_to() -> None:
    def a_rerun(name: str, *missed: str) -> Rerun:
        return Rerun(consumer="board", query=name, candidate=Answer(rows=1), shown=None, missed=missed)

    reruns = Reruns(
        plan="p1",
        at=datetime(2024, 1, 1, tzinfo=UTC),
        pointers={},
        reruns=(a_rerun("kpis", "gave no rows"), a_rerun("totals")),
    )
    consumers = {"board": Consumer(name="board", reads=("orders",), file=Path("consumers.yml"))}
    [finding] = unanswered(reruns, consumers, ["items", "orders"])
    assert (finding.name, finding.model) == ("board.kpis", "orders")
    assert finding.text == "the query kpis of board gave no rows"


def test_a_kept_table_that_was_built_from_other_values() -> None:
    kept = KeptModels(upstream="orders", readers=("daily",), columns=("amount",))
    [finding] = drifted([Drift(kept=kept, intervals=ranges(days("03")), again={"daily": ranges(days("03"))})])
    assert (finding.name, finding.model) == ("orders.kept", "orders")
    assert "amount" in finding.text
