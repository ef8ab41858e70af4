"""What others release between a look and its commit is judged anew: nothing is undone, nothing stands apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.model import Project
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.extend import routine_case
from backfill_assets.promote.gate import Case
from backfill_assets.promote.lifecycle import open_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.release import Released, Sealing, release_case
from backfill_assets_tests.fakes import World, a_project, attempted, sealed
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
        world.control, world.tables, "prod", None, attempted(counted), by="ana", evidence=interrupted
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


def test_two_promotions_that_do_not_fit() -> None:
    """Prod shows a. Bob promotes b, built from it; in between Ana promotes the next a. Bob is refused: b would stand
    beside an a that it was not built from."""
    world = World(*MODELS)
    build(world)
    assert world.release(Request(select=("a",))).moved
    world.project = a_project(*MODELS, versions={"a": "2"})
    plan = world.plan(Request(select=("a",)))
    opened = open_plan(world.control, plan, by="ana", views=lambda: None)
    assert opened
    apply(world.bench(), plan)
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    bob, ana = promotion(world, "b"), promotion(world, "a", a="2")
    done, looks = release(world, bob, meanwhile=lambda: release(world, ana))
    assert not done.moved and looks == 2
    assert [o.what for o in done.verdict.obstacles] == ["was built from a a-1, but prod would show a-2"]
    shown = world.control.environments.read("prod").pointers
    assert {n: p.version for n, p in shown.items()} == {"a": "a-2"}


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
