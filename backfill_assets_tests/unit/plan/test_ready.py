"""What does `ready` hold back? Intervals whose tick has not come, in plans, builds and gate, and what reads them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError, PlanError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Project
from backfill_assets.core.readiness import with_readiness
from backfill_assets.plan.missing import ready
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.promote import promote
from backfill_assets.promote.rollback import propose_rollback
from backfill_assets.state.ledger import Kind
from backfill_assets.watch.freshness import DUE_AFTER
from backfill_assets_tests.fakes import World, a_model, a_project, days, gated
from backfill_assets_tests.unit.promote.rollback_world import nothing_came

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
    assert str(world.facts(SIX).tables.coverage["d"].partial) == "2024-01-11"


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
    assert str(world.facts(monday).tables.coverage["d"].lapsed) == "2024-01-08..2024-01-11"
    assert builds(world.plan(now=monday)) == {"d": "2024-01-08..2024-01-14"}
    assert models[0].expected(monday - DUE_AFTER) == Ranges((days("01", "07"),))


def test_a_day_that_is_over_waits_for_a_month_that_is_ready() -> None:
    """January is there on February 3, and was looked at before: days that read it are not built from that."""
    models = [a_model("m", "raw", cadence=Cadence.MONTHLY, ready="0 6 3 * *"), a_model("d", "m")]
    world = World(*with_readiness({m.name: m for m in models}).values())
    second = utc("2024-02-02T12:00")
    carry_out(world, second, Request(ignore_cron=True, select=("m",)))
    plan = world.plan(now=second)
    assert (builds(plan), plan.blocked) == ({}, ())
    assert builds(world.plan(now=utc("2024-02-03T06:00"))).keys() == {"m", "d"}


def test_a_day_that_reads_its_week_is_over_with_it() -> None:
    """Nothing waits on Tuesday, and what is over is promoted; so is new logic of all that it reads."""
    models = [
        a_model("days", "raw"),
        a_model("weeks", "days", cadence=Cadence.WEEKLY),
        a_model("pace", "days", "weeks", lookback=7),
    ]
    tuesday, monday = utc("2024-01-16T09:00"), utc("2024-01-22")
    found = with_readiness({m.name: m for m in models})
    assert found["pace"].longer == ((Cadence.WEEKLY,),) and found["weeks"].longer == ()
    assert found["pace"].over(tuesday) == utc("2024-01-15") and found["pace"].over(monday) == monday
    assert found["pace"].over_from(utc("2024-01-16")) == monday
    world = World(*found.values())
    plan = world.plan(now=tuesday)
    assert plan.blocked == ()
    assert builds(plan) == {
        "days": "2024-01-01..2024-01-15",
        "weeks": "2024-01-01..2024-01-14",
        "pace": "2024-01-01..2024-01-14",
    }


def test_a_month_that_reads_weeks_is_over_with_the_last_of_them() -> None:
    """January 2024 ends on a Wednesday. What has an end is not waited for, and a reader's reader waits as well."""
    models = [
        a_model("weeks", "raw", cadence=Cadence.WEEKLY),
        a_model("month", "weeks", cadence=Cadence.MONTHLY),
        a_model("day", "month"),
        a_model("ended", "raw", cadence=Cadence.MONTHLY, end=utc("2024-02-01")),
        a_model("later", "ended"),
    ]
    found = with_readiness({m.name: m for m in models})
    assert found["month"].over(utc("2024-02-04T12:00")) == utc("2024-01-01")
    assert found["month"].over(utc("2024-02-05")) == utc("2024-02-01")
    assert found["day"].longer == ((Cadence.MONTHLY, Cadence.WEEKLY),)
    assert found["day"].over(utc("2024-02-02")) == utc("2024-01-01"), "its month waits for the week"
    assert found["later"].longer == ()


# --- what is published whole stays over, whatever `ready` says by now -------------------------------------------------

MONDAYS, YEARLY = "0 6 * * MON", "0 0 1 1 *"
THURSDAY = utc("2024-01-11T13:00")


def one_and_two(cron: str = "", *, logic: str = "1") -> Project:
    """`e` reads `d`, whose header says this `ready`."""
    code = f"SELECT {logic}"
    models = [a_model("d", "raw", batch_size=20, ready=cron, code=code), a_model("e", "d", batch_size=20)]
    return a_project(*with_readiness({m.name: m for m in models}).values(), versions={"d": logic, "e": logic})


@pytest.fixture
def whole() -> World:
    """Ten days of `d` and `e` are published, by code without any `ready`."""
    world = World()
    world.project = one_and_two()
    carry_out(world, THURSDAY)
    publish(world, THURSDAY)
    return world


def test_published_days_are_built_whole(whole: World) -> None:
    """New logic comes with a yearly `ready`: its ten days are no parts, which a routine run replaced unasked once the
    `ready` is taken back."""
    whole.project = one_and_two(YEARLY, logic="2")
    plan = whole.plan(now=THURSDAY)
    assert builds(plan) == {"d": "2024-01-01..2024-01-10", "e": "2024-01-01..2024-01-10"}
    assert not any(s.open for s in plan.stages if isinstance(s, Build))
    carry_out(whole, THURSDAY, run="two")
    assert not [e for e in whole.control.ledger.entries(kinds=[Kind.BUILT]) if e.through]
    publish(whole, THURSDAY)
    whole.project = one_and_two(logic="2")
    whole.rows_come(days("03"))
    assert not whole.plan(now=THURSDAY).stages and not whole.facts(THURSDAY).standing["d"].partial


def test_what_comes_next_still_waits(whole: World) -> None:
    whole.project = one_and_two(MONDAYS)
    assert not whole.plan(now=utc("2024-01-15T05:59")).stages
    assert builds(whole.plan(now=utc("2024-01-15T06:00"))) == {
        "d": "2024-01-11..2024-01-14",
        "e": "2024-01-11..2024-01-14",
    }


def test_parts_that_are_shown_do_not_count_as_over(world: World) -> None:
    """Yesterday and today are published as parts, the days before them whole: the tick still decides."""
    carry_out(world, THREE, OPEN)
    publish(world, THREE, OPEN)
    assert str(world.facts(THREE).bounded(world.project).models["d"].over(THREE).date()) == "2024-01-10"


def test_a_published_day_waits_for_the_upstream_that_failed(whole: World) -> None:
    """The tenth of new `d` fails: that of `e` is not computed from nothing in its place."""
    whole.project = one_and_two(MONDAYS, logic="2")

    def fails(job: Job, interval: Interval) -> None:
        if job.model.name == "d":
            raise BuildError("no", why="a test")

    whole.engine.before_write = fails
    plan = whole.plan(now=THURSDAY)
    outcomes = apply(whole.bench("two", pins=plan.sources), plan)
    assert not outcomes["e"].built and [w.upstream for w in outcomes["e"].waits] == ["d"]


def test_an_open_day_past_its_end_needs_its_upstream() -> None:
    """Without `--ignore-cron` too, as it does where it is shown; today, which goes on, needs what is over."""
    d, e = one_and_two(MONDAYS).models.values()
    good, waiting = ready(e, Ranges((days("09", "11"),)), {"d": d}, {"d": Ranges((days("01", "09"),))}, now=THURSDAY)
    assert good == Ranges.of([days("09"), days("11")])
    assert waiting == {"d": (Ranges((days("10"),)), Ranges((days("10"),)))}


@pytest.mark.parametrize("name", ["d", "e"])
def test_published_days_are_restated(whole: World, name: str) -> None:
    """All that is named, and what reads it."""
    whole.project = one_and_two(MONDAYS)
    request = Request(restate=((name, days("06", "09")),))
    assert set(builds(whole.plan(request, THURSDAY)).values()) == {"2024-01-06..2024-01-09"}
    carry_out(whole, THURSDAY, request, "again")
    publish(whole, THURSDAY, request)


def test_a_rollback_keeps_days_that_are_shown() -> None:
    """The older logic had a weekly `ready` and a week: it can have what was added since, by other logic."""
    world, eighth = World(), utc("2024-01-08T12:00")
    world.project = one_and_two(MONDAYS)
    carry_out(world, eighth)
    publish(world, eighth)
    world.project = one_and_two(logic="2")
    carry_out(world, THURSDAY, run="two")
    publish(world, THURSDAY)
    [first, _] = world.control.releases.all("prod")
    found = propose_rollback(
        world.project, world.control, world.tables, nothing_came, environment="prod", now=THURSDAY, release=first.id
    )
    assert {s.model: (str(s.missing), str(s.never)) for s in found.steps} == dict.fromkeys(
        "de", ("2024-01-08..2024-01-10", "nothing")
    )
