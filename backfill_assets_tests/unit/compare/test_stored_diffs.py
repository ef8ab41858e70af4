"""A stored comparison answers a question about the same rows, and no other question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from backfill_assets.app.diff import Compared, KnownDiff
from backfill_assets.cli.diff import diff_json, print_diff
from backfill_assets.compare.codec import diff_from_json, diff_to_json
from backfill_assets.compare.diff import Diff, DiffColumn, ModelDiff, RowCounts, RowGroup, Sample, Slice
from backfill_assets.compare.expect import judge_moves
from backfill_assets.compare.questions import Question, ask
from backfill_assets.compare.stored_diffs import stored_answer
from backfill_assets_tests.fakes import FakeTables, a_model, a_pointer, days

MODEL = a_model("orders", slices=("kind",), mask=("who",), updated_at="at")
COLUMNS = (("ds", "date"), ("kind", "string"), ("who", "string"), ("at", "timestamp"))
OLD = replace(a_pointer("orders", "1", days("01", "04")), columns=COLUMNS)
NEW = replace(a_pointer("orders", "2", days("01", "05")), columns=COLUMNS)


def asked(**more: object) -> Question:
    values: dict[str, object] = {"model": MODEL, "old": OLD, "new": NEW, "log": FakeTables()}
    return ask(**(values | more))  # type: ignore[arg-type]


def stored() -> ModelDiff:
    """What `apply` found, as its record gives it back."""
    columns = tuple(
        DiffColumn(name=name, kind="text", old_type="string", new_type="string", masked=name == "who")
        for name in ("ds", "kind", "who")
    )
    told = (Slice(column="kind", groups=(RowGroup(name="a", rows=RowCounts(old=1), moves=()),)),)
    found = replace(
        asked().unread(), columns=columns, slices=told, total=RowGroup(name="", rows=RowCounts(old=4), moves=())
    )
    return diff_from_json(diff_to_json(Diff(old="prod", new="plan-1", models=(found,)))).models[0]


def test_the_same_question() -> None:
    """The same commits, days, columns, masks, slices and tolerance."""
    assert stored_answer(stored(), asked())


@pytest.mark.parametrize(
    "other",
    [
        lambda: asked(old=replace(OLD, segments=tuple(replace(s, commit=2) for s in OLD.segments))),
        lambda: asked(new=replace(NEW, segments=tuple(replace(s, version="3") for s in NEW.segments))),
        lambda: asked(new=a_pointer("orders", "2", days("01", "06"))),
        lambda: asked(new=replace(NEW, columns=COLUMNS[:2])),
        lambda: asked(old=replace(OLD, columns=(*COLUMNS, ("more", "int")))),
        lambda: asked(within=days("02", "03")),
        lambda: asked(slices=("who",)),
        lambda: asked(tolerance=0.5),
        lambda: asked(mask=("kind",)),
        lambda: asked(model=replace(MODEL, mask=())),
        lambda: asked(model=replace(MODEL, grain=("ds",))),
    ],
)
def test_another_question(other: Callable[[], Question]) -> None:
    """Another commit, version, day, column, range, slice, tolerance, mask or key is asked anew."""
    assert not stored_answer(stored(), other())


def test_other_examples_are_the_same_comparison() -> None:
    """What was compared is told with more examples; not with other numbers."""
    known = KnownDiff(diff=stored(), at=datetime(2024, 1, 6, tzinfo=UTC))
    one = Sample(kind="changed", key=(("ds", "2024-01-01"),), old=(), new=())
    assert known.tells(replace(stored(), samples=(one,)))
    assert not known.tells(replace(stored(), tolerance=0.1))


def test_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Since when it is known."""
    diff, at = Diff(old="prod", new="plan-1", models=(stored(),)), datetime(2024, 1, 6, 12, tzinfo=UTC)
    found = Compared(diff=diff, judgement=judge_moves(diff, []), known={"orders": at})
    print_diff(found)
    assert "as compared by apply at 2024-01-06 12:00 UTC" in capsys.readouterr().out
    assert diff_json(found)["known"] == {"orders": at.isoformat()}
    assert diff_json(replace(found, known={}))["known"] == {}
