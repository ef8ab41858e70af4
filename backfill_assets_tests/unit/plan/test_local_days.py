"""What do plans make of local days? When they are expected, what they wait for, and what reaches them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Model
from backfill_assets.core.readiness import with_readiness
from backfill_assets.core.settling import settling_windows
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import Patch, affected_by
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.plan.versions import BuiltVersion, invalidations
from backfill_assets.state.ledger import Coverage, Entry, Kind, coverage
from backfill_assets.state.settling import Settling
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import START, World, a_model, a_pointer, a_project, days

NEW_YORK, TOKYO = "America/New_York", "Asia/Tokyo"
HOUR = timedelta(hours=1)


def a_world(*models: Model) -> World:
    """Models that know what they wait for, as a loaded project's do."""
    return World(*with_readiness({m.name: m for m in models}).values())


def built(plan: Plan) -> dict[str, str]:
    assert not plan.blocked, plan.blocked
    return {stage.model: str(stage.intervals) for stage in plan.stages if isinstance(stage, Build)}


def hours(**more: object) -> Model:
    return a_model("h", "raw", cadence=Cadence.HOURLY, batch_size=500, **more)


@pytest.mark.parametrize(
    ("zone", "now", "last"),
    [
        (NEW_YORK, "2024-01-05T04:59", "03"),
        (NEW_YORK, "2024-01-05T05:00", "04"),
        (TOKYO, "2024-01-04T14:59", "03"),
        (TOKYO, "2024-01-04T15:00", "04"),
        ("Asia/Kolkata", "2024-01-04T18:59", "03"),  # its day ends at 18:30, within an hour
        ("Asia/Kolkata", "2024-01-04T19:00", "04"),
    ],
)
def test_a_day_of_hours_is_expected_when_its_last_hour_is_over(zone: str, now: str, last: str) -> None:
    """Never before, also where the zone is half an hour beside; and nothing waits in the meantime."""
    day, same = a_model("d", "h", time_zone=zone), a_model("e", "d", time_zone=zone)
    plan = built(a_world(hours(start=utc("2023-12-31")), day, same).plan(now=utc(now)))
    assert plan["d"] == plan["e"] == f"2024-01-01..2024-01-{last}"


def test_a_day_of_days_of_utc() -> None:
    """It needs two of them, and waits for the second one; a build reads just what the plan said."""
    world = a_world(a_model("u", "raw", start=utc("2023-12-31"), batch_size=9), a_model("d", "u", time_zone=TOKYO))
    assert built(world.plan(now=utc("2024-01-04T23:59")))["d"] == "2024-01-01..2024-01-03"
    plan = world.plan(now=utc("2024-01-05T00:00"))
    assert built(plan)["d"] == "2024-01-01..2024-01-04"
    apply(world.bench(pins=plan.sources), plan)
    found = world.project.models
    assert str(needed(found["d"], found["u"], days("04"))) == "2024-01-03..2024-01-04"


def test_a_source_that_ends_within_a_local_day() -> None:
    """A source counts as loaded to the end of the UTC day of its last row: of New York's 5th that lacks five hours, of
    Tokyo's it does not."""
    world = a_world(a_model("n", "raw", time_zone=NEW_YORK), a_model("t", "raw", time_zone=TOKYO), a_model("u", "raw"))
    world.extents = {"raw": Interval(utc("2023-12-01"), utc("2024-01-05T20:00"))}
    last = {n: t.partition("..")[2] for n, t in built(world.plan()).items()}
    assert last == {"n": "2024-01-04", "t": "2024-01-05", "u": "2024-01-05"}
    world.extents = {"raw": Interval(utc("2024-01-03T03:00"), utc("2024-01-06T00:10"))}
    assert built(world.plan()) == {
        "n": "2024-01-02..2024-01-05",  # its first row is of the evening before
        "t": "2024-01-03..2024-01-06",
        "u": "2024-01-03..2024-01-06",
    }


def test_a_source_that_is_ready_until_an_instant() -> None:
    """Local days that are not over by then are not expected."""
    world = a_world(a_model("n", "raw", time_zone=NEW_YORK), a_model("t", "raw", time_zone=TOKYO))
    world.ready_until = {"raw": utc("2024-01-05")}
    assert built(world.plan()) == {"n": "2024-01-01..2024-01-03", "t": "2024-01-01..2024-01-04"}


def test_an_hour_is_restated_and_the_day_that_has_it() -> None:
    """The 5th at two (UTC) is an hour of the 4th in New York; weeks of New York follow their days."""
    models = hours(start=utc("2023-12-31")), a_model("d", "h", time_zone=NEW_YORK, batch_size=9)
    world = a_world(*models, a_model("w", "d", time_zone=NEW_YORK, cadence=Cadence.WEEKLY))
    now = utc("2024-01-10T12:00")
    plan = world.plan(now=now)
    assert built(plan)["w"] == "2024-01-01..2024-01-07"
    apply(world.bench(pins=plan.sources), plan)
    released = world.release(now=now)
    assert released.verdict.open, released.verdict.obstacles
    again = world.plan(Request(restate=(("h", Interval(utc("2024-01-05T02:00"), utc("2024-01-05T03:00"))),)), now)
    assert {n: str(p.intervals) for n, p in again.patches.items()} == {
        "h": "2024-01-05T02:00",
        "d": "2024-01-04",
        "w": "2024-01-01..2024-01-07",
    }


def test_other_versions_are_reached_by_their_own_days() -> None:
    """By the records of versions, also of those that the code does not have any more."""

    def version(name: str, **said: str) -> BuiltVersion:
        record = Version(model=name, version="1", upstream={}, columns=(), definition=said, created=START)
        return BuiltVersion(record=record, have=Coverage(), invalidated={})

    utc_days, local = version("u", cadence="daily").calendar, version("d", cadence="daily", time_zone=TOKYO).calendar
    assert str(affected_by(local, 0, utc_days, days("04"))) == "2024-01-04..2024-01-05"
    assert str(affected_by(local, 1, local, days("04"))) == "2024-01-04..2024-01-05"


def test_other_versions_of_the_restated_model_are_reached_by_time() -> None:
    """The fifth of New York is of the fifth and sixth of UTC: both are computed again, should they ever be shown."""

    def version(name: str, **said: str) -> BuiltVersion:
        record = Version(model="d", version=name, upstream={}, columns=(), definition=said, created=START)
        entries = [
            Entry(kind=Kind.BUILT, model="d", version=name, interval=day, batch=str(n), table_commit=n, at=START)
            for n, day in enumerate(Cadence.DAILY.split(days("01", "10")))
        ]
        return BuiltVersion(record=record, have=coverage(entries, audits=""), invalidated={})

    versions = {
        ("d", "1"): version("1", cadence="daily"),
        ("d", "2"): version("2", cadence="daily", time_zone=NEW_YORK),
    }
    patches = {"d": Patch(version="2.again", intervals=Ranges((days("05"),)))}
    found = invalidations([("d", days("05"))], patches, versions, {})
    assert {each.version: str(each.intervals) for each in found} == {"1": "2024-01-05..2024-01-06", "2": "2024-01-05"}


def test_a_change_of_the_zone_in_plain_words() -> None:
    """The plan says which days are shown and which the code has; older rows cannot stay beside newer ones."""
    world = World(a_model("d", "raw"), versions={"d": "2"})
    facts = world.facts()
    pointer = a_pointer("d", "d-1", days("01", "09"))
    shown, recorded = replace(facts.environment, pointers={"d": pointer}), replace(facts.shown, zones={"d": ""})
    facts = replace(facts, environment=shown, shown=recorded)
    project = replace(world.project, models={"d": replace(world.project.models["d"], time_zone=TOKYO)})
    plan = make_plan(project, facts, Request())
    assert plan.because["d"] == ("its days are those of Asia/Tokyo; prod shows it by those of UTC",)
    with pytest.raises(PlanError, match="cannot begin with a day") as caught:
        make_plan(project, facts, Request(forward_only=utc("2024-01-05")))
    assert "hours would be there twice or be missing" in caught.value.why


def test_settled_by_local_days() -> None:
    """By days of UTC that end after an instant, by local days after another; what reads days of UTC has a day more."""
    shown = Ranges((days("01", "09"),))
    since = utc("2024-01-05T03:00")
    known = Settling(clock=since, since={"m": since}, since_days={"m": since})
    assert str(known.provisional("m", a_model("m").calendar, shown)) == "2024-01-05..2024-01-09"
    assert str(known.provisional("m", a_model("m", time_zone=NEW_YORK).calendar, shown)) == "2024-01-04..2024-01-09"
    assert str(known.provisional("m", a_model("m", time_zone=TOKYO).calendar, shown)) == "2024-01-05..2024-01-09"
    late = utc("2024-01-05T16:00")
    known = Settling(clock=late, since_days={"m": late})
    assert str(known.provisional("m", a_model("m", time_zone=TOKYO).calendar, shown)) == "2024-01-06..2024-01-09"
    project = a_project(a_model("u", "raw", settle=3600), a_model("d", "u", time_zone=TOKYO))
    assert settling_windows(project.models, project.sources) == {"u": HOUR, "d": HOUR + timedelta(days=1)}
