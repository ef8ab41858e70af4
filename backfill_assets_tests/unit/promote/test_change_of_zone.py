"""What is shown by days of UTC gets rows by local days: which of them are there, and what goes with the old ones?"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.readiness import with_readiness
from backfill_assets.plan.facts import bounded_now
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.gate import gate
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets.promote.rollback import propose_rollback
from backfill_assets.state.settling import Settling
from backfill_assets_tests.fakes import NOW, World, a_model, a_project
from backfill_assets_tests.unit.promote.rollback_world import nothing_came
from backfill_assets_tests.unit.promote.test_beside_newer import released

NEW_YORK, TOKYO = "America/New_York", "Asia/Tokyo"
NIGHT = utc("2024-01-11T00:20")


def in_zone(world: World, zone: str, **more: Any) -> None:
    """The code of d, by days of a zone."""
    model = a_model("d", "raw", time_zone=zone, **more)
    world.project = a_project(*with_readiness({"d": model}).values(), versions={"d": zone or "1"})


@pytest.fixture
def world() -> World:
    """Ten days of UTC are shown, and the source is loaded to the end of the tenth."""
    found = World()
    found.extents = {"raw": Interval(utc("2023-12-01"), utc("2024-01-11"))}
    in_zone(found, "")
    released(found)
    return found


def built(world: World, now: datetime) -> Plan:
    plan = world.plan(now=now)
    apply(world.bench(pins=plan.sources, now=now, project=world.facts(now).bounded(world.project)), plan)
    return plan


def release(world: World, now: datetime) -> None:
    plan = world.plan(now=now)
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    built(world, now)
    world.prove(opened.plan.id, now=now)
    world.approve(opened.plan.id, now=now)
    assert world.release(plan=opened.plan.id, now=now).verdict.obstacles == ()


def case(world: World, now: datetime, request: Request | None = None) -> Case:
    request = request or Request()
    return world.cases(required=False).promotion(request, world.facts(now), world.plan(request, now))


def test_a_local_day_that_is_not_over_takes_no_day_of_utc(world: World) -> None:
    """The tenth of New York has five hours to go; it is not shown as a part in place of a day that is there."""
    in_zone(world, NEW_YORK)
    built(world, NIGHT)
    facts = world.facts(NIGHT)
    assert str(facts.tables.coverage["d"].built) == "2024-01-01..2024-01-09" and not facts.tables.coverage["d"].partial
    assert [str(w.publish) for w in case(world, NIGHT).wanted.wanted] == ["2024-01-01..2024-01-09"]


def lost(case: Case) -> list[str]:
    return [f"{o.what} {o.intervals}" for o in gate(case).obstacles if "would lose" in o.what]


@pytest.mark.parametrize("now", [NIGHT, utc("2024-01-11T06:00"), utc("2024-01-11T23:00")])
def test_a_day_that_goes_with_the_old_days(world: World, now: datetime) -> None:
    """New York's tenth comes with the next load. Until then the hours of UTC's are not shown; the plan says so, and
    nothing holds up the other days."""
    in_zone(world, NEW_YORK)
    plan = built(world, now)
    assert plan.because["d"][1:] == (
        "2024-01-10 by days of UTC is shown no more: by those of America/New_York it is not over, or not loaded, yet",
    )
    found = case(world, now)
    assert lost(found) == [] and [str(p.covers) for p in found.pointers] == ["2024-01-01..2024-01-09"]


def test_days_that_are_there_are_lost(world: World) -> None:
    """By a range of fewer days, or a start that is another: a change of the zone is no reason for it."""
    in_zone(world, NEW_YORK)
    built(world, NIGHT)
    assert lost(case(world, NIGHT, Request(end=utc("2024-01-09")))) == ["prod would lose 2024-01-09..2024-01-10"]
    in_zone(world, NEW_YORK, start=utc("2024-01-04"))
    assert lost(case(world, NIGHT)) == ["prod would lose 2024-01-01..2024-01-03"]


def test_hours_before_a_source_begins() -> None:
    """Its first row, of 17:00 on the first, is of Tokyo's second."""
    world = World()
    world.extents = {"raw": Interval(utc("2024-01-01T17:00"), utc("2024-01-11"))}
    in_zone(world, "")
    released(world)
    in_zone(world, TOKYO)
    built(world, NIGHT)
    found = case(world, NIGHT)
    assert lost(found) == [] and [str(p.covers) for p in found.pointers] == ["2024-01-02..2024-01-10"]


def test_local_days_wait_for_what_they_read_although_days_of_utc_are_shown() -> None:
    """What is shown whole by days of UTC says nothing of New York's tenth: it waits for the eleventh of UTC."""

    def models(zone: str) -> World:
        d = a_model("d", "u", time_zone=zone)
        found = with_readiness({"u": a_model("u", "raw", start=utc("2023-12-31")), "d": d})
        world.project = a_project(*found.values(), versions={"d": zone or "1"})
        return world

    world = World()
    released(models(""))
    plan = models(NEW_YORK).plan(now=NOW)
    assert not plan.blocked
    apply(world.bench(pins=plan.sources), plan)
    facts = world.facts()
    assert str(facts.tables.coverage["d"].green) == "2024-01-01..2024-01-09"
    bound = bounded_now(world.project, world.control, world.tables, {}, NOW, environment="prod")
    for project in (bound, facts.bounded(world.project)):
        assert str(project.models["d"].expected(NOW)) == "2024-01-01..2024-01-09"
    assert str(case(world, NOW).pointers[0].covers) == "2024-01-01..2024-01-09"


def test_what_is_provisional_is_told_by_the_days_that_are_shown(world: World) -> None:
    """Not by those of the code that is not promoted yet: what is shown by days of UTC is settled when these are."""
    in_zone(world, NEW_YORK)
    since = utc("2024-01-08")
    facts = replace(world.facts(), settling=Settling(clock=NOW, since={"d": since}, since_days={"d": since}))
    assert str(facts.provisional(world.project.models["d"])) == "2024-01-08..2024-01-10"
    assert not replace(facts, settling=None).provisional(world.project.models["d"])


def test_back_to_days_of_a_zone_in_which_the_newest_is_not_over() -> None:
    """New York's tenth cannot be built while UTC's is shown: it is a matter of hours, not of a definition."""
    world = World()
    in_zone(world, NEW_YORK)
    world.extents = {"raw": Interval(utc("2023-12-01"), utc("2024-01-11"))}
    release(world, NIGHT)
    in_zone(world, "")
    release(world, NIGHT)

    def losses(now: datetime) -> list[str]:
        found = propose_rollback(world.project, world.control, world.tables, nothing_came, environment="prod", now=now)
        return [f"{o.what} {o.intervals}: {o.remedy}" for o in found.losses]

    assert losses(NIGHT) == [
        "the older version's days are those of America/New_York, by which it is not over yet: 2024-01-10: wait until"
        " then; --now goes back without them"
    ]
    assert losses(utc("2024-01-11T05:00")) == []
