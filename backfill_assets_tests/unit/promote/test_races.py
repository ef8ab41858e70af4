"""What others release between a look and its commit is judged anew: nothing is undone, nothing stands apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import PlanError, PromotionError
from backfill_assets.core.model import Project
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.extend import routine_case
from backfill_assets.promote.lifecycle import end_abandoned, store_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.release import Mover, Released, Sealing, release_case
from backfill_assets.state.environment import Environment, Environments
from backfill_assets.state.ledger import Entry, Kind, Ledger
from backfill_assets.state.plans import PlanRecord
from backfill_assets_tests.fakes import NOW, Catalog, FakeViews, World, a_project, attempted, days, sealed
from backfill_assets_tests.unit.promote.rollback_world import MODELS, ProjectHistory


def release(
    world: World, look: Callable[[], Case], meanwhile: Callable[[], object] = lambda: None
) -> tuple[Released, int]:
    """Move prod; `meanwhile` happens once, after the gate opened and before the commit. How often was it gated?"""
    looks: list[Case] = []
    happened: list[object] = []

    def counted() -> Case:
        looks.append(look())
        return looks[-1]

    def interrupted(release: Sealing) -> Mapping[str, str]:
        if not happened:
            happened.append(meanwhile())
        return sealed(release)

    return release_case(
        Mover(control=world.control, log=world.tables, environment="prod", views=None, by="ana"),
        attempted(counted),
        evidence=interrupted,
    ), len(looks)


def promotion(world: World, *select: str, **versions: str) -> Callable[[], Case]:
    """What a promotion of these models by code of these versions asks."""
    project = a_project(*MODELS, versions=versions)

    def look() -> Case:
        code, world.project = world.project, project
        request, facts = Request(select=select), world.facts()
        case = world.cases().promotion(request, facts, make_plan(project, facts, request))
        world.project = code
        return case

    return look


def build(world: World, **versions: str) -> None:
    world.project = a_project(*MODELS, versions=versions)
    apply(world.bench(), world.plan())


def built_twice() -> World:
    """Version 1 of a is shown; version 2 is built, compared and approved."""
    world = World(*MODELS)
    build(world)
    assert world.release(Request(select=("a",))).moved
    world.project = a_project(*MODELS, versions={"a": "2"})
    plan = world.plan(Request(select=("a",)))
    opened = store_plan(world.control, plan, by="ana", views=lambda: None, code=world.project.fingerprints)
    assert opened
    apply(world.bench(), plan)
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    return world


def test_two_promotions_that_do_not_fit() -> None:
    """Prod shows a. Bob promotes b, built from it; in between Ana promotes the next a. Bob is refused: b would stand
    beside an a that it was not built from."""
    world = built_twice()
    bob, ana = promotion(world, "b"), promotion(world, "a", a="2")
    done, looks = release(world, bob, meanwhile=lambda: release(world, ana))
    assert not done.moved and looks == 2
    assert [o.what for o in done.verdict.obstacles] == ["was built from a a-1, but prod would show a-2"]
    shown = world.control.environments.read("prod").pointers
    assert {n: p.version for n, p in shown.items()} == {"a": "a-2"}


def test_the_same_is_promoted_by_somebody_else() -> None:
    """Between two looks of one that is judged, the other one moves: the gate of the first is not told closed for what
    was read before, and is asked again."""
    world = built_twice()
    mine, first = promotion(world, "a", a="2"), list[object]()

    def look() -> Case:
        found = mine()
        if not first:
            first.append(release(world, mine)[0].moved)
            return replace(found, reviews=())  # plans that have ended by now are not read
        return found

    done, looks = release(world, look)
    assert first == [True] and looks == 2
    assert done.verdict.open and not done.verdict.moves


def test_two_promotions_that_fit() -> None:
    """A lost race that changes nothing for the loser is tried again, and both are shown."""
    world = World(*MODELS)
    build(world)
    done, looks = release(world, promotion(world, "c"), meanwhile=lambda: release(world, promotion(world, "a", "b")))
    assert done.moved and looks == 2
    assert set(world.control.environments.read("prod").pointers) == set("abc")


class Routine:
    """A routine run: it begins with what is shown, builds, and publishes."""

    def __init__(self, history: ProjectHistory) -> None:
        self.history, world = history, history.world
        self.project: Project = published(world.project, history.prod, world.control.versions.all())
        self.held: tuple[Obstacle, ...] = ()

    def build(self) -> None:
        world, code = self.history.world, self.history.world.project
        world.project = self.project
        plan = world.plan(now=self.history.now)
        assert plan.work
        apply(world.bench(now=self.history.now), plan)
        world.project = code

    def look(self) -> Case:
        world, code = self.history.world, self.history.world.project
        world.project = self.project
        facts = world.facts(self.history.now)

        def case(plan: Plan) -> Case:
            return world.cases().promotion(Request(), facts, plan)

        found, self.held = routine_case(self.project, facts, case)
        world.project = code
        return found


@pytest.fixture
def history() -> ProjectHistory:
    """Version 2 of a and b is shown, and a day more has begun to be over."""
    history = ProjectHistory()
    history.release()
    history.change(a="2", b="2")
    history.release()
    history.now += (history.now - history.now.replace(hour=0)) * 2
    return history


@pytest.mark.parametrize("when", ["before the look", "before the commit"])
def test_a_rollback_during_a_routine_run_stays(history: ProjectHistory, when: str) -> None:
    """The run began with version 2 of a and b; somebody goes back to version 1 while it builds, or just before its
    commit. It publishes its day of c, and leaves a and b alone."""
    routine = Routine(history)
    routine.build()
    undone: list[bool] = []

    def back() -> None:
        undone.append(history.back(at_once=True).moved is not None)

    if when == "before the look":
        back()
    done, _ = release(history.world, routine.look, meanwhile=lambda: None if undone else back())
    assert undone == [True] and done.moved
    assert {n: p.version for n, p in history.prod.pointers.items()} == {"a": "a-1", "b": "b-1", "c": "c-1"}
    assert [p.model for p in done.verdict.pointers] == ["c"]
    assert {o.model: o.what.partition(",")[0] for o in routine.held} == {
        "a": "shows a-1 by now",
        "b": "shows b-1 by now",
    }


def test_a_routine_run_alone(history: ProjectHistory) -> None:
    """Publishes all of it."""
    routine = Routine(history)
    routine.build()
    done, looks = release(history.world, routine.look)
    assert done.moved and looks == 1 and not routine.held
    assert {p.model for p in done.verdict.pointers} == set("abc")


def only(world: World) -> PlanRecord:
    (plan,) = (p for p in world.control.plans.all() if p.live)
    return plan


def test_a_day_that_is_withdrawn_before_the_commit_is_not_published() -> None:
    """All is judged again, and the day is not built any more."""
    world = World(*MODELS)
    build(world)

    def meanwhile() -> None:
        assert withdraw(world.control, world.tables, world.project, [("a", days("05"))], now=NOW, by="bo")

    done, looks = release(world, promotion(world, "a"), meanwhile)
    assert looks == 2 and not done.moved
    assert not world.control.environments.read("prod").pointers


def test_a_day_that_is_withdrawn_after_the_last_check_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between that and the commit: the commit loses its race, and all is judged again."""
    world, commit = World(*MODELS), Environments._commit
    build(world)

    def late(self: Environments, *given: Any) -> Environment:
        monkeypatch.undo()
        assert withdraw(world.control, world.tables, world.project, [("a", days("05"))], now=NOW, by="bo")
        return commit(self, *given)

    monkeypatch.setattr(Environments, "_commit", late)
    done, looks = release(world, promotion(world, "a"))
    assert looks == 2 and not done.moved
    assert not world.control.environments.read("prod").pointers


def test_a_day_that_is_published_while_it_is_withdrawn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The promotion was first, after the withdrawal had its look: whoever withdraws is told, with what to do."""
    world, append = World(*MODELS), Ledger.append
    build(world)

    def late(self: Ledger, entries: Sequence[Entry]) -> None:
        monkeypatch.undo()
        done, _ = release(world, promotion(world, "a"))
        assert done.moved
        append(self, entries)

    monkeypatch.setattr(Ledger, "append", late)
    with pytest.raises(PlanError, match="a 2024-01-05 was published while it was withdrawn") as told:
        withdraw(world.control, world.tables, world.project, [("a", days("05"))], now=NOW, by="bo")
    assert told.value.fix.endswith("backfill apply --restate a:2024-01-05")


def test_a_plan_that_is_abandoned_before_the_commit_approves_nothing() -> None:
    """Its approvals were the plan's."""
    world = built_twice()
    plan = only(world)

    def meanwhile() -> None:
        end_abandoned(world.control, world.tables, "w", plan.id, by="bo", views=lambda: None)

    done, looks = release(world, promotion(world, "a", a="2"), meanwhile)
    assert looks == 2 and not done.moved
    assert world.control.environments.read("prod").pointers["a"].version == "a-1"


def test_what_is_recorded_while_views_are_expanded_counts() -> None:
    """The check is right before the commit: with a shared catalog that is seconds after the packet."""
    world = built_twice()
    plan = only(world)

    def meanwhile(step: str) -> None:
        if step == "expand a":
            end_abandoned(world.control, world.tables, "w", plan.id, by="bo", views=lambda: None)

    catalog = Catalog()
    catalog.views["a"] = world.control.environments.read("prod").pointers["a"]
    views, look = FakeViews(catalog, hook=meanwhile), promotion(world, "a", a="2")
    done = release_case(
        Mover(control=world.control, log=world.tables, environment="prod", views=views, by="ana"),
        attempted(look),
        evidence=sealed,
    )
    assert not done.moved
    shown = world.control.environments.read("prod")
    assert shown.pointers["a"].version == "a-1" and shown.promotion is None
    assert catalog.views == shown.pointers


def record(world: World, version: str) -> None:
    """A build says something of a version of a that changes nothing of it."""
    entry = Entry(
        kind=Kind.AUDITED, model="a", version=version, interval=days("01"), table_commit=1, batch="another", at=NOW
    )
    world.control.ledger.append([entry])


def test_a_build_of_another_version_does_not_hold_a_promotion_up() -> None:
    """Nothing of it would be shown: nobody looks again."""
    world = World(*MODELS)
    build(world)
    done, looks = release(world, promotion(world, "a"), lambda: record(world, "a-9"))
    assert done.moved and looks == 1


@pytest.mark.parametrize(("times", "moves"), [(3, True), (99, False)])
def test_records_that_change_nothing_are_judged_again_and_the_packet_stands(times: int, moves: bool) -> None:
    """What would be shown is written about in every attempt. The packet is written once; when it never ends, the
    promotion gives up and has moved nothing."""
    world, looks, packets = World(*MODELS), list[Case](), list[Sealing]()
    build(world)
    look = promotion(world, "a")

    def busy() -> Case:
        looks.append(look())
        if len(looks) <= times:
            record(world, "a-1")
        return looks[-1]

    def evidence(sealing: Sealing) -> Mapping[str, str]:
        packets.append(sealing)
        return sealed(sealing)

    def go() -> Released:
        return release_case(
            Mover(control=world.control, log=world.tables, environment="prod", views=None, by="ana"),
            attempted(busy),
            evidence=evidence,
        )

    if moves:
        assert go().moved and len(looks) == times + 1
    else:
        with pytest.raises(PromotionError, match="too busy"):
            go()
    assert bool(world.control.environments.read("prod").pointers) is moves
    assert len(packets) == 1
