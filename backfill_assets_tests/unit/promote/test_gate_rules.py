"""Each rule about published rows, by itself: what closes the gate, for whom, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import declare_empty
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.consumer import Consumer
from backfill_assets.core.errors import PromotionError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Request
from backfill_assets.promote.approval import PlanReview, covered, not_counted, subject
from backfill_assets.promote.approve import Approver, onward
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets.promote.gate import gate
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.proposal import moved_meanwhile
from backfill_assets.promote.release import Mover, Sealing, release_case
from backfill_assets.promote.rules_change import record_rules
from backfill_assets.state.environment import Environment
from backfill_assets.state.proofs import DIFF, Finding
from backfill_assets.state.required_approvals import OWNER
from backfill_assets.state.rules import RulesInForce, declared_rules
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, attempted, days, ranges, sealed
from backfill_assets_tests.unit.promote.test_approval import TODAY, Board


@pytest.fixture
def board() -> Board:
    """Plan a-2, b-2 is built and compared; eve@x may approve for both owners."""
    return Board()


def said(case: Case) -> list[str]:
    return [o.what for o in gate(case).obstacles]


# --- the rules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("purpose", [Purpose.ROUTINE, Purpose.JOIN])
def test_who_only_adds_may_change_nothing(board: Board, purpose: Purpose) -> None:
    """Not even with all approvals."""
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    assert said(board.case()) == []
    assert all("would change published rows" in what for what in said(replace(board.case(), purpose=purpose)))
    assert len(said(replace(board.case(), purpose=purpose))) == 2


def test_what_has_to_be_known_before(board: Board) -> None:
    """A gap that blocks closes the gate of a promotion, where approvals are required."""
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    gap = Gap(subject="a", what="nobody owns it", remedy="name its owner", blocking=True)
    case = replace(board.case(), gaps=(gap, replace(gap, what="no late rows", blocking=False)))
    assert said(case) == ["nobody owns it"]
    assert said(replace(case, required=False)) == []
    assert said(replace(case, purpose=Purpose.ROLLBACK)) == []


def test_what_a_rollback_finds_in_its_way(board: Board) -> None:
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    lost = Obstacle(model="a", what="files cannot be read", remedy="restore them")
    assert said(replace(board.case(), way_back=(lost,))) == ["files cannot be read"]


@pytest.mark.parametrize("purpose", list(Purpose))
def test_rows_that_the_view_cannot_show(board: Board, purpose: Purpose) -> None:
    """Nothing that nobody can read is shown, by whatever way; the remedy is that of the way."""
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    case = board.case()
    first, *rest = case.pointers
    older = a_pointer(first.model, "older", days("01"))
    below = [replace(s, columns=(("ds", "date"), ("id", "string"))) for s in older.segments]
    mixed = replace(first, segments=(*below, *first.segments.without(older.covers)))
    asked = replace(case, purpose=purpose, wanted=replace(case.wanted, pointers=(mixed, *rest)), changed={})
    [found] = [o for o in gate(asked).obstacles if "cannot be cast to safely" in o.what]
    assert (found.model, str(found.intervals)) == (first.model, "2024-01-01")
    assert found.remedy.startswith("go back to another" if purpose is Purpose.ROLLBACK else "cast id to string")


def test_what_whoever_promotes_expects_otherwise(board: Board) -> None:
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    surprise = Obstacle(model="a", what="a should not have moved, but did", remedy="look at it")
    assert said(replace(board.case(), surprises=(surprise,))) == ["a should not have moved, but did"]


def test_rows_that_were_computed_from_declared_empty_ones() -> None:
    """They are complete by the ledger, and there is nothing behind them."""
    world = World(a_model("a", "raw"), a_model("b", "a"))
    declare_empty(
        world.control, world.tables, world.project, world.facts(), Request(select=("a",), end=days("02").end), by="ana"
    )
    world.engine.hollow = {"a"}
    apply(world.bench(), world.plan())
    facts = world.facts()
    asked = Request(select=("b",))
    case = world.cases().promotion(asked, facts, make_plan(world.project, facts, asked))
    [obstacle] = [o for o in gate(case).obstacles if "declared-empty" in o.what]
    assert (obstacle.model, str(obstacle.intervals)) == ("b", "2024-01-01..2024-01-02")


def test_a_comparison_is_of_three_kinds(board: Board) -> None:
    """Rows compared, but consumers not asked: that is not compared."""
    board.world.store.tables["proofs"].rows[:] = [  # type: ignore[attr-defined]
        row
        for row in board.world.store.tables["proofs"].rows
        if row["kind"] == DIFF  # type: ignore[attr-defined]
    ]
    assert "was not compared with what is shown:" in said(board.case())


def test_two_owners_of_one_model(board: Board) -> None:
    """Both have to say yes, whichever comes first."""
    board.say("eve@x", "ana@x")
    both = replace(board.case(Request(select=("a",))), owners=lambda _: {"ana@x": (OWNER,), "new@x": (OWNER,)})
    assert any("needs approval by new@x" in what for what in said(both))
    turned = replace(both, owners=lambda _: {"new@x": (OWNER,), "ana@x": (OWNER,)})
    assert any("needs approval by new@x" in what for what in said(turned))


def test_a_finding_is_accepted_by_the_owner_of_its_model(board: Board) -> None:
    """The owner of another model, whose approval counts as well, does not accept it for them."""
    board.prove(Finding(name="a.clicks", model="a", text="a.clicks moved"))
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x", accepted={"a.clicks": "not mine"})
    assert said(board.case()) == ["a.clicks moved"]
    board.say("eve@x", "ana@x", at=TODAY + timedelta(minutes=1), accepted={"a.clicks": "bots are gone"})
    assert said(board.case()) == []


def test_a_closed_gate_moves_nothing(board: Board) -> None:
    before = board.world.control.environments.read("prod")
    done = board.world.release(not_counted=lambda *_: "nobody counts")
    assert not done.moved and not done.verdict.open
    assert board.world.control.environments.read("prod") == before


def test_a_lost_race_is_gated_again(board: Board) -> None:
    """Between the look and the commit c moves, and the approvals do not count any more: nothing else moves."""
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    world, looks = board.world, list[Case]()

    def look() -> Case:
        looks.append(board.case() if not looks else board.case(at=TODAY + timedelta(days=365)))
        return looks[-1]

    def evidence(release: Sealing) -> Mapping[str, str]:
        environments = world.control.environments
        seen = environments.read("prod")
        environments.flip(seen, [], remove=["c"], release="other", at=TODAY)
        return sealed(release)

    done = release_case(
        Mover(control=world.control, log=world.tables, environment="prod", views=None, by="dev@x"),
        attempted(look),
        evidence=evidence,
    )
    assert len(looks) == 2 and not done.moved
    assert any("needs approval" in o.what for o in done.verdict.obstacles)
    assert world.control.environments.read("prod").pointers["a"].version == "a-1"


def test_rules_that_change_meanwhile_are_the_ones_that_judge(board: Board) -> None:
    """Between the look and the commit other rules are in force, by which the approvals do not count: nothing moves."""
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    world, looks = board.world, list[Case]()
    files, who = declared_rules(world.project), Approver(account="dev", host="laptop")

    def now() -> RulesInForce:
        return world.control.rules.in_force("prod", files)

    def look() -> Case:
        looks.append(board.case() if not looks else board.case(at=TODAY + timedelta(days=365)))
        return looks[-1]

    def evidence(release: Sealing) -> Mapping[str, str]:
        record_rules(world.control, now(), replace(files, people={"eve@x": ("eve.new",)}), who, now=NOW)
        return sealed(release)

    def rules(_: Case) -> Mapping[str, object]:
        return record_rules(world.control, now(), None if now().number else files, who, now=NOW).to_json()

    done = release_case(
        Mover(control=world.control, log=world.tables, environment="prod", views=None, by="dev@x", rules=rules),
        attempted(look),
        evidence=evidence,
    )
    assert len(looks) == 2 and not done.moved and now().number == 2
    assert any("needs approval" in o.what for o in done.verdict.obstacles)
    assert world.control.environments.read("prod").pointers["a"].version == "a-1"


def test_nothing_moves_without_a_packet(board: Board) -> None:
    """The gate is open, and whoever promotes wrote no packet of the release: nothing moves."""
    for owner in ("ana@x", "bo@x"):
        board.say("eve@x", owner)
    world = board.world
    before = world.control.environments.read("prod")
    for written in ({}, {"7f3c": "its packet"}):
        with pytest.raises(PromotionError, match="no evidence packet"):
            release_case(
                Mover(control=world.control, log=world.tables, environment="prod", views=None, by="dev@x"),
                attempted(board.case),
                evidence=lambda _, w=written: w,
            )
    assert world.control.environments.read("prod") == before


# --- what changes -----------------------------------------------------------------------------------------------------


def test_what_goes_from_sight_changes(board: Board) -> None:
    facts = board.world.facts()
    found = find_changed_rows(board.world.project, facts, board.world.tables, [], removed=["c"])
    assert found.changed == {"c": facts.environment.pointers["c"].covers}


def test_rows_written_over_published_ones(board: Board) -> None:
    """They are others, and in the same table."""
    world = board.world
    facts = world.facts()
    shown = facts.environment.pointers["c"]
    cells = world.tables.cells("c", "c-1")
    at = days("03")
    commit = world.tables.write(
        "c", "c-1", "again", at, {at.start: replace(cells[at.start], batch="again")}
    ).table_commit
    after = replace(shown, segments=tuple(replace(s, commit=commit) for s in shown.segments))
    found = find_changed_rows(world.project, facts, world.tables, [after])
    assert found.changed == found.rewritten == {"c": ranges(at)}
    [obstacle] = [o for o in gate(replace(board.case(), rewritten=found.rewritten)).obstacles if o.model == "c"]
    assert "written over published ones" in obstacle.what and "--restate c:2024-01-03" in obstacle.remedy


# --- what an approval is about ----------------------------------------------------------------------------------------


def an_audit() -> Audit:
    return Audit(name="more", kind="not_null", arguments={"columns": ("ds",)})


def test_all_that_voids_an_approval(board: Board) -> None:
    """Other audits, another consumer, other columns, another finding: each gives another digest."""
    world, review = board.world, board.review()
    project, facts = world.project, world.facts()
    digest = subject(project, facts, review).digest
    assert subject(project, facts, review).digest == digest

    audited = replace(project.models["a"], audits=(*project.models["a"].audits, an_audit()))
    consumer = Consumer(name="board", owner="cy@x", reads=("a",), file=Path("consumers.yml"))
    wider = [replace(p, columns=(*p.columns, ("more", "int"))) for p in review.pointers]
    others: dict[str, tuple[Any, PlanReview]] = {
        "audits": (replace(project, models={**project.models, "a": audited}), review),
        "consumers": (replace(project, consumers={"board": consumer}), review),
        "columns": (project, replace(review, pointers=tuple(wider))),
        "comparisons": (project, replace(review, proofs=[replace(p, document={"new": 1}) for p in review.proofs])),
    }
    digests = {name: subject(one, facts, two).digest for name, (one, two) in others.items()}
    assert digest not in digests.values() and len(set(digests.values())) == len(digests)


def test_later_days_of_another_version_are_not_covered(board: Board) -> None:
    approval = board.say("eve@x", "ana@x")
    approval = replace(approval, onward={"a": days("11").start})
    facts, review = board.world.facts(), board.review()
    [pointer] = [p for p in review.pointers if p.model == "a"]

    def covers(version: str) -> Ranges:
        last = Segment(version=version, commit=pointer.segments[-1].commit, interval=days("11"))
        longer = replace(pointer, segments=(*pointer.segments, last))
        return covered(board.world.project, facts, review, approval, [longer])["a"]

    assert covers("a-2") == ranges(days("01", "11"))
    assert covers("a-9") == ranges(days("01", "10"))


def test_onward_only_from_the_end() -> None:
    shown = Environment(name="prod", revision=1, releases={}, pointers={"a": a_pointer("a", "a-1", days("01", "10"))})
    assert onward(shown, {"a": ranges(days("05", "10"))}) == {"a": days("11").start}
    assert onward(shown, {"a": ranges(days("05", "09")), "b": ranges(days("01"))}) == {}


def test_an_approval_is_of_one_plan_for_one_environment(board: Board) -> None:
    approval, facts = board.say("eve@x", "ana@x"), board.world.facts()
    record = find_plan(board.world.control, board.plan)

    def why(**other: str) -> str:
        return not_counted(board.world.project, facts, record, replace(approval, **other), now=TODAY)  # type: ignore[arg-type]

    assert why() == ""
    assert why(plan="another") == "it is about plan another for prod"
    assert why(environment="test") == f"it is about plan {board.plan} for test"


# --- routine runs -----------------------------------------------------------------------------------------------------


def test_a_routine_run_leaves_what_moved_meanwhile(board: Board) -> None:
    """It began with a-1; somebody has released another version since."""
    shown: Pointer = a_pointer("a", "a-2", days("01", "10"))
    began = replace(board.world.project, fingerprints={"a": "a-1"})
    obstacle = moved_meanwhile(began, "a", shown)
    assert obstacle is not None and "shows a-2 by now, and a-1 when this run began" in obstacle.what
    assert moved_meanwhile(replace(began, fingerprints={"a": "a-2"}), "a", shown) is None


def test_what_is_shown_stays_complete_after_a_foreign_commit() -> None:
    """A routine run the day after builds the new day only; nobody builds a published day again."""
    board = Board(ApprovalRules(required=False))
    board.world.tables.foreign("c", "c-1")
    later = NOW + timedelta(days=1)
    facts = board.world.facts(later)
    assert facts.tables.coverage["c"].green == ranges(days("01", "10"))
    [stage] = make_plan(board.world.project, facts, Request(select=("c",))).work
    assert stage.intervals == ranges(days("11"))
