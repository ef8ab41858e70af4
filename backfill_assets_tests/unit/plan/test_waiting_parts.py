"""New logic from a day on, and what is computed again, wait for what they read as everything else does; the gate says
what for."""

from __future__ import annotations

import pytest

from backfill_assets.app.next_step import Step, next_step
from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.plan.stages import Blocked, Build, Plan, Request
from backfill_assets.promote.gate import gate
from backfill_assets_tests.fakes import START, World, a_model, a_project, days
from backfill_assets_tests.unit.plan.test_older_logic import released

WEEK = a_model("week", "raw", cadence=Cadence.WEEKLY)
DAY = a_model("day", "week")
SINCE = Request(forward_only=START)


@pytest.fixture
def world() -> World:
    """Ten days are shown; by now `week` has weeks, of which the second one is not over, and both say something else."""
    found = World(a_model("week", "raw"), DAY)
    released(found)
    found.project = a_project(WEEK, DAY, versions={"week": "2", "day": "2"})
    return found


def builds(plan: Plan) -> dict[str, str]:
    return {stage.model: str(stage.intervals) for stage in plan.stages if isinstance(stage, Build)}


@pytest.mark.parametrize("request_", [SINCE, Request()], ids=["from a day on", "whole"])
def test_days_of_a_week_that_is_not_over_wait(world: World, request_: Request) -> None:
    """A plan says so, builds the others, and is done with them when they are built."""
    plan = world.plan(request_)
    waits = Blocked(
        model="day", intervals=Ranges((days("08", "10"),)), count=3, upstream="week", needs=Ranges((days("08", "14"),))
    )
    assert plan.blocked == (waits,)
    # The second week is built as far as it is: prod shows days of it.
    assert builds(plan) == {"week": "2024-01-01..2024-01-14", "day": "2024-01-01..2024-01-07"}
    assert [s.count for s in plan.stages if isinstance(s, Build)] == [2, 7]
    assert plan.moves == (("week", "week-2"),)
    outcomes = apply(world.bench(patches=plan.patches, pins=plan.sources), plan)
    assert all(o.ok and not o.waits for o in outcomes.values())
    again = world.plan(request_)
    assert again.blocked == (waits,) and not builds(again)
    assert next_step(again).step is Step.WAIT


def test_the_gate_says_what_for(world: World) -> None:
    """It is no way on to promote both together: one of them waits."""
    plan = world.plan(SINCE)
    apply(world.bench(patches=plan.patches, pins=plan.sources), plan)
    found = gate(world.cases().promotion(SINCE, world.facts(), plan)).obstacles
    said = {o.model: o.remedy for o in found if "was built from" in o.what}
    assert said == {"day": "day waits for week 2024-01-08..2024-01-14: promote both when day is built"}
