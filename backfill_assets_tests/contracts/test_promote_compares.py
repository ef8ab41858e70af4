"""Where nobody has to approve, `promote` compares by itself before it moves: each thing that it finds closes the gate.

What only Spark can say of rows (the diff, consumers' answers, drift) is said here by the test.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.app.approve import approval_statements, approve_plan
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.prove import prove_built
from backfill_assets.compare.diff import ColumnMove, Diff, DiffColumn, ModelDiff, RowCounts, RowGroup, Stats
from backfill_assets.contracts.rerun import Answer, Rerun, Reruns
from backfill_assets.core.errors import UsageError
from backfill_assets.plan.proof import Drift, KeptModels
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.projects import DAILY, write_events, write_project
from backfill_assets_tests.unsparked import build, unsparked

TEXT = DAILY.format(batch_size=10, batch_concurrency=1)
OTHER_TOTAL = TEXT.replace("sum(amount)", "sum(amount) + 1")
MORE = TEXT.replace("AS total", "AS total, avg(amount) AS mean")
CONSUMERS = """\
last_verified: 2024-01-05
consumers:
  - name: board
    owner: cy@example.com
    reads: [daily]
    queries: [{name: kpis, sql: SELECT count(*) AS n FROM prod.daily}]
"""


def project(root: Path, text: str) -> Path:
    write_events(root, days=4)
    write_project(root, {"daily.sql": text}, clock="2024-01-05", approvals={"required": False})
    (root / "consumers.yml").write_text(CONSUMERS)
    return root


def a_diff(*moved: str) -> Diff:
    names = ("n", "total")
    moves = tuple(
        ColumnMove(column=n, changed=4 * (n in moved), old=Stats(sum=5), new=Stats(sum=5 + (n in moved))) for n in names
    )
    rows = RowCounts(old=8, new=8, unchanged=8 - 4 * bool(moved), changed=4 * bool(moved))
    model = ModelDiff(
        model="daily", grain=("ds", "kind"), time_column="ds", tolerance=1e-9, old=("1",), new=("2",),
        compared=ranges(days("01", "04")), total=RowGroup(name="", rows=rows, moves=moves),
        columns=tuple(DiffColumn(name=n, kind="integer", old_type="bigint", new_type="bigint") for n in names),
    )  # fmt: skip
    return Diff(old="prod", new="candidate", models=(model,))


class Said:
    """What the comparisons find, and which were asked for."""

    def __init__(self) -> None:
        self.diff, self.missed = a_diff(), tuple[str, ...]()
        self.drift: list[Drift] = []
        self.asked: list[str] = []


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    said = Said()

    def diff(*_: object, **__: object) -> Diff:
        said.asked.append("diff")
        return said.diff

    def consumers(_: Context, plan: str) -> Reruns:
        said.asked.append("consumers")
        rerun = Rerun(consumer="board", query="kpis", candidate=Answer(rows=1), shown=None, missed=said.missed)
        return Reruns(plan=plan, at=datetime.now(UTC), pointers={}, reruns=(rerun,))

    def drift(*_: object) -> list[Drift]:
        said.asked.append("drift")
        return said.drift

    monkeypatch.setattr("backfill_assets.app.prove.compare_sides", diff)
    monkeypatch.setattr("backfill_assets.app.prove.rerun_consumers", consumers)
    monkeypatch.setattr("backfill_assets.app.prove.find_drift", drift)
    return said


def changed(root: Path, text: str = OTHER_TOTAL) -> Context:
    """One version is shown, and another one is built; nothing was compared."""
    place = unsparked(project(root, TEXT), user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    place = unsparked(project(root, text), user="dev")
    build(place)
    return place


def in_the_way(place: Context, request: Request | None = None) -> list[str]:
    before = place.control.environments.read("prod").pointers
    verdict = promote_plan(place, request).verdict
    after = place.control.environments.read("prod").pointers
    assert (before == after) is not verdict.open
    return [o.what for o in verdict.obstacles]


def test_all_is_compared_and_nothing_is_found(tmp_path: Path, said: Said) -> None:
    said.diff = a_diff("total")
    assert in_the_way(changed(tmp_path)) == []
    assert sorted(said.asked) == ["consumers", "diff", "drift"]


def test_what_should_not_have_moved(tmp_path: Path, said: Said) -> None:
    """`--expect-unmoved` counts."""
    said.diff = a_diff("total")
    place = changed(tmp_path)
    [what] = in_the_way(place, Request(expect_unmoved=("daily.total",)))
    assert "total changed in 4 rows" in what, what


def test_what_was_compared_before_is_held_against_what_is_expected_now(tmp_path: Path, said: Said) -> None:
    """`promote --expect-unmoved` of rows that a plan without it compared; a name that nobody knows is told at once."""
    said.diff = a_diff("total")
    place = changed(tmp_path)
    [plan] = [p for p in place.control.plans.all() if p.live]
    prove_built(place, plan.id, plan_request(place), place.facts())
    said.asked.clear()
    [what] = in_the_way(place, Request(expect_unmoved=("daily.total",)))
    assert "daily.total should not have moved, but total changed in 4 rows" in what, what
    with pytest.raises(UsageError, match="names no model"):
        promote_plan(place, Request(expect_unmoved=("dialy",)))
    with pytest.raises(UsageError, match="names no model"):
        promote_plan(place, Request(expect_filled=("dialy.total=99%",)))
    [what] = in_the_way(place, Request(expect_filled=("daily.total=99%",)))
    assert "daily.total is no new column" in what, what
    assert in_the_way(place, Request(expect_unmoved=("daily.n",), expect_moved=("daily.total",))) == []
    assert said.asked == []


def test_what_is_expected_where_no_published_row_changes(tmp_path: Path, said: Said) -> None:
    """A first release, or days that came: nothing is compared, so nothing has moved. That it should have is in the way,
    that it should not is borne out."""
    place = unsparked(project(tmp_path, TEXT), user="dev")
    build(place)
    [what] = in_the_way(place, Request(expect_moved=("daily.total",)))
    assert what == "daily.total should have moved, and was not compared: no published row of it becomes another one"
    [what] = in_the_way(place, Request(expect_filled=("daily.total=99%",)))
    assert what.startswith("daily.total was not compared") and what.endswith("becomes another one"), what
    assert in_the_way(place, Request(expect_unmoved=("daily.total",))) == []
    assert said.asked == []
    assert promote_plan(place, Request(expect_moved=("daily.total",))).verdict.open, "nothing moves: nothing is said"


def test_what_is_expected_of_a_new_model_beside_a_comparison(tmp_path: Path, said: Said) -> None:
    """That another model was compared is no answer about one of which no published row changes."""
    said.diff = a_diff("total")
    changed(tmp_path)
    (tmp_path / "models" / "fresh.sql").write_text(TEXT)
    place = unsparked(tmp_path, user="dev")
    build(place)
    [what] = in_the_way(place, Request(expect_moved=("fresh.total",)))
    assert what == "fresh.total should have moved, and was not compared: no published row of it becomes another one"
    [what] = in_the_way(place, Request(expect_filled=("fresh.total=99%",)))
    assert what.startswith("fresh.total was not compared") and what.endswith("becomes another one"), what
    assert in_the_way(place, Request(expect_unmoved=("fresh.total",), expect_moved=("daily.total",))) == []


def test_a_kept_table(tmp_path: Path, said: Said) -> None:
    """A table that is kept, and was built from other values."""
    kept = KeptModels(upstream="daily", readers=("monthly",), columns=("total",))
    said.drift = [Drift(kept=kept, intervals=ranges(days("03")), again={"monthly": ranges(days("03"))})]
    place = changed(tmp_path)
    [what] = in_the_way(place)
    assert what.startswith("daily has other values of total in 2024-01-03"), what
    [plan] = [p for p in place.control.plans.all() if p.live]
    for statement in approval_statements(place, plan.id, accepted={"daily.kept": "they follow tonight"}):
        approve_plan(place, statement)
    done = promote_plan(place)
    assert done.verdict.open and done.left == {"monthly": ranges(days("03"))}
    assert "as was accepted: monthly. Next: backfill apply --restate monthly:2024-01-03" in done.left_words[0]
    assert promote_plan(place).left == {}, "nothing moved"


def test_a_reader_that_keeps_values_of_two(tmp_path: Path, said: Said) -> None:
    """What is left of it is one command, with the days of both."""
    kept = KeptModels(upstream="daily", readers=("monthly",), columns=("total",))
    drifted = [(days("03"), "monthly"), (days("05"), "monthly"), (days("05"), "weekly")]
    said.drift = [Drift(kept=kept, intervals=ranges(day), again={name: ranges(day)}) for day, name in drifted]
    place = changed(tmp_path)
    in_the_way(place)
    [plan] = [p for p in place.control.plans.all() if p.live]
    for statement in approval_statements(place, plan.id, accepted={"daily.kept": "they follow tonight"}):
        approve_plan(place, statement)
    [left] = promote_plan(place).left_words
    arguments = "--restate monthly:2024-01-03 --restate monthly:2024-01-05 --restate weekly:2024-01-05"
    assert left.endswith(f"monthly, weekly. Next: backfill apply {arguments}"), left


def test_an_enrichment_that_moves_something_else(tmp_path: Path, said: Said) -> None:
    """A change that only adds a column is proved to leave the others alone, or it does not move."""
    said.diff = a_diff("total")
    [what] = in_the_way(changed(tmp_path, MORE))
    assert "total changed in 4 rows" in what, what
    said.diff = a_diff()
    assert in_the_way(changed(tmp_path / "other", MORE)) == []


def test_a_consumer_s_query(tmp_path: Path, said: Said) -> None:
    """It runs over the new rows, and what it does not say counts; a finding can be accepted by name, by anybody."""
    said.missed = ("gave no rows",)
    place = changed(tmp_path)
    assert in_the_way(place) == ["the query kpis of board gave no rows"]
    [plan] = [p for p in place.control.plans.all() if p.live]
    for statement in approval_statements(place, plan.id, accepted={"board.kpis": "the board is told"}):
        approve_plan(place, statement)
    assert in_the_way(place) == []


def test_a_comparison_that_cannot_be_made(tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing moves, and the reason is said."""
    place = changed(tmp_path)
    before = place.control.environments.read("prod").pointers

    def broken(*_: object, **__: object) -> Diff:
        raise RuntimeError("the cluster is gone")

    monkeypatch.setattr("backfill_assets.app.prove.compare_sides", broken)
    with pytest.raises(RuntimeError, match="the cluster is gone"):
        promote_plan(place)
    assert place.control.environments.read("prod").pointers == before
