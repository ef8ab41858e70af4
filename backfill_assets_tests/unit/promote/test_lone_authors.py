"""Who is told to ask whom, where nobody but a plan's author may approve for an owner?"""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.apply import start_apply
from backfill_assets.app.preview import preview
from backfill_assets.core.errors import PlanError
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.plan.stages import Request
from backfill_assets.promote.lone_authors import lone_author_words
from backfill_assets.state.approval_validity import who_may
from backfill_assets.state.rules import Rules
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.test_approval import Board
from backfill_assets_tests.unsparked import promoted, unsparked

BO = "bo@example.com"
PEOPLE = {BO: ("bo", "bo.k"), "ana@example.com": ("ana",)}


def rules(**owners: tuple[str, ...]) -> Rules:
    listed = {name.replace("_at_", "@") + ".com": names for name, names in owners.items()}
    return Rules(people=PEOPLE, approvals=ApprovalRules(owners=listed))


def test_who_may_leaves_the_authors_out() -> None:
    """By whatever name the rules know them; whom nobody lists counts for themselves."""
    assert who_may(BO, rules(), ["ana"]) == f"{BO} (bo, bo.k)"
    assert who_may(BO, rules(), ["bo.k"]) == "", "bo is not told to ask bo"
    assert who_may(BO, rules(bo_at_example=("bo", "ana")), ["bo.k"]) == "ana"
    assert who_may(BO, rules(bo_at_example=("bo", "bo.k")), ["bo"]) == ""
    assert who_may(BO, rules(bo_at_example=("bo", "ana"))) == "bo, ana", "of no plan: all who are listed"
    unknown = Rules(people={"ana@example.com": ("ana.k",)})
    assert who_may("ana@example.com", unknown, ["ana"]) == "ana@example.com (ana.k)", "an account that nobody lists"
    assert who_may(BO, Rules(approvals=ApprovalRules(self=True)), ["bo"]), "here authors may"


def test_what_is_said_before_anything_is_built() -> None:
    """Of those whom nobody else can speak for; a model without an owner asks anybody."""
    (said,) = lone_author_words([BO, "ana@example.com", ""], rules(), ["bo"])
    assert said.startswith(f"nobody but the plan's author may approve for {BO}, and may not: let another account make")
    assert "backfill rules change" in said
    assert lone_author_words([BO], rules(), ["ana"]) == ()
    assert lone_author_words([BO], Rules(people=PEOPLE, approvals=ApprovalRules(required=False)), ["bo"]) == ()


def test_the_refusal_sends_nobody_to_themselves() -> None:
    """Others that are asked are named as before."""
    board = Board(ApprovalRules(owners={"ana@x": ("dev@x",), "bo@x": ("bo@x", "dev@x")}))
    with pytest.raises(PlanError, match="dev@x made the plan") as caught:
        board.say("dev@x", "ana@x")
    ask, bo, ana, alone = caught.value.fix.splitlines()
    assert (ask, bo) == ("ask, for each whose approval it needs:", "  bo@x: bo@x"), "a line for each owner"
    assert ana.startswith("  nobody but the plan's author may approve for ana@x: ")
    assert "list somebody else for ana@x in approvals.owners" in ana and alone.startswith("  a team of one says so")


def test_whoever_looks_at_a_plan_made_none(tmp_path: Path) -> None:
    """The plan is dev's: ana, who may approve it, is not told that nobody may."""
    root = promoted(small_project(tmp_path, days=3))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount)", "sum(amount + 1)"))
    assert start_apply(unsparked(root, user="dev"), Request())
    assert not preview(unsparked(root, user="ana"), Request()).notes


def test_plan_and_apply_warn(tmp_path: Path) -> None:
    """Before days are built that nobody can approve."""
    root = promoted(small_project(tmp_path, days=3))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount)", "sum(amount + 1)"))
    for user, said in (("ana", True), ("dev", False)):
        place = unsparked(root, user=user)
        found = preview(place, Request())
        assert any("nobody but the plan's author" in note for note in found.notes) == said
        assert bool(start_apply(place, Request()).notes) == said
        for record in place.control.plans.all():
            place.control.plans.mark([record], type(record.status).ABANDONED, by=user, at=record.since)
