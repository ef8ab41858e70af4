"""A plan says how else a history could be changed, what proves it then, and how it is asked for."""

from __future__ import annotations

from backfill_assets.build.apply import apply
from backfill_assets.core.codec import to_plain
from backfill_assets.plan.other_ways import other_ways
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.plan.strategy import PROOF, Strategy
from backfill_assets.promote.promote import promote
from backfill_assets_tests.fakes import World, a_model, a_project, gated

MODELS = (a_model("a", "raw"), a_model("b", "a"), a_model("c"))


def published() -> World:
    world = World(*MODELS)
    apply(world.bench(), world.plan())
    facts = world.facts()
    verdict = gated(world.project, facts, world.control.versions.all(), Request(), ("a", "b", "c"))
    promote(world.control.environments, facts.environment, verdict.pointers, None)
    return world


def offered(world: World, plan: Plan) -> list[tuple[str, Strategy, str]]:
    return [(o.model, o.strategy, o.command) for o in other_ways(plan, world.project.models)]


def test_a_changed_model_may_be_dual_run() -> None:
    """Not what follows it, which is dual-run with it; nor one about which somebody chose."""
    world = published()
    world.project = a_project(*MODELS, versions={"a": "2", "b": "2", "c": "1"})
    plan = world.plan(Request(why="clicks count once"))
    command = "backfill apply --strategy a=dual-run --why 'clicks count once'"
    assert offered(world, plan) == [("a", Strategy.DUAL_RUN, command)]
    (other,) = other_ways(plan, world.project.models)
    assert other.proof == PROOF[Strategy.DUAL_RUN] and to_plain(other)["strategy"] == "dual-run"
    chosen = world.plan(Request(strategies=(("a", "dual-run"),)))
    assert offered(world, chosen) == []
    assert chosen.held == ("a", "b"), "as the command says"


def test_nothing_is_offered_of_what_has_no_history() -> None:
    """A first plan, and one that only extends what is shown."""
    world = World(*MODELS)
    assert offered(world, world.plan()) == []
    assert offered(published(), published().plan()) == []
