"""Rows are shown beside those that they were computed from: not beside others of an upstream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stages import Request
from backfill_assets.promote.approve import complete
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.gate import gate, judge_rows
from backfill_assets.promote.lifecycle import find_plan, store_plan
from backfill_assets_tests.fakes import NOW, World, a_model, a_project, days, ranges
from backfill_assets_tests.unit.promote.rollback_world import MODELS as HISTORY
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

MODELS = (a_model("a", "raw"), a_model("b", "a"), a_model("c", "b"))


def changed(world: World, **versions: str) -> None:
    world.project = a_project(*MODELS, versions=versions)


def case(world: World, request: Request | None = None, purpose: Purpose = Purpose.PROMOTION) -> Case:
    facts, request = world.facts(), request or Request()
    return world.cases(required=False).promotion(request, facts, world.plan(request), purpose=purpose)


def older(case: Case) -> Mapping[str, str]:
    found = [o for o in gate(case).obstacles if "was computed from other rows" in o.what]
    return {o.model: f"{o.intervals}: {o.remedy}" for o in found}


def built(world: World, request: Request | None = None) -> str:
    plan = world.plan(request)
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    apply(world.bench(patches=plan.patches, pins=plan.sources), plan)
    return opened.plan.id


def released(world: World, request: Request | None = None) -> None:
    plan = built(world, request)
    world.prove(plan)
    world.approve(plan)
    assert world.release(plan=plan).verdict.obstacles == ()


@pytest.fixture
def world() -> World:
    """Ten days of a, b and c are shown; b reads a, and c reads b."""
    found = World(*MODELS)
    released(found)
    return found


RESTATED = Request(restate=(("a", days("03")),))


def test_a_plan_from_before_a_correction_of_its_upstream(world: World) -> None:
    """c was built anew, then a day of a was restated with its readers. What c has of that day is of older rows."""
    changed(world, c="2")
    built(world)
    assert older(case(world)) == {}
    changed(world)
    released(world, RESTATED)
    changed(world, c="2")
    assert case(world).older.upstreams and not case(world, purpose=Purpose.ROUTINE).older.upstreams, (
        "daily runs go on, and do not look"
    )
    closed = older(case(world))
    assert [*closed] == ["c"] and closed["c"].startswith("2024-01-03: backfill withdraw c:2024-01-03, then backfill ap")
    held = case(world)
    lost = replace(held.wanted.wanted[0], model="b", lost=ranges(days("09", "10")))
    held = replace(held, wanted=replace(held.wanted, wanted=(*held.wanted.wanted, lost)))
    assert older(held)["c"].endswith("mend b first: then backfill apply looks at this again"), "b does not move"
    lacks = replace(lost, lost=ranges(), publish=ranges(days("29", "30")))
    held = replace(held, wanted=replace(held.wanted, wanted=(*held.wanted.wanted[:-1], lacks)))
    assert older(held)["c"].endswith("mend b first: then backfill apply looks at this again"), "nor while a day lacks"
    withdraw(world.control, world.tables, world.project, [("c", days("03"))], now=NOW, by="dev")
    built(world)
    assert older(case(world)) == {}


def test_nobody_is_asked_to_approve_it(world: World) -> None:
    """What the gate refuses is not complete: no comparison is made and no approval taken of it; the remedy is the
    gate's."""
    changed(world, c="2")
    stored = built(world)
    changed(world)
    released(world, RESTATED)
    changed(world, c="2")
    record = find_plan(world.control, stored)
    verdict = judge_rows(world.cases().of_rows(world.facts(), record))
    assert [o.model for o in verdict.obstacles] == ["c"]
    with pytest.raises(PlanError, match="cannot be approved yet") as refused:
        complete(record, verdict)
    assert "backfill withdraw c:2024-01-03, then backfill apply" in refused.value.fix


def test_a_restatement_from_before_one_of_its_upstream(world: World) -> None:
    """It is made again: the same request is another plan, computed from what is shown now."""
    mine = Request(restate=(("c", days("02", "04")),))
    stored = built(world, mine)
    plan = world.plan(RESTATED)  # as a settling window does, which asks for no plan
    apply(world.bench(patches=plan.patches), plan)
    settled = case(world, RESTATED).pointers
    world.control.environments.flip(world.facts().environment, settled, release="r", at=NOW)
    facts, cases = world.facts(), world.cases(required=False)
    record = next(r for r in world.control.plans.all() if r.id == stored)
    found = older(cases.promotion(mine, facts, world.plan(mine), stored=record))
    assert [*found] == ["c"] and "backfill apply --restate c:2024-01-02..2024-01-04, which computes" in found["c"]
    assert built(world, mine) != stored
    assert older(case(world, mine)) == {}


def test_a_model_from_before_a_rollback_of_its_upstream() -> None:
    """d is new, and read the correction of a; then somebody went back, and prod shows what a had before."""
    history = ProjectHistory()
    history.release()
    before, world = history.releases[-1].id, history.world
    history.release(RESTATED)
    world.project = a_project(*HISTORY, a_model("d", "a"))
    apply(world.bench(), world.plan(Request(select=("d",))))
    assert older(case(world)) == {}
    code, world.project = world.project, a_project(*HISTORY)
    assert history.back(before).moved
    world.project = code
    closed = older(case(world))
    assert [*closed] == ["d"] and closed["d"].startswith("2024-01-03: backfill withdraw d:2024-01-03, then backfill ap")
    withdraw(world.control, world.tables, world.project, [("d", days("03"))], now=NOW, by="dev")
    apply(world.bench(), world.plan(Request(select=("d",))))
    assert older(case(world)) == {}


def test_what_is_shown_so_already_holds_up_nothing(world: World) -> None:
    """Somebody has shown c beside newer rows before: its next days are not to blame."""
    before = world.control.environments.read("prod").pointers["c"]
    released(world, RESTATED)
    shown = world.control.environments.read("prod")
    world.control.environments.flip(shown, [before], release="by-hand", at=NOW)
    later = utc("2024-01-12T12:00")
    apply(world.bench(now=later), world.plan(now=later))
    facts = world.facts(later)
    found = world.cases(required=False).promotion(Request(), facts, world.plan(now=later))
    assert {p.model for p in found.pointers} == {"a", "b", "c"} and older(found) == {}


def test_new_logic_that_reads_more_than_what_is_shown() -> None:
    """c is to read the day before as well: what it has of the fourth was computed from the older third, and nothing
    that is shown of the fourth was."""
    world, more = World(*MODELS), (*MODELS[:2], a_model("c", "b", lookback=1))
    released(world)
    world.project = a_project(*more, versions={"c": "2"})
    built(world)
    changed(world)
    released(world, RESTATED)
    world.project = a_project(*more, versions={"c": "2"})
    assert older(case(world))["c"].startswith("2024-01-03..2024-01-04: ")
    withdraw(world.control, world.tables, world.project, [("c", days("03"))], now=NOW, by="dev")
    built(world)
    assert older(case(world))["c"].startswith("2024-01-04: ")
    withdraw(world.control, world.tables, world.project, [("c", days("04"))], now=NOW, by="dev")
    built(world)
    assert older(case(world)) == {}


def test_older_logic_that_the_same_plan_replaces(world: World) -> None:
    """a shows new logic from the sixth on. A plan that completes it computes b from what it builds of a, not from what
    is shown there. What of b was built before that is refused."""
    since = Request(forward_only=days("06").start)
    changed(world, a="2", b="2", c="2")
    released(world, since)
    changed(world, a="2", b="3", c="3")
    apply(world.bench(), world.plan(Request(select=("b",), start=days("03").start, end=days("05").start)))
    built(world)
    assert older(case(world))["b"].startswith("2024-01-03..2024-01-04: backfill withdraw b:2024-01-03..2024-01-04, ")
    withdraw(world.control, world.tables, world.project, [("b", days("03", "04"))], now=NOW, by="dev")
    built(world)
    assert older(case(world)) == {}
