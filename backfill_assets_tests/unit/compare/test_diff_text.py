"""Is a diff shown so that what matters is seen: keys first, days that moved, masked values hidden?"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from backfill_assets.app.diff import Compared
from backfill_assets.cli.diff import diff_json, print_diff
from backfill_assets.cli.proofs import print_proofs
from backfill_assets.compare.codec import diff_from_json, diff_id, diff_to_json
from backfill_assets.compare.diff import (
    ColumnMove,
    Diff,
    DiffColumn,
    Keys,
    ModelDiff,
    RowCounts,
    RowGroup,
    SameFiles,
    Sample,
    Slice,
    Stats,
)
from backfill_assets.compare.diff_text import column_lines, percent_text
from backfill_assets.compare.expect import Expectation, Judgement, judge_moves
from backfill_assets.compare.filling import ExpectedFilling, Filling
from backfill_assets.compare.markdown import model_markdown
from backfill_assets.compare.mask import masked
from backfill_assets.compare.plots import plot_series
from backfill_assets.defs.diff import diff_events
from backfill_assets.state.proofs import Proof
from backfill_assets.state.salt import Salt
from backfill_assets_tests.fakes import NOW, World, days, ranges
from backfill_assets_tests.memory_store import MemoryStore

SHIFTED = ((10, 8), (20, 18), (10, 14), (20, 20))
GROWN = ((10, 12), (20, 22), (10, 12), (20, 22))


def group(name: str | None, *spent: tuple[int, int]) -> RowGroup:
    """`spend` in cents a day, old and new; each day has two rows, and one of them changed."""
    old, new = (Decimal(sum(pair[side] for pair in spent)) / 100 for side in (0, 1))
    count = len(spent)
    move = ColumnMove(column="spend", changed=count, old=Stats(sum=old, nulls=1), new=Stats(sum=new, nulls=1))
    who = ColumnMove(column="who", changed=1, old=Stats(distinct=2), new=Stats(distinct=3))
    return RowGroup(
        name=name, rows=RowCounts(old=2 * count, new=2 * count, unchanged=count, changed=count), moves=(move, who)
    )


def a_diff(spent: tuple[tuple[int, int], ...] = SHIFTED) -> Diff:
    model = ModelDiff(
        model="ads",
        grain=("ds", "id"),
        time_column="ds",
        tolerance=1e-9,
        old=("1 at commit 1",),
        new=("2 at commit 3",),
        compared=ranges(days("02", "05")),
        proofs=(SameFiles(interval=days("01"), version="1", commits=(1, 2), rows=7),),
        only_new=ranges(days("06")),
        new_keys=Keys(null_rows=1, duplicate_keys=2, duplicate_rows=5),
        columns=(
            DiffColumn(name="ds", kind="text", old_type="date", new_type="date", key=True),
            DiffColumn(name="spend", kind="decimal", old_type="decimal(9,2)", new_type="decimal(9,2)"),
            DiffColumn(name="who", kind="text", old_type="string", new_type="string", masked=True),
            DiffColumn(name="extra", kind="float", old_type=None, new_type="double"),
        ),
        total=replace(group("", *spent), rows=RowCounts(old=8, new=9, unchanged=4, changed=4, unpaired_new=1)),
        days=tuple(group(f"2024-01-0{i + 2}", pair) for i, pair in enumerate(spent)),
        slices=(Slice(column="channel", groups=(group("[x]", *spent[:2]), group(None, *spent[2:])), complete=False),),
        samples=(
            Sample(
                kind="changed",
                key=(("ds", "2024-01-02"),),
                old=(("spend", "0.10"), ("who", "#aa")),
                new=(("spend", "0.08"), ("who", "#bb")),
            ),
            Sample(kind="added", key=(("ds", "2024-01-03"),), old=(), new=(("spend", "[bold]"), ("who", None))),
        ),
    )
    return Diff(old="prod", new="plan-1", models=(model,))


@pytest.mark.parametrize(
    ("spent", "between"), [(SHIFTED, True), (GROWN, False), (((5, 5), (5, 5)), False), (((5, 6), (5, 5)), False)]
)
def test_values_that_went_from_day_to_day(spent: tuple[tuple[int, int], ...], between: bool) -> None:
    """Days that differ while their total hardly does are told from growth, and from nothing at all."""
    [series] = plot_series(a_diff(spent).models[0], columns=["spend"])
    assert series.between_days is between
    assert series.days == tuple(f"2024-01-0{i + 2}" for i in range(len(spent)))
    assert series.deltas == pytest.approx([(n - o) / 100 for o, n in spent])
    assert series.to_json()["between_days"] is between


def test_the_terminal_says_keys_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Broken keys before rows, every day old and new, the rows, what was not read and why; surprises last."""
    diff = a_diff()
    judgement = judge_moves(diff, [Expectation(model="ads", column="spend", moves=False)])
    print_diff(Compared(diff=diff, judgement=judgement))
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert "plan-1 has 2 keys (ds) more than once, 5 rows" in lines[1] and "NULL in the key" in lines[2]
    assert "8 rows → 9; 4 changed (50.0 % of those on both sides)" in lines[3]
    assert "new: extra double" in text and "only in plan-1, not compared: 2024-01-06" in text
    assert "unchanged, not read: 2024-01-01: the same files of 1 at commits 1 and 2 (7 rows)" in text
    assert "spend moved between days" in text
    [day] = [line for line in lines if line.startswith("  2024-01-04")]
    assert "0.1 " in day and "0.14" in day and "+0.04" in day
    assert "channel [x]" in text and "channel NULL" in text and "more values of channel" in text
    assert "0.10 → 0.08" in text and "#aa → #bb" in text and "[bold]" in text and "who (masked)" in text
    assert lines[-1] == "not as expected ads.spend should not have moved, but spend changed in 4 rows"


@pytest.mark.parametrize(("days", "said"), [(5, False), (12, True)])
def test_which_days_are_listed(days: int, said: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a table has no room for all days, it says which ones it has."""
    found = Compared(diff=a_diff(((5, 6),) * days), judgement=judge_moves(a_diff(), []))
    print_diff(found)
    assert ("the 10 days in a row that differ most" in capsys.readouterr().out) is said


def test_new_columns_that_should_be_filled(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is told last, with what was found; one that lacks values, or was not counted, makes the diff unexpected."""
    diff, judgement = a_diff(), judge_moves(a_diff(), [])
    expected = ExpectedFilling(model="ads", column="extra", percent=50)
    enough, few, uncounted = (
        Filling(expected=expected, rows=8, filled=4),
        Filling(expected=expected, rows=8, filled=3),
        Filling(expected=expected, instead="was not compared"),
    )
    assert Compared(diff=diff, judgement=judgement, filled=(enough,)).as_expected
    for missed in (few, uncounted):
        found = Compared(diff=diff, judgement=judgement, filled=(enough, missed))
        assert not found.as_expected
        print_diff(found)
        lines = capsys.readouterr().out.splitlines()
        assert lines[-2] == "as expected ads.extra has a value in 4 of 8 rows (50.0 %); expected are 50 %"
        assert lines[-1] == f"not as expected {missed}"
        assert [one["ok"] for one in diff_json(found)["filled"]] == [True, False]  # type: ignore[attr-defined]


def test_nothing_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    """Sides that share no model, and no expectation."""
    none = Diff(old="prod", new="dev", models=())
    print_diff(Compared(diff=none, judgement=Judgement(held=(), surprises=())))
    assert "prod and dev show no model" in capsys.readouterr().out


def test_a_diff_is_stored_and_read_back() -> None:
    """Decimals stay exact, and equal diffs have equal ids."""
    diff = a_diff()
    assert diff_from_json(json.loads(json.dumps(diff_to_json(diff), allow_nan=False))) == diff
    assert diff_id(diff) == diff_id(a_diff()) != diff_id(a_diff(GROWN))
    assert not diff.same


def test_dagster_gets_tables_and_numbers() -> None:
    """One observation a model that was compared; its Markdown has the moved columns and the days."""
    [event] = diff_events(World().project, a_diff())
    assert event.asset_key.to_user_string() == "ads"
    text = str(event.metadata["diff"].value)
    assert "| spend | 50.0 % | 0.6 | 0.6 |" in text and "| 2024-01-04 | 0.1 | 0.14 | +0.04 |" in text
    assert event.metadata["rows changed"].value == 4 and event.metadata["rows unchanged"].value == 4 + 7
    [model] = a_diff().models
    assert text == model_markdown(model, a_diff().old, a_diff().new)


def test_a_mask_is_of_its_warehouse() -> None:
    """The salt is made once, and another warehouse has another one."""
    store = MemoryStore()
    salt = Salt(store).get()
    assert Salt(store).get() == salt != Salt(MemoryStore()).get() and len(salt) == 32
    assert masked("ann", salt) == masked("ann", salt) != masked("bob", salt)
    assert masked(None, salt) is None


def test_small_shares_are_not_nothing() -> None:
    """A million rows of which one changed, and a million of which all but one did."""
    assert (percent_text(1, 10**6), percent_text(10**6 - 1, 10**6), percent_text(0, 0)) == ("<0.1 %", "99.9 %", "0 %")


def test_a_type_that_changed_is_a_part_of_what_apply_says(capsys: pytest.CaptureFixture[str]) -> None:
    """In the one line of the comparison, as `diff` says it."""
    diff = a_diff()
    [model] = diff.models
    kinds = tuple(replace(c, old_type="bigint", new_type="string") if c.name == "who" else c for c in model.columns)
    document = diff_to_json(replace(diff, models=(replace(model, columns=kinds),)))
    print_proofs([Proof(plan="1f", kind="diff", content="c", at=NOW, findings=(), document=document)])
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("compared ads") and said.endswith("type: who was bigint, is string")


def test_other_letters_are_a_part_of_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that only pandas and Arrow take for another one; it is stored, where there is one."""
    diff = a_diff()
    [model] = diff.models
    columns = tuple(replace(c, was="Who") if c.name == "who" else c for c in model.columns)
    other = replace(diff, models=(replace(model, columns=columns),))
    assert diff_from_json(json.loads(json.dumps(diff_to_json(other)))) == other
    assert "was" not in json.dumps(diff_to_json(diff))
    line = "letters: Who is called who; readers that tell letters apart do not find the old name"
    assert line in column_lines(other.models[0])
    print_proofs([Proof(plan="1f", kind="diff", content="c", at=NOW, findings=(), document=diff_to_json(other))])
    assert line in " ".join(capsys.readouterr().out.split())


def test_columns_of_rows_that_came_did_not_change(capsys: pytest.CaptureFixture[str]) -> None:
    """Only values of rows that are on both sides moved; of others it is said that rows came or went."""
    diff = a_diff(GROWN)
    [model] = diff.models
    moves = tuple(replace(m, changed=0) if m.column == "spend" else m for m in model.total.moves)
    total = replace(model.total, moves=moves, rows=replace(model.total.rows, added=3, unpaired_new=0))
    other = replace(diff, models=(replace(model, total=total),))
    print_proofs([Proof(plan="1f", kind="diff", content="c", at=NOW, findings=(), document=diff_to_json(other))])
    said = " ".join(capsys.readouterr().out.split())
    assert "; moved: who; moved by rows that came or went alone: spend" in said
