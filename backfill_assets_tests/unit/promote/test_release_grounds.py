"""On what does a release rest? Scopes, authors, accounts, rules, ways back, and what a routine run leaves alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import NOTHING
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approval import covered, not_counted, subject
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.consent import release_approvals
from backfill_assets.promote.extend import routine_case
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rollback import ProposedRollback
from backfill_assets.promote.rollback_run import rollback_case
from backfill_assets.promote.rules_change import change_objection
from backfill_assets.state.approval_validity import objection
from backfill_assets.state.approvals import Approval
from backfill_assets.state.rules import Rules, RulesInForce, RulesKind, RulesRecord
from backfill_assets_tests.fakes import NOW
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory
from backfill_assets_tests.unit.promote.test_approval import TODAY, Board

RULES = Rules(people={"ana@example.com": ("ana",), "bo@example.com": ("bo",)}, approvals=ApprovalRules())


@pytest.fixture
def board() -> Board:
    """Plan a-2, b-2 is built and compared; eve@x may approve for both owners."""
    return Board()


@pytest.fixture
def history() -> ProjectHistory:
    """Version 2 of a and b is shown, after version 1 of all."""
    history = ProjectHistory()
    history.release()
    history.change(a="2", b="2")
    history.release()
    return history


def test_an_approval_covers_nothing_beside_its_scope(board: Board) -> None:
    """A model that moves with it and is not in its scope is not covered, although the plan is about both."""
    facts, review, project = board.world.facts(), board.review(), board.world.project
    alone = {"a": review.changed["a"]}
    digest = subject(project, facts, review, alone).digest
    approval = replace(board.say("eve@x", "ana@x"), scope=alone, digest=digest)
    found = covered(project, facts, review, approval, review.pointers)
    assert found["a"] == review.changed["a"] and found["b"] == NOTHING


def test_whoever_opened_a_plan_is_its_author(board: Board) -> None:
    """Not only who opened it last."""
    approval = board.say("eve@x", "ana@x")
    facts, record = board.world.facts(), find_plan(board.world.control, board.plan)
    both = replace(record, opened_by=("eve@x",))
    assert both.authors == ("dev@x", "eve@x")
    assert not not_counted(board.world.project, facts, record, approval, now=TODAY)
    assert "made the plan" in not_counted(board.world.project, facts, both, approval, now=TODAY)


def test_an_account_is_not_who_it_says() -> None:
    """Where a model has no owner anybody but the author may approve: under their own name."""
    said = Approval(
        plan="1f3a9c02", environment="prod", digest="d" * 64, scope={}, owner="", by="bo@example.com", at=NOW,
        account="bo", host="laptop", recorded=NOW,
    )  # fmt: skip
    assert objection(said, RULES, authors=["dev"], now=NOW) == ""
    other = replace(said, by="ana@example.com")
    assert "not known to be ana@example.com" in objection(other, RULES, authors=["dev"], now=NOW)


def test_the_recorded_rules_decide(board: Board) -> None:
    """Not what the project's files say by now."""
    edited = replace(RULES, approvals=ApprovalRules(self=True, days=9_000))
    in_force = RulesInForce(environment="prod", rules=RULES, edited=edited, number=1)
    facts = replace(board.world.facts(), rules=in_force)
    project = replace(board.world.project, settings=replace(board.world.project.settings, approvals=edited.approvals))
    assert facts.rules_for(project) == RULES


def test_an_approval_of_another_change_of_the_rules() -> None:
    record = RulesRecord(
        environment="prod", number=2, kind=RulesKind.PROPOSED, parent="rules-1", rules=RULES, account="dev",
        host="laptop", at=NOW, reason="",
    )  # fmt: skip
    good = Approval(
        plan=record.id, environment="prod", digest=record.id, scope={}, owner="ana@example.com",
        by="ana@example.com", at=NOW, account="ana", host="laptop", recorded=NOW,
    )  # fmt: skip
    assert change_objection(good, RULES, record, now=NOW) == ""
    for other in ({"plan": "rules-9"}, {"environment": "test"}, {"digest": "rules-9"}):
        assert change_objection(replace(good, **other), RULES, record, now=NOW) == "it is about another change"  # type: ignore[arg-type]


def test_only_approvals_that_count_are_named(board: Board) -> None:
    """The evidence of a release names those that it rests on: not one that is over, nor where none is required."""
    board.say("eve@x", "ana@x", at=TODAY - timedelta(days=400))
    mine = board.say("eve@x", "bo@x")
    case = board.case()
    assert [(a.owner, a.at) for a in release_approvals(case)] == [("bo@x", mine.at)]
    assert release_approvals(replace(case, required=False)) == () == release_approvals(replace(case, changed={}))


def back(history: ProjectHistory, found: ProposedRollback, *, at_once: bool = False) -> list[str]:
    world = history.world
    facts = world.facts(history.now)
    case = rollback_case(world.project, facts, world.control, world.tables, found, (), at_once=at_once)
    return [o.what for o in case.way_back]


def test_a_way_back_is_of_what_was_looked_at(history: ProjectHistory) -> None:
    """Somebody moves prod between the look and the commit: it is looked at again."""
    found, _ = history.look()
    assert back(history, found) == []
    history.world.control.environments.flip(history.prod, [], remove=["c"], release="other", at=history.now)
    assert back(history, found) == ["it moved while it was looked at"]


def test_a_way_back_with_days_that_are_missing(history: ProjectHistory) -> None:
    """A day came that the older version lacks: nothing moves without it, but at once."""
    history.a_day()
    found, _ = history.look()
    assert found.lacking
    assert [what.partition(":")[0] for what in back(history, found)] == ["intervals came meanwhile"]
    assert back(history, found, at_once=True) == []


def test_a_routine_run_leaves_readers_of_what_it_leaves(history: ProjectHistory) -> None:
    """Something is in the way of a: b, which reads it, stays as well, and c moves. It is judged as a routine run."""
    world = history.world
    history.now += timedelta(days=1)
    plan = world.plan(now=history.now)
    apply(world.bench(now=history.now), plan)
    facts = world.facts(history.now)
    asked: list[Case] = []

    def case(made: Plan) -> Case:
        found = world.cases().promotion(Request(), facts, made)
        stuck = Obstacle(model="a", what="is in the way", remedy="wait")
        asked.append(replace(found, way_back=(stuck,) if "a" in made.models else ()))
        return asked[-1]

    found, held = routine_case(world.project, facts, case)
    assert [p.model for p in found.pointers] == ["c"] and [o.model for o in held] == ["a"]
    assert found.purpose is Purpose.ROUTINE
