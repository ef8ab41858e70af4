"""What does `ready` hold back? Intervals whose tick has not come, in plans, builds and gate, and what reads them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.readiness import with_readiness
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.promote import promote
from backfill_assets.state.ledger import Kind
from backfill_assets.watch.freshness import DUE_AFTER
from backfill_assets_tests.fakes import World, a_model, a_project, days, gated

OPEN = Request(ignore_cron=True)
THREE, SIX = utc("2024-01-11T03:00"), utc("2024-01-11T06:00")
JANUARY = utc("2024-02-01T05:59")


@pytest.fixture
def world() -> World:
    """Daily `d` is there at six in the morning; `m` and `e`, which read it, say nothing."""
    models = [
        a_model("d", "raw", batch_size=20, ready="0 6 * * *"),
        a_model("e", "d", batch_size=20),
        a_model("m", "d", cadence=Cadence.MONTHLY),
    ]
    return World(*with_readiness({m.name: m for m in models}).values())


def builds(plan: Plan) -> dict[str, str]:
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


def carry_out(world: World, now: datetime, request: Request | None = None, run: str = "run") -> None:
    plan = world.plan(request, now)
    outcomes = apply(world.bench(run, pins=plan.sources, patches=plan.patches), plan)
    assert all(o.ok for o in outcomes.values())


def ask(world: World, now: datetime, request: Request | None = None) -> Verdict:
    plan, request = world.plan(request, now), request or Request()
    return gated(world.project, world.facts(now), world.control.versions.all(), request, plan.models, plan.patches)


def publish(world: World, now: datetime, request: Request | None = None) -> None:
    verdict = ask(world, now, request)
    assert verdict.open, verdict.obstacles
    promote(world.control.environments, world.control.environments.read("prod"), verdict.pointers, None)


def test_yesterday_is_wanted_from_its_tick_on(world: World) -> None:
    """At three nobody waits for it: neither the model nor what reads it, and no gate. At six it is built."""
    plan = world.plan(now=THREE)
    assert builds(plan) == {"d": "2024-01-01..2024-01-09", "e": "2024-01-01..2024-01-09"} and not plan.blocked
    carry_out(world, THREE)
    publish(world, THREE)
    assert not world.plan(now=THREE).stages
    assert builds(world.plan(now=SIX)) == {"d": "2024-01-10", "e": "2024-01-10"}
    carry_out(world, SIX)
    publish(world, SIX)
    assert not world.plan(now=SIX).stages


def test_a_month_is_over_when_its_last_day_is_ready(world: World) -> None:
    assert "m" not in builds(world.plan(now=JANUARY))
    assert builds(world.plan(now=utc("2024-02-01T06:00")))["m"] == "2024-01-01..2024-01-31"


def test_what_is_built_before_its_tick_is_partial(world: World) -> None:
    """Asked for at three, yesterday and today are two batches, each through three; at six yesterday is built whole,
    and today still counts."""
    plan = world.plan(OPEN, THREE)
    daily = next(s for s in plan.stages if isinstance(s, Build) and s.model == "d")
    assert [str(b) for b in daily.batches] == ["2024-01-01..2024-01-09", "2024-01-10", "2024-01-11"]
    assert str(daily.open) == "2024-01-10..2024-01-11"
    carry_out(world, THREE, OPEN)
    publish(world, THREE, OPEN)
    assert not world.plan(now=THREE).stages and not world.plan(OPEN, THREE).work
    entries = world.control.ledger.entries(["e"], kinds=[Kind.BUILT])
    assert [(str(e.interval), e.through) for e in entries] == [
        ("2024-01-01..2024-01-09", None),
        ("2024-01-10", THREE),
        ("2024-01-11", THREE),
    ]
    plan = world.plan(now=SIX)
    assert builds(plan) == {"d": "2024-01-10", "e": "2024-01-10"}
    assert {s.reason for s in plan.stages if isinstance(s, Build)} == {"was built before it was over"}
    closed = ask(world, SIX)
    assert {(o.model, str(o.intervals)) for o in closed.obstacles} == {("d", "2024-01-10"), ("e", "2024-01-10")}
    carry_out(world, SIX, run="six")
    publish(world, SIX)
    assert str(world.facts(SIX).coverage["d"].partial) == "2024-01-11"


def test_a_later_tick_takes_nothing_back(world: World) -> None:
    """`ready` moves to noon at seven, when yesterday is built and shown: it stays, and nothing waits."""
    carry_out(world, SIX)
    publish(world, SIX)
    later = [replace(m, ready=m.ready and "0 12 * * *") for m in world.project.models.values()]
    world.project = replace(world.project, models=with_readiness({m.name: m for m in later}))
    seven = utc("2024-01-11T07:00")
    assert not world.plan(now=seven).stages
    assert ask(world, seven).open
    assert "2024-01-10" in str(world.control.environments.read("prod").pointers["e"].covers)


def test_a_range_that_is_not_ready_says_when_it_is(world: World) -> None:
    with pytest.raises(PlanError, match="holds no interval") as told:
        world.plan(Request(start=utc("2024-01-10"), end=utc("2024-01-11"), select=("e",)), THREE)
    assert "2024-01-10 counts as over at 2024-01-11 06:00 UTC" in str(told.value)


def test_routine_runs_go_by_the_present_header(world: World) -> None:
    """When an interval counts as over is no part of a version: prod's versions are extended by what the code says."""
    carry_out(world, SIX)
    publish(world, SIX)
    other = [a_model("d", "raw", code="SELECT 2", ready="0 9 * * *"), a_model("e", "d"), a_model("m", "d")]
    loaded = a_project(*with_readiness({m.name: m for m in other}).values(), versions={"d": "2", "e": "2"})
    found = published(loaded, world.control.environments.read("prod"), world.control.versions.all())
    assert {m.name: m.crons for m in found.models.values()} == {"d": ("0 9 * * *",), "e": ("0 9 * * *",)}


def test_a_model_that_is_gone_keeps_its_own(world: World) -> None:
    """Its file was removed: it is extended by the expression that its version was recorded with."""
    carry_out(world, SIX)
    publish(world, SIX)
    found = published(
        a_project(a_model("x", "raw")), world.control.environments.read("prod"), world.control.versions.all()
    )
    assert {m.name: m.crons for m in found.models.values()} == {"d": ("0 6 * * *",), "e": ("0 6 * * *",)}


def test_each_open_interval_is_a_batch(world: World) -> None:
    """A weekly tick leaves several days open: built ahead, each lapses by itself."""
    models = [a_model("d", "raw", batch_size=20, ready="0 6 * * mon")]
    world = World(*models)
    thursday, monday = utc("2024-01-11T12:00"), utc("2024-01-15T06:00")
    assert builds(world.plan(now=thursday)) == {"d": "2024-01-01..2024-01-07"}
    carry_out(world, thursday, OPEN)
    assert len(world.control.ledger.entries(["d"], kinds=[Kind.BUILT])) == 5
    assert str(world.facts(monday).coverage["d"].lapsed) == "2024-01-08..2024-01-11"
    assert builds(world.plan(now=monday)) == {"d": "2024-01-08..2024-01-14"}
    assert models[0].expected(monday - DUE_AFTER) == Ranges((days("01", "07"),))


def test_a_day_that_is_over_waits_for_a_month_that_is_ready() -> None:
    """January is there on February 3, and was looked at before: days that read it are not built from that."""
    models = [a_model("m", "raw", cadence=Cadence.MONTHLY, ready="0 6 3 * *"), a_model("d", "m")]
    world = World(*with_readiness({m.name: m for m in models}).values())
    second = utc("2024-02-02T12:00")
    carry_out(world, second, Request(ignore_cron=True, select=("m",)))
    plan = world.plan(now=second)
    assert builds(plan) == {}
    [blocked] = plan.blocked
    assert (blocked.model, str(blocked.intervals)) == ("d", "2024-01-01..2024-01-02")
