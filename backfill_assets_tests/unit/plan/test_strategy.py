"""The way in which history is changed follows from the change, says its proof, and can be chosen where another fits."""

from __future__ import annotations

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import utc
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Promote, Request
from backfill_assets.plan.strategy import PROOF, Strategy, strategies
from backfill_assets.promote.promote import promote
from backfill_assets_tests.fakes import World, a_model, a_project, days, gated, ranges

ADDED = TableChange(category=Category.ADDITIVE, added=("more",))
BROKEN = TableChange(category=Category.BREAKING, rows=True)


@pytest.mark.parametrize(
    ("change", "patch", "way"),
    [
        (ADDED, "", "column-enrichment"),
        (BROKEN, "", "full-rebuild"),
        (TableChange(category=Category.NEW), "", "full-rebuild"),
        (TableChange(category=Category.REMOVAL, removed=("n",)), "", "full-rebuild"),
        (BROKEN, "a-2", "forward-only"),
        (TableChange(category=Category.UNCHANGED), "a-1.1234abcd", "partition-repair"),
    ],
)
def test_the_way_follows_from_the_change(change: TableChange, patch: str, way: str) -> None:
    """And every way has a proof to show."""
    patches = {"a": Patch(version=patch, intervals=ranges(days("03")))} if patch else {}
    assert strategies({"a": change}, patches, {}) == {"a": way}
    assert set(PROOF) == set(Strategy)


def test_what_did_not_change_has_none() -> None:
    """New days of what is shown are no change of history."""
    assert strategies({"a": TableChange(category=Category.UNCHANGED)}, {}, {}) == {}


def test_another_way_where_it_fits() -> None:
    """An enrichment may be treated as a rebuild, and both as a dual run; not the other way round."""
    assert strategies({"a": ADDED}, {}, {"a": "full-rebuild"}) == {"a": "full-rebuild"}
    assert strategies({"a": BROKEN}, {}, {"a": "dual-run"}) == {"a": "dual-run"}
    for wanted, why in (
        ("column-enrichment", "more than new columns"),
        ("partition-repair", "--restate"),
        ("forward-only", "--forward-only"),
        ("magic", "no such way"),
    ):
        with pytest.raises(PlanError, match=why):
            strategies({"a": BROKEN}, {}, {"a": wanted})
    with pytest.raises(PlanError, match="names no model that this plan changes"):
        strategies({"a": BROKEN}, {}, {"b": "dual-run"})


def test_a_dual_run_is_built_and_not_moved() -> None:
    """Nor is what reads it; a plan without it moves both, and builds nothing."""
    models = (a_model("a", "raw"), a_model("b", "a"), a_model("c"))
    world = World(*models)
    apply(world.bench(), world.plan())
    facts = world.facts()
    verdict = gated(world.project, facts, world.control.versions.all(), Request(), ("a", "b", "c"))
    promote(world.control.environments, facts.environment, verdict.pointers, None)

    world.project = a_project(*models, versions={"a": "2", "b": "2", "c": "2"})
    request = Request(strategies=(("a", "dual-run"),))
    plan = world.plan(request)
    assert plan.held == ("a", "b")
    assert [s.model for s in plan.work] == ["a", "b", "c"]
    (moves,) = [s.models for s in plan.stages if isinstance(s, Promote)]
    assert [one.model for one in moves] == ["c"]
    apply(world.bench(), plan)

    assert not world.plan(request).work
    later = make_plan(world.project, world.facts(utc("2024-01-11T12:00")), Request())
    assert not later.work and later.held == ()
    (moves,) = [s.models for s in later.stages if isinstance(s, Promote)]
    assert [one.model for one in moves] == ["a", "b", "c"]


def test_nothing_is_left_as_it_is_where_nothing_is_shown() -> None:
    """`--forward-only` before the first release: it said that there is nothing to do, with no day built."""
    world = World(a_model("a"))
    with pytest.raises(PlanError, match="--forward-only has nothing to leave as it is") as refused:
        world.plan(Request(forward_only=utc("2024-01-05")))
    assert "prod shows none of a yet" in refused.value.why
