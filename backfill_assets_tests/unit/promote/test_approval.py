"""A change of published history waits for its owners' approval, of exactly the rows that are there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import utc
from backfill_assets.core.settings import ApprovalRules, Settings
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Approve, Owned, Request
from backfill_assets.promote.approval import PlanReview, not_counted, subject
from backfill_assets.promote.approve import Approver, statements
from backfill_assets.promote.case import Case
from backfill_assets.promote.consent import vouching
from backfill_assets.promote.gate import gate, judge_rows
from backfill_assets.promote.lifecycle import end_abandoned, find_plan, store_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.promote import promote
from backfill_assets.state.approval_validity import Genuine, trusted
from backfill_assets.state.approvals import APPROVALS, Approval, approval_of
from backfill_assets.state.proofs import Finding
from backfill_assets_tests.fakes import NOW, World, a_model, a_project, days, ranges
from backfill_assets_tests.memory_store import MemoryTable

MODELS = (a_model("a", "raw", owner="ana@x"), a_model("b", "a", owner="bo@x"), a_model("c", owner="cy@x"))
TODAY = datetime(2024, 1, 11, 13, tzinfo=UTC)
EVE = {"ana@x": ("ana@x", "eve@x"), "bo@x": ("bo@x", "eve@x")}
"""Eve may approve for both owners."""


class Board:
    """Version 1 of a, b and c is in prod; dev@x changed a and b and built both."""

    def __init__(self, rules: ApprovalRules | None = None) -> None:
        self.world = World(*MODELS)
        self.rules = rules or ApprovalRules(owners=EVE)
        apply(self.world.bench(), self.world.plan())
        self.move()
        self.change(a="2", b="2")
        self.plan = self.build()
        self.prove()

    def change(self, **versions: str) -> None:
        self.world.project = replace(a_project(*MODELS, versions=versions), settings=Settings(approvals=self.rules))

    def build(self, request: Request | None = None, now: datetime = NOW) -> str:
        plan = make_plan(self.world.project, self.world.facts(now), request or Request())
        opened = store_plan(
            self.world.control, plan, by="dev@x", views=lambda: None, code=self.world.project.fingerprints
        )
        assert opened
        apply(self.world.bench(patches=plan.patches), plan)
        return opened.plan.id

    def review(self, now: datetime = NOW) -> PlanReview:
        facts, cases = self.world.facts(now), self.world.cases()
        record = find_plan(self.world.control, self.plan)
        assert judge_rows(cases.of_rows(facts, record)).open
        return cases.review(facts, record)

    def prove(self, *findings: Finding, now: datetime = NOW) -> None:
        at = TODAY + timedelta(minutes=len(self.world.control.proofs.of(self.plan)))
        self.world.prove(self.plan, *findings, now=now, at=at)

    def say(
        self, by: str, *owners: str, at: datetime = TODAY, now: datetime = NOW, signature: str = "", **more: object
    ) -> Approval:
        facts, who = self.world.facts(now), Approver(account=by, host="laptop")
        (said,) = statements(self.world.project, facts, self.review(now), who, owners=owners, now=at, **more)  # type: ignore[arg-type]
        said = replace(said, signature=signature)
        self.world.control.approvals.put(said)
        return said

    def case(
        self,
        request: Request | None = None,
        *,
        at: datetime = TODAY,
        now: datetime = NOW,
        plan: str = "",
        genuine: Genuine = trusted,
    ) -> Case:
        """What the gate is asked about a promotion of all that the code says, or of a stored plan."""
        world = self.world
        facts, stored = world.facts(now), find_plan(world.control, plan) if plan else None
        cases = world.cases(
            not_counted=lambda record, a: not_counted(world.project, facts, record, a, now=at, genuine=genuine)
        )
        asked = cases.request(stored) if stored else request or Request()
        return cases.promotion(asked, facts, make_plan(world.project, facts, asked), stored=stored)

    def objections(self, request: Request | None = None, **more: object) -> list[Obstacle]:
        return list(gate(self.case(request, **more)).obstacles)  # type: ignore[arg-type]

    def move(self, now: datetime = NOW) -> None:
        facts = self.world.facts(now)
        models = {n: ranges(days("01", "10")) for n in self.world.project.models}
        from backfill_assets.promote.pointers import pin

        versions = self.world.control.versions.all()
        pointers = [pin(self.world.project, facts, versions, n, days_) for n, days_ in models.items()]
        promote(self.world.control.environments, facts.environment, pointers, None)


def test_the_plan_says_whose_yes_it_needs() -> None:
    """Before anything is built, and for the models whose published rows change only."""
    board = Board()
    plan = board.world.plan()
    assert [s for s in plan.stages if isinstance(s, Approve)] == [
        Approve(owners=(Owned(owner="ana@x", models=("a",)), Owned(owner="bo@x", models=("b",))))
    ]
    assert plan.owners == ("ana@x", "bo@x")


def test_each_owner_is_asked() -> None:
    """One yes of two is not enough; both are."""
    board = Board(ApprovalRules(owners={"ana@x": ("ana@x",), "bo@x": ("bo@x",)}))
    assert [(o.model, "ana@x" in o.what or "bo@x" in o.what) for o in board.objections()] == [("a", True), ("b", True)]
    board.say("ana@x", "ana@x")
    assert [o.model for o in board.objections()] == ["b"]
    board.say("bo@x")
    assert board.objections() == []


def test_a_damaged_record_of_a_yes() -> None:
    """It is named where that yes is missing, with what opens the gate again; nothing else waits for it."""
    board = Board(ApprovalRules(owners={"ana@x": ("ana@x",), "bo@x": ("bo@x",)}))
    board.say("bo@x", "bo@x")
    said = board.say("ana@x", "ana@x")
    assert board.objections() == []
    table = board.world.store.table(APPROVALS)
    assert isinstance(table, MemoryTable)
    table.rows = [{**r, "statement": "{" if r["statement"] == said.statement else r["statement"]} for r in table.rows]
    asked, named = board.objections()
    assert asked.model == "a" and "needs approval by ana@x" in asked.what
    assert f"an approval of {board.plan}" in named.what and "by ana@x in _control/approvals, is damaged" in named.what
    assert named.remedy == f"approve it again: backfill approve {board.plan}"
    board.say("ana@x", "ana@x")
    assert board.objections() == []


def test_the_author_may_not_say_it() -> None:
    """Unless the settings let them, and then the record says so."""
    board = Board()
    with pytest.raises(PlanError, match="dev@x made the plan"):
        board.say("dev@x", "ana@x")
    board.rules = ApprovalRules(self=True)
    board.change(a="2", b="2")
    board.say("dev@x", "ana@x")
    board.say("dev@x", "bo@x")
    assert board.objections() == []
    board.rules = ApprovalRules()
    board.change(a="2", b="2")
    assert len(board.objections()) == 2, "what was recorded is judged by the rules of now"


def test_only_who_may_speak_for_an_owner() -> None:
    """Others are refused, with the names of those who may; also when the list changes after they said it."""
    board = Board(ApprovalRules(owners={"ana@x": ("eve@x",)}))
    with pytest.raises(PlanError, match="only eve@x may"):
        board.say("ana@x", "ana@x")
    board.say("eve@x", "ana@x")
    assert [o.model for o in board.objections()] == ["b"]
    board.rules = ApprovalRules(owners={"ana@x": ("zoe@x",)})
    board.change(a="2", b="2")
    assert "only zoe@x may" in board.objections()[0].what


def test_it_is_over_after_its_days() -> None:
    """Approved on the first, with a week's time: not any more on the ninth."""
    board = Board(ApprovalRules(days=7, owners=EVE))
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x")
    assert board.objections(at=TODAY + timedelta(days=6)) == []
    assert len(board.objections(at=TODAY + timedelta(days=7))) == 2


def test_a_later_write_in_its_scope_voids_it() -> None:
    """One day of a is written again, green as ever: ana and bo said yes to other rows."""
    board = Board()
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x")
    assert board.objections() == []
    world = board.world
    version = world.project.fingerprints["a"]
    world.tables.foreign("a", version)
    apply(world.bench(run="again"), world.plan())
    board.prove()
    found = [o for o in board.objections() if "approval" in o.what]
    assert all("not those any more" in o.what for o in found) and len(found) == 2


def test_new_days_are_no_later_write() -> None:
    """Prod and the plan both gain the eleventh: it was published by its audits, the yes still holds."""
    board = Board()
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x")
    later = utc("2024-01-12T12:00")
    world, new = board.world, board.world.project
    board.change()  # prod's own code goes on
    apply(world.bench(), make_plan(world.project, world.facts(later), Request()))
    assert world.release(now=later, by="routine").moved
    world.project = new
    apply(world.bench(), make_plan(world.project, world.facts(later), Request()))
    assert str(board.review(later).changed["a"]) == "2024-01-01..2024-01-11"
    board.prove(now=later)
    assert board.objections(now=later) == []


@pytest.mark.parametrize("again", [True, False])
def test_what_is_not_found_any_more_is_in_nobodys_way(again: bool) -> None:
    """A comparison before a day came found something, and an approval did not accept it; the one of all days since
    counts. What that finds as well has to be accepted."""
    finding = Finding(name="a.clicks", model="a", text="a.clicks moved, and should not have")
    board = Board(ApprovalRules(owners={"ana@x": ("eve@x",), "bo@x": ("eve@x",)}))
    board.prove(finding)
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x")
    later, world, new = utc("2024-01-12T12:00"), board.world, board.world.project
    board.change()
    apply(world.bench(), make_plan(world.project, world.facts(later), Request()))
    assert world.release(now=later, by="routine").moved
    world.project = new
    apply(world.bench(), make_plan(world.project, world.facts(later), Request()))
    assert finding.text in [o.what for o in board.objections(now=later)]
    board.prove(*([finding] if again else []), now=later)
    assert [o.what for o in board.objections(now=later)] == ([finding.text] if again else [])


def test_what_was_found_is_accepted_by_name() -> None:
    """By the owner of the model that it is about, with a reason, and not by a yes that does not name it."""
    board = Board(ApprovalRules(owners={"ana@x": ("ana@x",), "bo@x": ("bo@x",)}))
    board.prove(Finding(name="a.clicks", model="a", text="a.clicks moved, and should not have"))
    board.say("ana@x", "ana@x")
    board.say("bo@x", "bo@x")
    assert [o.what for o in board.objections()] == ["a.clicks moved, and should not have"]
    with pytest.raises(PlanError, match=r"no finding a\.click to"):
        board.say("ana@x", "ana@x", accepted={"a.click": "typo"})
    with pytest.raises(PlanError, match="without a reason"):
        board.say("ana@x", "ana@x", accepted={"a.clicks": " "})
    said = board.say("ana@x", "ana@x", accepted={"a.clicks": "bots are gone"}, at=TODAY + timedelta(hours=1))
    assert said.accepted == {"a.clicks": "bots are gone"}
    assert board.objections() == []


def test_a_change_that_nobody_compared() -> None:
    """A yes to rows that were not compared with what is shown is not enough; nor one from before the comparison."""
    board = Board()
    board.world.store.tables["proofs"].rows.clear()  # type: ignore[attr-defined]
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x")
    assert {o.what for o in board.objections()} == {"was not compared with what is shown:"}
    board.prove()
    assert all("not those any more" in o.what for o in board.objections())


def test_a_signature_that_does_not_count() -> None:
    """The reason is told, and the gate stays closed."""
    board = Board()
    board.say("eve@x", "ana@x", signature="forged")
    board.say("eve@x", "bo@x", signature="hers")
    found = board.objections(genuine=lambda a: "it is forged" if a.signature == "forged" else "")
    assert [o.model for o in found] == ["a"] and "it is forged" in found[0].what


def test_a_first_promotion_and_growth_need_nobody() -> None:
    """Nothing that is published changes."""
    world = World(*MODELS)
    assert world.plan().owners == ()
    board = Board()
    board.change()
    assert make_plan(board.world.project, board.world.facts(utc("2024-01-12T12:00")), Request()).owners == ()


def test_a_restatement_needs_the_owners_of_what_it_reaches() -> None:
    """Of the restated model and of its readers, for these days only."""
    board = Board()
    board.change()
    board.plan = board.build(Request(restate=(("a", days("03")),)))
    board.prove()
    facts = board.world.facts()
    about = subject(board.world.project, facts, board.review())
    assert {m: str(r) for m, r in about.scope.items()} == {"a": "2024-01-03", "b": "2024-01-03"}
    board.say("eve@x", "ana@x")
    board.say("eve@x", "bo@x")
    assert board.objections(plan=board.plan) == []


def test_an_approval_of_one_day_opens_one_day() -> None:
    """The whole of history was built and given up; new logic from the tenth on is approved. A promotion of everything
    that the code says is closed for all other days, though the version is the same, and days before the end are not
    taken for days that came since."""
    board = Board(ApprovalRules(self=True))
    end_abandoned(board.world.control, board.world.tables, "/w", board.plan, by="dev@x", views=lambda: None)
    board.plan = board.build(Request(forward_only=days("10").start))
    board.prove()
    board.say("dev@x", "ana@x")
    board.say("dev@x", "bo@x")
    assert board.objections(plan=board.plan) == []
    closed = [o for o in board.objections() if "approval" in o.what]
    assert [(o.model, str(o.intervals)) for o in closed] == [
        ("a", "2024-01-01..2024-01-09"),
        ("b", "2024-01-01..2024-01-09"),
    ]
    assert {str(o.intervals) for o in board.objections() if "compared" in o.what} == {"2024-01-01..2024-01-09"}

    board = Board(ApprovalRules(self=True))
    board.change()
    board.plan = board.build(Request(restate=(("a", days("03")),)))
    board.prove()
    board.say("dev@x", "ana@x")
    board.say("dev@x", "bo@x")
    board.change(a="2", b="2")
    closed = [o for o in board.objections() if "approval" in o.what]
    assert [str(o.intervals) for o in closed] == ["2024-01-01..2024-01-10"] * 2, "of day 3 other rows were approved"


def test_older_rows_that_a_shown_version_replaces() -> None:
    """New logic from the tenth on is shown. A plan of all days replaces nine published ones, of the version that is
    shown: it says whose approval that needs, and so does the gate."""
    board = Board(ApprovalRules(self=True))
    board.plan = board.build(Request(forward_only=days("10").start))
    board.prove()
    board.world.approve(board.plan)
    assert board.world.release(plan=board.plan).moved
    assert board.world.plan().owners == ("ana@x", "bo@x")
    board.plan = board.build()
    closed = [o for o in board.objections() if "approval" in o.what]
    assert [str(o.intervals) for o in closed] == ["2024-01-01..2024-01-09"] * 2


def test_what_a_move_rests_on_is_named() -> None:
    """One model of an approved plan is promoted by a request of its own: the packet names what was approved."""
    board = Board(ApprovalRules(self=True))
    board.change(a="2", b="2", c="2")
    board.plan = board.build()
    assert vouching(board.case(Request(select=("c",)))) == ()
    board.prove()
    board.say("dev@x", "cy@x")
    found = vouching(board.case(Request(select=("c",))))
    assert [(h.record.id, [a.owner for a in h.approvals]) for h in found] == [(board.plan, ["cy@x"])]


def test_one_model_of_an_approved_plan() -> None:
    """It may go alone where nothing else depends on it: these rows were approved."""
    board = Board(ApprovalRules(self=True))
    board.change(a="2", b="2", c="2")
    board.plan = board.build()
    board.prove()
    for owner in ("ana@x", "bo@x", "cy@x"):
        board.say("dev@x", owner)
    assert board.objections(Request(select=("c",))) == []
    assert [o.what for o in board.objections(Request(select=("a",)))] != []


def test_without_approvals_findings_count_as_well() -> None:
    """Nobody has to approve; yet a difference that was not expected closes the gate, until somebody accepts it."""
    board = Board(ApprovalRules(required=False))
    assert board.objections() == []
    board.prove(Finding(name="a.clicks", model="a", text="a.clicks moved, and should not have"))
    assert [o.what for o in board.objections()] == ["a.clicks moved, and should not have"]
    board.say("dev@x", "ana@x", accepted={"a.clicks": "bots are gone"})
    assert board.objections() == []
    board.world.store.tables["proofs"].rows.clear()  # type: ignore[attr-defined]
    assert {o.what for o in board.objections()} == {"was not compared with what is shown:"}


def test_a_statement_is_what_it_says() -> None:
    """As it is stored and signed, it is read back; one changed letter is another statement."""
    board = Board()
    said = board.say("eve@x", "ana@x", reason="looks right")
    claimed = replace(said, account="", host="", recorded=None)
    assert approval_of(said.statement) == claimed
    assert replace(said, by="mallory@x").statement != said.statement
