"""A plan from its opening to its end: stored, shown beside prod, superseded, promoted or abandoned."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError, PlanError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Audit
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.lifecycle import (
    Abandoned,
    Opened,
    end_abandoned,
    end_applied,
    end_promoted,
    find_plan,
    move_candidate,
    read_claim,
    store_plan,
)
from backfill_assets.promote.promote import promote
from backfill_assets.promote.undone import rolled_back_plans
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanStatus
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import NOW, Cell, World, a_model, a_project, days, gated

MODELS = (a_model("a", "raw"), a_model("b", "a"), a_model("c"))


def undone(control: Control) -> dict[str, str]:
    """Plan → what `plans` says that rollbacks took of it."""
    return {plan: str(found) for plan, found in rolled_back_plans(control, control.plans.all()).items()}


def no_views() -> None:
    """There is no shared catalog."""


class Desk:
    """A world whose code changes, and what its people do there."""

    def __init__(self) -> None:
        self.world = World(*MODELS)

    @property
    def prod(self) -> Environment:
        return self.world.control.environments.read("prod")

    def shown(self, name: str) -> dict[str, str]:
        """Model → version and days, of an environment."""
        pointers = self.world.control.environments.read(name).pointers
        return {m: f"{p.version} {p.covers}" for m, p in pointers.items()}

    def change(self, **versions: str) -> None:
        """Other code: from now on the models have these versions ("1" otherwise)."""
        self.world.project = a_project(*MODELS, versions=versions)

    def open(self, by: str = "ana") -> Opened:
        found = store_plan(
            self.world.control, self.world.plan(), by=by, views=no_views, code=self.world.project.fingerprints
        )
        assert found is not None
        return found

    def apply(self, by: str = "ana", plan: Plan | None = None) -> Opened:
        """What `backfill apply` does."""
        plan = plan or self.world.plan()
        found = store_plan(self.world.control, plan, by=by, views=no_views, code=self.world.project.fingerprints)
        assert found is not None
        apply(self.world.bench(), plan)
        self.show(found.plan.id)
        return found

    def show(self, plan: str) -> Environment | None:
        return move_candidate(self.world.control, self.world.project, self.world.facts, plan, by="ana", views=no_views)

    def promote(self) -> None:
        """What `backfill promote` does."""
        facts, plan = self.world.facts(), self.world.plan()
        verdict = gated(self.world.project, facts, self.world.control.versions.all(), plan.request, plan.models)
        assert verdict.open, verdict
        moved = promote(self.world.control.environments, facts.environment, verdict.pointers, None)
        end_promoted(self.world.control, moved, by="ana", views=no_views)

    def abandon(self, plan: str) -> Abandoned:
        return end_abandoned(self.world.control, self.world.tables, "/w", plan, by="ana", views=no_views)

    def status(self, plan: str) -> PlanStatus:
        return find_plan(self.world.control, plan).status


@pytest.fixture
def desk() -> Desk:
    """Version 1 of everything is in prod; the code says version 2 of a and b."""
    desk = Desk()
    desk.apply()
    desk.promote()
    desk.change(a="2", b="2")
    return desk


def test_an_empty_plan_is_not_stored() -> None:
    """Nothing to do, nothing to remember."""
    desk = Desk()
    desk.apply()
    desk.promote()
    before = desk.world.control.plans.all()
    assert (
        store_plan(
            desk.world.control, desk.world.plan(), by="ana", views=no_views, code=desk.world.project.fingerprints
        )
        is None
    )
    assert desk.world.control.plans.all() == before


def test_what_it_is_for_is_said_once(desk: Desk) -> None:
    """The first word is kept, also when it comes with a later apply; it makes no other plan. Another is refused."""
    world, why = desk.world, "clicks count once"
    opened = desk.apply()
    told = world.plan(Request(why=why))
    claim = read_claim(world.control, told, by="ana", code=world.project.fingerprints)
    assert told.id == world.plan().id and claim.continues and claim.continues.id == opened.plan.id
    again = store_plan(world.control, told, by="bob", views=no_views, code=world.project.fingerprints)
    assert again is not None and again.plan == claim.continues and world.control.plans.why(opened.plan.id) == why
    desk.apply()  # without a word: it goes on
    with pytest.raises(PlanError) as refused:
        store_plan(
            world.control,
            world.plan(Request(why="something else")),
            by="ana",
            views=no_views,
            code=world.project.fingerprints,
        )
    assert why in str(refused.value) and f"backfill abandon {opened.plan.id}" in refused.value.fix
    desk.abandon(opened.plan.id)
    other = store_plan(
        world.control,
        world.plan(Request(why="something else")),
        by="ana",
        views=no_views,
        code=world.project.fingerprints,
    )
    assert other is not None and world.control.plans.why(other.plan.id) == "something else"


def test_the_candidate_shows_new_beside_old(desk: Desk) -> None:
    """Its models at the new versions, the others as in prod; prod is what it was."""
    before = desk.prod.pointers
    done = desk.apply()
    assert desk.shown(done.plan.candidate) == {
        "a": "a-2 2024-01-01..2024-01-10",
        "b": "b-2 2024-01-01..2024-01-10",
        "c": "c-1 2024-01-01..2024-01-10",
    }
    assert desk.status(done.plan.id) is PlanStatus.APPLIED
    assert desk.prod.pointers == before


def test_the_candidate_of_a_forward_only_plan_shows_old_rows_before_the_day(desk: Desk) -> None:
    """As prod would look after it: older rows until the day, new ones from then on, as far as they are green."""

    def fail(job: Job, interval: Interval) -> None:
        if interval.start >= days("10").start:
            raise BuildError("no")

    desk.world.engine.before_write = fail
    plan = desk.world.plan(Request(forward_only=days("07").start))
    done = desk.apply(plan=plan)
    [old, new] = desk.world.control.environments.read(done.plan.candidate).pointers["a"].segments
    assert (old.version, str(old.interval)) == ("a-1", "2024-01-01..2024-01-06")
    assert (new.version, str(new.interval)) == ("a-2", "2024-01-07..2024-01-09")


def test_the_candidate_shows_only_green_days(desk: Desk) -> None:
    """What failed is not shown, nor what waits for it; it is not replaced by the old rows either."""

    def fail(job: Job, interval: Interval) -> None:
        if job.model.name == "a" and interval.start < days("07").start:
            raise BuildError("no")

    desk.world.engine.before_write = fail
    done = desk.apply()
    shown = desk.shown(done.plan.candidate)
    assert shown["a"] == "a-2 2024-01-07..2024-01-10"
    assert shown["b"].startswith("b-2 2024-01-0") and "2024-01-01" not in shown["b"]
    assert desk.status(done.plan.id) is PlanStatus.OPEN


@pytest.mark.parametrize("red", [False, True])
def test_a_plan_that_audits_what_is_shown_moves_nothing(red: bool) -> None:
    """Where its audits pass it is applied, and the next promotion ends it; where one fails it is not done, and what the
    plan after it says of the model is that it is red."""
    desk, days_late = Desk(), {days("05").start}
    desk.world.engine.cell = lambda job, unit: Cell(failures={"present": int(red and unit.start in days_late)})
    desk.apply()
    desk.promote()
    audits = (*MODELS[0].audits, Audit(name="present", kind="not_null", arguments={"columns": ("ds",)}))
    desk.world.project = a_project(replace(MODELS[0], audits=audits), *MODELS[1:])
    done = desk.apply()
    assert done.plan.versions == {"a": "a-1"}
    end_applied(desk.world.control, desk.prod, by="ana", views=no_views)
    assert desk.status(done.plan.id) is (PlanStatus.OPEN if red else PlanStatus.PROMOTED)
    plan = desk.world.plan()
    assert not plan.work
    assert plan.kept["a"] == ("complete; 2024-01-05 is red, and stays shown" if red else "complete and audited")


def test_a_plan_that_built_what_nobody_sees_is_not_over() -> None:
    """What was shown of an open day is of the same version, and not what the plan built of it."""
    desk = Desk()
    world, noon, later = desk.world, NOW, NOW + timedelta(days=1)
    asked = Request(ignore_cron=True)
    apply(world.bench(now=noon), world.plan(asked, noon))
    facts, plan = world.facts(noon), world.plan(asked, noon)
    verdict = gated(world.project, facts, world.control.versions.all(), asked, plan.models)
    assert verdict.open and promote(world.control.environments, facts.environment, verdict.pointers, None)
    plan = world.plan(Request(), later)
    assert {str(s.intervals) for s in plan.work} == {"2024-01-11"}
    found = store_plan(world.control, plan, by="ana", views=no_views, code=world.project.fingerprints)
    assert found is not None
    apply(world.bench(now=later), plan)
    world.control.plans.mark([found.plan], PlanStatus.APPLIED, by="ana", at=later)
    end_applied(world.control, desk.prod, by="bob", views=no_views)
    assert desk.status(found.plan.id) is PlanStatus.APPLIED


def test_nothing_green_is_not_shown_at_all(desk: Desk) -> None:
    """A query finds no view, instead of prod's rows under a plan's name."""
    done = desk.open()
    desk.show(done.plan.id)
    assert set(desk.shown(done.plan.candidate)) == {"c"}


def test_applying_again_goes_on_with_the_same_plan(desk: Desk) -> None:
    """What is left after a failure is no new plan: the candidate that people know is updated."""

    def fail(job: Job, interval: Interval) -> None:
        if job.model.name == "b":
            raise BuildError("no")

    desk.world.engine.before_write = fail
    first = desk.apply()
    desk.world.engine.before_write = lambda job, interval: None
    rest = desk.world.plan()
    assert (
        rest.id != first.plan.id
        and read_claim(desk.world.control, rest, by="ana", code=desk.world.project.fingerprints).continues == first.plan
    )
    second = desk.apply(by="bob")
    assert second.plan.id == first.plan.id and second.plan.by == "ana"
    assert desk.shown(first.plan.candidate)["b"] == "b-2 2024-01-01..2024-01-10"
    assert desk.status(first.plan.id) is PlanStatus.APPLIED


def test_another_persons_plan_is_in_the_way(desk: Desk) -> None:
    """Told by `look`, refused by `store_plan` with a way out; nothing is stored."""
    other = desk.open(by="ana").plan
    desk.change(a="3", b="2", c="2")
    plan = desk.world.plan()
    [collision] = read_claim(desk.world.control, plan, by="bob", code=desk.world.project.fingerprints).collisions
    assert (collision.plan, collision.models) == (other, ("a",))
    with pytest.raises(PlanError) as refused:
        desk.apply(by="bob")
    text = str(refused.value)
    assert f"plan {other.id} (by ana, since " in text and "also changes a" in text
    assert (
        "why: " in text
        and f"fix: wait until it is promoted and plan again, or end it with `backfill abandon {other.id}`" in text
    )
    assert [r.id for r in desk.world.control.plans.all() if r.live] == [other.id]


def test_several_plans_are_open_at_once(desk: Desk) -> None:
    """On different models; each has its candidate, and neither sees the other's rows."""
    desk.change(a="2", b="2")
    ana = desk.apply(by="ana").plan
    desk.change(c="2")
    bob = desk.apply(by="bob").plan
    assert {r.id for r in desk.world.control.plans.all() if r.live} == {ana.id, bob.id}
    assert desk.shown(ana.candidate)["c"].startswith("c-1") and desk.shown(bob.candidate)["c"].startswith("c-2")
    assert desk.shown(bob.candidate)["a"].startswith("a-1")


def test_newer_code_of_the_same_person_supersedes(desk: Desk) -> None:
    """The older plan ends by itself, with its candidate; a build that is still at it does not bring that back."""
    old = desk.apply().plan
    desk.change(a="3", b="3")
    new = desk.apply()
    assert [r.id for r in new.superseded] == [old.id]
    assert desk.status(old.id) is PlanStatus.SUPERSEDED and desk.shown(old.candidate) == {}
    assert desk.show(old.id) is None and desk.shown(old.candidate) == {}
    assert desk.shown(new.plan.candidate)["a"].startswith("a-3")


def test_a_promotion_ends_the_plan(desk: Desk) -> None:
    """It is promoted, and prod shows what the candidate showed."""
    plan = desk.apply().plan
    wanted = desk.shown(plan.candidate)
    desk.promote()
    assert desk.status(plan.id) is PlanStatus.PROMOTED
    assert desk.shown(plan.candidate) == {} and desk.shown("prod") == wanted
    with pytest.raises(PlanError, match="cannot be abandoned"):
        desk.abandon(plan.id)


def test_a_rollback_undoes_a_plan(desk: Desk) -> None:
    """It was promoted; what it brought is not shown any more: `plans` names the release that took it away, until that
    comes back."""
    before = desk.prod
    plan = desk.apply().plan
    desk.promote()
    control = desk.world.control
    assert undone(control) == {}
    newer = desk.prod
    older = [before.pointers[n] for n in "ab"]
    promote(control.environments, newer, older, None, release="r9", note=ReleaseNote(by="bob", back_to="r1"))
    assert undone(control) == {plan.id: "undone by r9"}
    promote(
        control.environments,
        desk.prod,
        [newer.pointers[n] for n in "ab"],
        None,
        note=ReleaseNote(by="bob", back_to="r2"),
    )
    assert plan.id not in undone(control)


def test_a_rollback_before_a_promotion_did_not_undo_it(desk: Desk) -> None:
    """The same rows were shown, taken back, and promoted again as a plan; what replaced that was no rollback."""
    before = desk.prod.pointers
    plan = desk.apply().plan
    desk.promote()
    control, environments = desk.world.control, desk.world.control.environments
    mine, older = ([pointers[n] for n in "ab"] for pointers in (desk.prod.pointers, before))
    promote(environments, desk.prod, older, None, note=ReleaseNote(by="bob", back_to="r1"))
    promote(environments, desk.prod, mine, None, note=ReleaseNote(by="ana", evidence={plan.id: "its packet"}))
    promote(environments, desk.prod, older, None, note=ReleaseNote(by="eve"))
    assert undone(control) == {}
    promote(environments, desk.prod, mine, None, note=ReleaseNote(by="eve"))
    promote(environments, desk.prod, older, None, release="r9", note=ReleaseNote(by="bob", back_to="r1"))
    assert undone(control) == {plan.id: "undone by r9"}


def test_a_rollback_of_a_part(desk: Desk) -> None:
    """It is told of the models that it took away; the others are still shown as the plan built them."""
    before = desk.prod.pointers
    plan = desk.apply().plan
    desk.promote()
    control = desk.world.control
    promote(
        control.environments,
        desk.prod,
        [before["a"]],
        None,
        release="r9",
        note=ReleaseNote(by="bob", back_to="r1"),
    )
    assert undone(control) == {plan.id: "a undone by r9"}
    promote(
        control.environments, desk.prod, [before["b"]], None, release="r10", note=ReleaseNote(by="bob", back_to="r1")
    )
    assert undone(control) == {plan.id: "a undone by r9; b undone by r10"}


def test_a_redo_does_not_undo_an_older_plan(desk: Desk) -> None:
    """A newer plan replaced one model of it; a rollback brought that back, and another one took the rollback back."""
    control, environments = desk.world.control, desk.world.control.environments
    first = desk.apply().plan
    old = desk.prod
    desk.promote()
    mine = desk.prod.pointers
    promote(environments, desk.prod, [old.pointers[n] for n in "ab"], None, note=ReleaseNote(by="eve"))
    note = ReleaseNote(by="ana", evidence={first.id: "its packet"})
    promote(environments, desk.prod, [mine[n] for n in "ab"], None, release="r2", note=note)
    desk.change(a="2", b="3")
    second = desk.apply().plan
    desk.promote()
    newer, redone = desk.prod, control.releases.all("prod")[-1].id
    promote(environments, desk.prod, [mine["b"]], None, release="r4", note=ReleaseNote(by="bob", back_to="r2"))
    assert undone(control) == {second.id: "undone by r4"}
    promote(environments, desk.prod, [newer.pointers["b"]], None, note=ReleaseNote(by="bob", back_to=redone))
    assert undone(control) == {}


def test_growth_takes_no_lease_and_ends_with_its_promotion(desk: Desk) -> None:
    """A day more of what prod shows: open until prod shows that day, and in nobody's way."""
    desk.change()
    later = days("12").start
    world, plan = desk.world, desk.world.plan(now=later)
    found = store_plan(world.control, plan, by="ana", views=no_views, code=world.project.fingerprints)
    assert found is not None
    end_promoted(world.control, desk.prod, by="ana", views=no_views)
    assert desk.status(found.plan.id) is PlanStatus.OPEN
    desk.change(a="2", b="2")
    assert not read_claim(world.control, world.plan(), by="bob", code=world.project.fingerprints).collisions


def test_abandoning_leaves_prod_as_it_was(desk: Desk) -> None:
    """The record is all that is left; the janitor gets the tables that only the plan had. Again is harmless."""
    before = desk.prod.pointers
    plan = desk.apply().plan
    done = desk.abandon(plan.id)
    assert not done.already and done.plan.status is PlanStatus.ABANDONED
    assert [(f.model, f.version, f.path) for f in done.freed] == [("a", "a-2", "/w/a/a-2"), ("b", "b-2", "/w/b/b-2")]
    assert all(f.bytes > 0 for f in done.freed)
    assert desk.shown(plan.candidate) == {} and desk.prod.pointers == before
    again = desk.abandon(f"plan-{plan.id[:6]}")
    assert again.already and again.freed == done.freed and again.plan == done.plan


def test_what_another_plan_needs_is_not_freed(desk: Desk) -> None:
    """A table that another open plan builds, or reads, stays; so does what an environment shows."""
    one = desk.apply().plan
    desk.change(a="2", b="3")
    world = desk.world
    other = store_plan(world.control, world.plan(), by="ana", views=no_views, code=world.project.fingerprints)
    assert other is not None and [r.id for r in other.superseded] == [one.id]
    assert [f.version for f in desk.abandon(one.id).freed] == ["b-2"]
    assert [f.version for f in desk.abandon(other.plan.id).freed] == ["a-2"]


def test_after_abandoning_it_can_be_applied_again(desk: Desk) -> None:
    """What was built is still there: the candidate comes back without building anything."""
    plan = desk.apply().plan
    desk.abandon(plan.id)
    writes = len(desk.world.engine.writes)
    again = desk.apply()
    assert len(desk.world.engine.writes) == writes
    assert desk.shown(again.plan.candidate)["a"] == "a-2 2024-01-01..2024-01-10"


def test_an_unknown_plan_is_told_from_those_that_are_close(desk: Desk) -> None:
    """A typo gets its correction."""
    plan = desk.apply().plan
    wrong = plan.id[:-1] + ("0" if plan.id[-1] != "0" else "1")
    with pytest.raises(PlanError) as refused:
        desk.abandon(wrong)
    assert f"no plan {wrong}" in str(refused.value) and plan.id in refused.value.fix


def test_a_version_of_other_code_stays_as_it_is_shown(desk: Desk) -> None:
    """Somebody with other code in the working copy updates a candidate: what is not known there is left alone."""
    plan = desk.apply().plan
    before = desk.shown(plan.candidate)
    desk.change(a="9")
    desk.show(plan.id)
    assert desk.shown(plan.candidate) == before


def test_two_processes_update_a_candidate_at_once(desk: Desk) -> None:
    """Whoever loses the race looks again."""
    plan = desk.apply().plan
    desk.abandon(plan.id)
    again = desk.open().plan
    asked: list[int] = []

    def facts() -> Facts:
        asked.append(1)
        found = desk.world.facts()
        if len(asked) == 1:
            assert desk.show(again.id) is not None
            heads = found.tables.heads
            return replace(found, tables=replace(found.tables, heads={**heads, "a": heads["a"] - 1}))
        return found

    shown = move_candidate(desk.world.control, desk.world.project, facts, again.id, by="ana", views=no_views)
    assert shown is not None and len(asked) == 2
    assert shown.pointers["a"].segments[0].commit == desk.world.tables.head("a", "a-2")
