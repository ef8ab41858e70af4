"""A part of a plan, as somebody names it: just these days of these models, and the plan stays whole."""

from __future__ import annotations

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.plan.part import part_plan
from backfill_assets.plan.stages import Build
from backfill_assets_tests.fakes import World, a_model, days, ranges

MODELS = (a_model("a", "raw", batch_size=3), a_model("b", "a"), a_model("m", "raw", cadence=Cadence.MONTHLY))


def test_only_these_days_are_built() -> None:
    """In batches of their own, whatever the plan's are; nothing of others, no approval and no promotion."""
    world = World(*MODELS)
    plan = world.plan()
    part = part_plan(plan, world.project, [("a", days("02", "03")), ("a", days("05"))])
    [stage] = part.stages
    assert isinstance(stage, Build)
    assert (stage.model, stage.intervals, stage.count) == ("a", ranges(days("02", "03"), days("05")), 3)
    assert stage.batches == (days("02", "03"), days("05"))
    apply(world.bench(), part)
    assert {e.model for e in world.control.ledger.entries()} == {"a"}
    left = {s.model: s.intervals for s in world.plan().work}
    assert left["a"] == ranges(days("01"), days("04"), days("06", "10")) and left["b"] == ranges(days("01", "10"))


def test_days_are_made_whole_intervals() -> None:
    """Somebody who names a day of a month means the month."""
    world = World(a_model("m", "raw", cadence=Cadence.WEEKLY))
    part = part_plan(world.plan(), world.project, [("m", days("03"))])
    assert [s.intervals for s in part.work] == [ranges(Interval.of("2024-01-01", "2024-01-08"))]


@pytest.mark.parametrize(("model", "day"), [("a", "02"), ("nosuch", "05")])
def test_where_nothing_is_to_be_done_it_is_said(model: str, day: str) -> None:
    """Of days that are complete, and of models that the plan does not build: with what is missing."""
    world = World(*MODELS)
    apply(world.bench(), part_plan(world.plan(), world.project, [("a", days("02"))]))
    with pytest.raises(PlanError, match=f"nothing is to be done of {model} 2024-01-{day}") as told:
        part_plan(world.plan(), world.project, [("b", days("03")), (model, days(day))])
    assert "a 2024-01-01, 2024-01-03..2024-01-10" in told.value.why
    with pytest.raises(PlanError) as told:
        part_plan(_complete(world), world.project, [("a", days("03"))])
    assert told.value.why == "the plan is complete"


def _complete(world: World):
    apply(world.bench(), world.plan())
    return world.plan()
