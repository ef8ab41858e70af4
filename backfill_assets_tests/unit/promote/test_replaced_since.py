"""An approval is of rows in place of those that were shown then: not of those that somebody has published since."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Request
from backfill_assets.state.releases import PointerMove, Release, replacements
from backfill_assets_tests.fakes import NOW, a_pointer, days, ranges
from backfill_assets_tests.unit.promote.test_approval import Board

LATER = utc("2024-01-12T12:00")


@pytest.fixture
def board() -> Board:
    """Version 2 of a and b is built and approved."""
    found = Board(ApprovalRules(self=True))
    found.say("dev@x", "ana@x")
    found.say("dev@x", "bo@x")
    assert found.objections(plan=found.plan) == []
    return found


def correct(board: Board, *parts: tuple[str, Interval]) -> None:
    """Somebody restates days of what is shown, version 1, which its owners approve; the code is version 2 again."""
    mine = board.plan
    board.change()
    board.plan = board.build(Request(restate=parts))
    board.prove()
    board.world.approve(board.plan)
    assert board.world.release(plan=board.plan).verdict.obstacles == ()
    board.change(a="2", b="2")
    board.plan = mine


@pytest.mark.parametrize("by_plan", [True, False])
def test_a_correction_is_not_undone_by_an_older_approval(board: Board, by_plan: bool) -> None:
    """What would be put over the corrected day is compared with it, and approved again by whoever sees that."""
    correct(board, ("b", days("03")))
    plan = board.plan if by_plan else ""
    closed = board.objections(plan=plan)
    assert {o.model for o in closed if "was not compared" in o.what} == {"b"} | {"a"}
    assert ["what they replace" in o.what for o in closed if "approval" in o.what] == [True, True]
    board.prove()
    assert all("approval" in o.what for o in board.objections(plan=plan))
    board.say("dev@x", "ana@x")
    board.say("dev@x", "bo@x")
    assert board.objections(plan=plan) == []


def test_a_correction_outside_of_the_scope(board: Board) -> None:
    """Another model's day is none of its concern."""
    correct(board, ("c", days("03")))
    assert board.objections(plan=board.plan) == []


def test_days_that_came_since_and_were_corrected(board: Board) -> None:
    """New days are covered as they come; one that was replaced since needs an approval."""
    board.change()
    world = board.world
    apply(world.bench(now=LATER), make_plan(world.project, world.facts(LATER), Request()))
    assert world.release(now=LATER, by="routine").moved
    mine, board.plan = board.plan, board.build(Request(restate=(("b", days("11")),)), now=LATER)
    board.prove(now=LATER)
    world.approve(board.plan, now=LATER)
    assert world.release(plan=board.plan, now=LATER).moved
    board.change(a="2", b="2")
    board.plan = mine
    apply(world.bench(now=LATER), make_plan(world.project, world.facts(LATER), Request()))
    closed = [o for o in board.objections(plan=mine, now=LATER) if "approval" in o.what]
    assert [(o.model, str(o.intervals)) for o in closed] == [("b", "2024-01-11")]
    assert [o for o in board.objections(plan=mine, now=LATER) if o.model == "a"] == []


def test_rows_that_settle_are_no_decision_of_anybody() -> None:
    """Their owners have consented to them beforehand; copies are the same rows."""
    before, after = a_pointer("a", "a-1", days("01", "09")), a_pointer("a", "a-1.x", days("01", "09"))
    move = PointerMove(model="a", before=before, after=after, changed=ranges(days("03")))
    release = Release(id="r1", environment="prod", revision=1, at=NOW, by="ana", back_to="", moves=(move,), evidence={})
    assert replacements([release]) == {"a": {"r1": ranges(days("01", "09"))}}
    assert replacements([replace(release, settling=True)]) == {}
    assert replacements([replace(release, moves=(replace(move, compaction=True),))]) == {}
    again = replace(move, before=after, changed=ranges(days("04")), after=after)
    later = replace(release, id="r2", revision=2, moves=(again,))
    assert replacements([later, release]) == {
        "a": {"r1": ranges(days("01", "03"), days("05", "09")), "r2": ranges(days("04"))}
    }
    back = replace(
        release,
        id="r3",
        revision=3,
        moves=(replace(again, before=None), PointerMove(model="b", before=before, after=None)),
    )
    assert replacements([back]) == {"a": {"r3": ranges(days("04"))}}
