"""A sample of a plan is a part of it: a few intervals, what they need, and no promotion."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.sample import sample_plan
from backfill_assets.plan.stages import Build, Plan, Promote
from backfill_assets_tests.fakes import NOW, World, a_model, days, ranges

MODELS = (a_model("a", "raw"), a_model("b", "a", lookback=2), a_model("c"))


def a_world() -> World:
    return World(*MODELS)


def built(plan: Plan) -> Mapping[str, Ranges]:
    return {s.model: s.intervals for s in plan.stages if isinstance(s, Build)}


def test_a_few_intervals_and_what_they_need() -> None:
    """b looks back two days, so that a has three for each of b; c, which nobody reads, has its own."""
    world = a_world()
    plan = world.plan()
    some = sample_plan(plan, world.project, 2)
    two = ranges(days("01"), days("10"))
    assert built(some) == {"a": ranges(days("01"), days("08", "10")), "b": two, "c": two}
    assert [s.count for s in some.stages if isinstance(s, Build)] == [4, 2, 2]


def test_nothing_is_promoted_by_it() -> None:
    world = a_world()
    assert any(isinstance(s, Promote) for s in world.plan().stages)
    assert not any(isinstance(s, Promote) for s in sample_plan(world.plan(), world.project, 1).stages)


def test_what_it_built_is_kept() -> None:
    """It is a part of the whole: what is left does not have it, and it asks for nothing that is there."""
    world = a_world()
    apply(world.bench(), sample_plan(world.plan(), world.project, 1))
    left = world.plan()
    assert built(left)["a"] == ranges(days("01", "07")) and built(left)["b"] == ranges(days("01", "09"))
    again = sample_plan(left, world.project, 1)
    assert built(again) == {"a": ranges(days("07")), "b": ranges(days("09")), "c": ranges(days("09"))}


def test_all_of_a_short_plan() -> None:
    world = a_world()
    plan = world.plan(now=NOW)
    assert built(sample_plan(plan, world.project, 100)) == built(plan)
