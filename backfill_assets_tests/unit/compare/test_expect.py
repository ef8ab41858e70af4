"""Does a verdict follow from the diff, and is what nobody compared never taken for what did not move?"""

from __future__ import annotations

import pytest

from backfill_assets.compare.diff import ColumnMove, Diff, DiffColumn, ModelDiff, RowCounts, RowGroup, SameFiles, Stats
from backfill_assets.compare.expect import Expectation, expectation, judge_moves
from backfill_assets.core.errors import SettingsError
from backfill_assets_tests.fakes import days, ranges


def a_column(name: str, old: str | None = "bigint", new: str | None = "bigint") -> DiffColumn:
    return DiffColumn(name=name, kind="integer", old_type=old, new_type=new)


def a_diff(*, changed: int = 0, sums: tuple[int, int] = (5, 5), rows: RowCounts | None = None) -> Diff:
    """`spend` moved as said, `clicks` did not; `extra` is new."""
    still = Stats(sum=7, min=1, max=2)
    moves = (
        ColumnMove(column="spend", changed=changed, old=Stats(sum=sums[0]), new=Stats(sum=sums[1])),
        ColumnMove(column="clicks", changed=0, old=still, new=still),
        ColumnMove(column="extra", changed=0, old=None, new=still),
    )
    model = ModelDiff(
        model="ads",
        grain=("ds",),
        time_column="ds",
        tolerance=1e-9,
        old=("1 at commit 1",),
        new=("2 at commit 1",),
        compared=ranges(days("01")),
        columns=(a_column("spend"), a_column("clicks"), a_column("extra", old=None)),
        total=RowGroup(name="", rows=rows or RowCounts(unchanged=10 - changed, changed=changed), moves=moves),
    )
    proved = ModelDiff(
        model="kept",
        grain=("ds",),
        time_column="ds",
        tolerance=1e-9,
        old=("1 at commit 1",),
        new=("1 at commit 1",),
        proofs=(SameFiles(interval=days("01"), version="1", commits=(1, 1), rows=3),),
    )
    unread = ModelDiff(
        model="fresh",
        grain=("ds",),
        time_column="ds",
        tolerance=0,
        old=(),
        new=("1 at commit 1",),
        only_new=ranges(days("01")),
    )
    return Diff(old="prod", new="plan-1", models=(model, proved, unread))


@pytest.mark.parametrize(
    ("diff", "name", "moves", "said"),
    [
        (a_diff(changed=2), "ads.spend", True, None),
        (a_diff(changed=2), "ads.spend", False, "should not have moved, but spend changed in 2 rows"),
        (a_diff(), "ads.spend", True, "should have moved, but did not"),
        (a_diff(), "ads.spend", False, None),
        (a_diff(sums=(5, 6)), "ads.spend", False, "should not have moved, but spend is not the same in other rows"),
        (a_diff(changed=2), "ads.clicks", False, None),
        (a_diff(changed=2), "ads.clicks", True, "should have moved, but did not"),
        (a_diff(), "ads.extra", True, None),
        (a_diff(), "ads.extra", False, "should not have moved, and is new"),
        (a_diff(), "ads", False, None),
        (a_diff(changed=2), "ads", False, "should not have moved, but spend changed in 2 rows"),
        (a_diff(rows=RowCounts(unchanged=3, added=1)), "ads", False, "should not have moved, but has other rows"),
        (a_diff(rows=RowCounts(unchanged=3, added=1)), "ads", True, None),
        (a_diff(), "kept.any", False, None),
        (a_diff(), "kept", True, "should have moved, but did not"),
        (a_diff(), "fresh", False, "should not have moved, and was not compared"),
        (a_diff(), "nowhere", True, "should have moved, and was not compared"),
    ],
)
def test_each_expectation_is_held_against_the_diff(diff: Diff, name: str, moves: bool, said: str | None) -> None:
    """'Moved but should not' and 'should have moved but did not' are surprises; so is what nothing is known of."""
    model, _, column = name.partition(".")
    one = Expectation(model=model, column=column, moves=moves)
    found = judge_moves(diff, [one])
    assert found.ok == (said is None)
    assert [s.found for s in found.surprises] == ([] if said is None else [said])
    assert found.held == ((one,) if said is None else ())
    assert found.to_json()["ok"] is found.ok


def test_names_are_checked_before_anything_is_read() -> None:
    """A typo is an error, not an expectation that nothing can bear out; spelling is the project's."""
    known = {"ads": ["Spend"], "python_model": []}
    assert expectation("ads.spend", known, moves=True) == Expectation(model="ads", column="Spend", moves=True)
    assert expectation("python_model.any", known, moves=False).column == "any"
    with pytest.raises(SettingsError, match=r"--expect-moved adds\.spend names no model"):
        expectation("adds.spend", known, moves=True)
    with pytest.raises(SettingsError, match=r"--expect-unmoved ads\.spent names no column of ads"):
        expectation("ads.spent", known, moves=False)
