"""What a plan saves against building everything again: the work it is measured against, and the words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.settings import Cost
from backfill_assets.plan.actual import Actual
from backfill_assets.plan.estimate import PlanEstimate, estimate
from backfill_assets.plan.estimate_text import saving
from backfill_assets.plan.stages import Plan, Request
from backfill_assets_tests.fakes import World, a_model, days
from backfill_assets_tests.unit.plan.test_estimate import a_build, built

PRICE = Cost(currency="USD", per_core_hour=1, cores=36)
"""One cent a second."""


def shown(**versions: str) -> World:
    """`a` and what reads it, `b` and `c`, in prod; `other` reads nothing of them."""
    return World(a_model("a", "raw"), a_model("b", "a"), a_model("c", "a"), a_model("other", "raw"), versions=versions)


def released() -> World:
    world = shown()
    apply(world.bench(), world.plan())
    assert world.release().moved
    return world


def changed(world: World, **versions: str) -> World:
    newer = shown(**versions)
    newer.store, newer.control, newer.tables, newer.engine = world.store, world.control, world.tables, world.engine
    return newer


def work(plan: Plan) -> dict[str, int]:
    return {stage.model: stage.count for stage in plan.whole}


def test_a_change_is_measured_against_all_that_reads_it() -> None:
    """`b` reads the change and `c` does not: building everything again would build `c` as well, and never `other`."""
    world = changed(released(), a="2", b="2")
    plan = world.plan()
    every = plan.stages[0].count  # type: ignore[union-attr]
    assert [stage.model for stage in plan.work] == ["a", "b"]
    assert work(plan) == {"a": every, "b": every, "c": every}


def test_a_restatement_is_measured_against_all_days() -> None:
    """Of the model and of what reads it."""
    world = released()
    every = world.facts().tables.coverage["a"].complete.count(Cadence.DAILY)
    plan = world.plan(Request(restate=(("a", days("02")),)))
    assert {stage.count for stage in plan.work} == {1}
    assert work(plan) == {"a": every, "b": every, "c": every}


def test_where_nothing_is_saved_nothing_is_said() -> None:
    """A first build, a day more, and a change that everything reads."""
    assert shown().plan().whole == ()
    assert released().plan().whole == ()
    assert changed(released(), a="2", b="2", c="2").plan().whole == ()


def test_what_the_plan_did_already_is_not_saved() -> None:
    """A plan that somebody goes on with is measured against what is left."""
    world = changed(released(), a="2", b="2")
    before = work(world.plan())
    apply(world.bench(), replace(world.plan(), stages=world.plan().stages[:1]))
    plan = world.plan()
    assert [stage.model for stage in plan.work] == ["b"]
    assert work(plan) == {name: count for name, count in before.items() if name != "a"}


def test_it_is_kept_with_the_plan() -> None:
    """As stages, so that the packet can count with it."""
    plan = changed(released(), a="2", b="2").plan()
    told = plan.to_json()["whole"]
    assert [stage["model"] for stage in told] == ["a", "b", "c"]  # type: ignore[index, union-attr]
    assert replace(plan, whole=()).id == plan.id


# --- words ------------------------------------------------------------------------------------------------------------


def guess(part: int, *, price: Cost | None = PRICE, history: bool = True) -> PlanEstimate:
    """A plan of `part` of 100 days, by batches of 10 days that take 10 s each, one after another."""
    model = a_model("a", batch_size=10, batch_concurrency=1)
    entries = [built(n, n + 10, 10) for n in range(0, 100, 10)] if history else []
    stages = [a_build(model, 0, part)] if part else []
    return estimate(stages, entries, {"a": model}, at_once=1, price=price, whole=[a_build(model, 0, 100)])


def took(seconds: float) -> Actual:
    return Actual(stages=(), seconds=seconds, rows=0, bytes=0, used=None, cost=None)


EVERYTHING = "Rebuilding everything (100 days of a) would take 85–115 s and USD 0.85–1.15: this saves about"


def test_the_saving_in_words() -> None:
    """Time and money, with what it is measured against."""
    assert saving(guess(30)) == f"{EVERYTHING} 70 s and USD 0.70, 70%."
    assert saving(guess(0)) == f"{EVERYTHING} 100 s and USD 1.00, 100%."
    assert saving(guess(30, price=None)).endswith("would take 85–115 s: this saves about 70 s, 70%.")
    assert saving(guess(100)) == "Rebuilding everything (100 days of a) would take about as long, 85–115 s."


def test_afterwards_it_is_what_it_really_took() -> None:
    """The estimate of everything, less what was measured."""
    assert saving(guess(30), took(25)) == f"{EVERYTHING} 75 s and USD 0.75, 75%."
    assert "about as long" in saving(guess(30), took(110))
    longer = "Rebuilding everything (100 days of a) was estimated at 85–115 s, which is less than this took."
    assert saving(guess(30), took(250)) == longer


@pytest.mark.parametrize("part", [0, 30])
def test_without_history_nothing_is_promised(part: int) -> None:
    assert saving(guess(part, history=False)) == ""
