"""How far do sources reach? What they have no rows for yet is not expected of models, and is not built without rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.build.apply import apply
from backfill_assets.build.build import build
from backfill_assets.build.ledger_edits import declare_empty
from backfill_assets.build.outcome import Wait
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Source, SourceReady
from backfill_assets.plan.bounds import CutOff, bounded
from backfill_assets.plan.left_out import sources_not_ready
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.promote.promote import promote
from backfill_assets_tests.fakes import NOW, World, a_model, a_project, days, gated, ranges
from backfill_assets_tests.strategies import EPOCH, day

SOME_DAY = Interval(utc("2024-01-03T05:00"), utc("2024-01-08T22:59"))


def built(plan: Plan) -> dict[str, str]:
    return {stage.model: str(stage.intervals) for stage in plan.stages if isinstance(stage, Build)}


def carry_out(world: World, request: Request | None = None) -> None:
    plan = world.plan(request)
    apply(world.bench(pins=plan.sources, patches=plan.patches), plan)
    verdict = gated(world.project, world.facts(), world.control.versions.all(), plan.request, plan.models, plan.patches)
    assert verdict.open, verdict.obstacles
    promote(world.control.environments, world.control.environments.read("prod"), verdict.pointers, None)


def test_before_the_first_row_and_after_the_last_nothing_is_expected() -> None:
    """The day of the last row counts whole, days within without rows do; what reads the model reaches no further."""
    world = World(a_model("d", "raw", batch_size=20), a_model("r", "d", lookback=2, batch_size=20))
    world.extents = {"raw": SOME_DAY}
    plan = world.plan()
    assert built(plan) == {"d": "2024-01-03..2024-01-08", "r": "2024-01-03..2024-01-08"}
    lost = ranges(days("01", "02"), days("09", "10"))
    assert plan.cut_off == (
        CutOff(model="d", reads=("raw",), intervals=lost, count=4),
        CutOff(model="r", reads=("d",), intervals=lost, count=4),
    )


def test_nothing_is_expected_of_sources_that_have_no_row_yet() -> None:
    """They were never loaded: days without rows would pass for complete. What is built stays expected, one of several
    sources with rows is enough, and one that nobody knows bounds nothing."""
    world = World(a_model("d", "raw", batch_size=20), a_model("r", "d", batch_size=20))
    world.extents = {"raw": None}
    plan = world.plan()
    assert built(plan) == {} and [(c.model, c.reads, c.count) for c in plan.cut_off] == [
        ("d", ("raw",), 10),
        ("r", ("d",), 10),
    ]
    carried = World(a_model("d", "raw", batch_size=20))
    carry_out(carried)
    carried.extents = {"raw": None}
    assert not carried.plan().cut_off
    two = World(a_model("d", "raw", "more", batch_size=20))
    two.extents = {"raw": None, "more": SOME_DAY}
    assert built(two.plan()) == {"d": "2024-01-03..2024-01-08"}
    two.extents = {"raw": None}
    assert built(two.plan()) == {"d": "2024-01-01..2024-01-10"}


def test_what_is_declared_empty_stays_expected_of_sources_without_rows() -> None:
    """Its readers can be built: they find no rows there."""
    world = World(a_model("d", "raw", batch_size=20), a_model("r", "d", batch_size=20))
    declare_empty(world.control, world.tables, world.project, world.facts(), Request(select=("d",)), by="ana")
    world.extents = {"raw": None}
    assert built(world.plan()) == {"r": "2024-01-01..2024-01-10"}


def test_a_source_that_was_emptied_moves_nothing() -> None:
    """Newer logic of a model that is shown has no row to be computed from: prod keeps what it shows, and nobody is
    asked for anything."""
    world = World(a_model("d", "raw", batch_size=20))
    carry_out(world)
    world.project = replace(world.project, fingerprints={"d": "d-2"})
    world.extents = {"raw": None}
    plan = world.plan()
    assert plan.stages == () and plan.kept == {"d": "what it reads has no rows of it"}


def test_the_rest_is_built_when_it_is_there() -> None:
    """What was cut off moves into prod with later rows, and nothing else is built again."""
    world = World(a_model("d", "raw", batch_size=20))
    world.extents = {"raw": SOME_DAY}
    carry_out(world)
    world.extents = {"raw": Interval(utc("2024-01-03T05:00"), utc("2024-01-10T00:10"))}
    assert built(world.plan()) == {"d": "2024-01-09..2024-01-10"}
    carry_out(world)
    assert str(world.control.environments.read("prod").pointers["d"].covers) == "2024-01-03..2024-01-10"
    assert world.plan().work == ()


def test_a_source_that_says_how_far_it_is_ready_holds_up_what_reads_it() -> None:
    """Whatever else a model reads, and however far that reaches; a month waits for its last day."""
    month = a_model("m", "d", cadence=Cadence.MONTHLY)
    world = World(a_model("d", "raw", "other", batch_size=40), a_model("e", "d", "calm", batch_size=40), month)
    whole = Interval(EPOCH, utc("2024-02-01T08:00"))
    world.extents = {"raw": whole, "other": whole, "calm": whole}
    february = utc("2024-02-01T12:00")
    world.ready_until = {"raw": utc("2024-01-31T23:59")}
    plan = world.plan(now=february)
    assert built(plan) == {"d": "2024-01-01..2024-01-30", "e": "2024-01-01..2024-01-30"} and not plan.blocked
    world.ready_until = {"raw": utc("2024-02-01"), "calm": utc("2024-01-03")}
    plan = world.plan(now=february)
    assert built(plan) == {"d": "2024-01-01..2024-01-31", "e": "2024-01-01..2024-01-02", "m": "2024-01-01..2024-01-31"}
    world.ready_until = {"raw": utc("1700-01-01")}
    assert built(world.plan(now=february)) == {}
    world.ready_until = {"raw": february}
    assert built(world.plan(Request(ignore_cron=True), february))["d"] == "2024-01-01..2024-02-01"


def test_what_is_built_stays_expected_when_a_source_takes_its_word_back() -> None:
    """A file that says that a day is complete was removed: published days stay, and what is not built waits."""
    world = World(a_model("d", "raw", batch_size=20))
    world.ready_until = {"raw": utc("2024-01-06")}
    carry_out(world)
    world.ready_until = {"raw": utc("2024-01-03")}
    assert not world.plan().stages
    assert str(world.facts().bounded(world.project).models["d"].expected(NOW)) == "2024-01-01..2024-01-05"


def test_a_current_source_cuts_nothing_off() -> None:
    """Rows of all days that are over: an open interval may be asked for, as may the month that it is in."""
    world = World(a_model("d", "raw", batch_size=20), a_model("m", "d", cadence=Cadence.MONTHLY), a_model("x", "other"))
    world.extents = {"raw": Interval(EPOCH, utc("2024-01-10T08:00"))}
    assert built(world.plan(Request(ignore_cron=True)))["m"] == "2024-01-01..2024-01-31"
    assert built(world.plan())["x"] == "2024-01-01..2024-01-10", "nobody knows how far it reaches"
    assert world.plan().cut_off == ()


def test_a_month_whose_days_are_not_all_there_waits() -> None:
    """Of a month that is over, 30 days are no month."""
    month = a_model("m", "d", cadence=Cadence.MONTHLY)
    world = World(a_model("d", "raw", batch_size=50), month)
    world.extents = {"raw": Interval(EPOCH, utc("2024-01-30T12:00"))}
    plan = world.plan(now=utc("2024-02-01T00:10"))
    assert (built(plan), plan.blocked) == ({"d": "2024-01-01..2024-01-30"}, ())
    world.extents = {"raw": Interval(EPOCH, utc("2024-01-31T12:00"))}
    assert built(world.plan(now=utc("2024-02-01T00:10")))["m"] == "2024-01-01..2024-01-31"


def test_of_several_sources_any_will_do_and_of_several_models_all_have_to() -> None:
    """A table that seldom gains rows holds nothing up; a model that is not there yet does. One that nobody can tell of
    bounds nothing."""
    world = World(
        a_model("a", "rare", "raw", batch_size=20),
        a_model("b", "rare", batch_size=20),
        a_model("c", "rare", "other", batch_size=20),
        a_model("both", "a", "b", batch_size=20),
    )
    world.extents = {"raw": Interval(EPOCH, utc("2024-01-09T12:00")), "rare": Interval(EPOCH, utc("2024-01-02T12:00"))}
    assert {m: str(s).rpartition("..")[2] for m, s in built(world.plan()).items()} == {
        "a": "2024-01-09", "b": "2024-01-02", "c": "2024-01-10", "both": "2024-01-02",
    }  # fmt: skip


def test_a_list_without_a_time_column_takes_no_part() -> None:
    """A fact that joins a list of campaigns ends where its own source ends."""
    world = World(a_model("fact", "raw", "campaigns", batch_size=20), a_model("list", "campaigns", batch_size=20))
    sources = dict(world.project.sources)
    sources["campaigns"] = replace(sources["campaigns"], time_column=None)
    world.project = replace(world.project, sources=sources)
    world.extents = {"raw": SOME_DAY}
    assert built(world.plan()) == {"fact": "2024-01-03..2024-01-08", "list": "2024-01-01..2024-01-10"}


def test_rows_that_disappear_leave_nothing_that_nobody_looks_at() -> None:
    """The newest day of a source is emptied: the model's day is still expected, and a restatement computes it again."""
    world = World(a_model("d", "raw", batch_size=20))
    world.extents = {"raw": SOME_DAY}
    carry_out(world)
    world.extents = {"raw": Interval(SOME_DAY.start, utc("2024-01-05T01:00"))}
    assert world.plan().work == ()
    again = world.plan(Request(restate=(("d", days("08")),)))
    assert built(again) == {"d": "2024-01-08"}
    carry_out(world, Request(restate=(("d", days("08")),)))
    assert str(world.control.environments.read("prod").pointers["d"].covers) == "2024-01-03..2024-01-08"


def test_a_build_has_the_bounds_of_its_plan() -> None:
    """What reads a model whose source lost its newest days changes: all days of the model are there to be read."""
    models = (a_model("d", "raw", batch_size=20), a_model("r", "d", batch_size=20))
    world = World(*models)
    world.extents = {"raw": SOME_DAY}
    carry_out(world)
    world.extents = {"raw": Interval(SOME_DAY.start, utc("2024-01-05T01:00"))}
    world.project = a_project(*models, versions={"r": "2"})
    assert built(world.plan()) == {"r": "2024-01-03..2024-01-08"}
    carry_out(world)
    shown = world.control.environments.read("prod").pointers["r"]
    assert (shown.version, str(shown.covers)) == ("r-2", "2024-01-03..2024-01-08")


def test_a_new_version_does_not_lose_days_unnoticed() -> None:
    """Its source has forgotten days that prod shows: they cannot be computed, and the gate says that they would go."""
    world = World(a_model("d", "raw", batch_size=20), versions={"d": "a" * 16})
    world.extents = {"raw": SOME_DAY}
    carry_out(world)
    newer = World(a_model("d", "raw", batch_size=20), versions={"d": "b" * 16}, store=world.store)
    newer.tables, newer.extents = world.tables, {"raw": Interval(utc("2024-01-06T00:00"), SOME_DAY.end)}
    newer.engine = type(world.engine)(newer.tables)
    plan = newer.plan()
    assert built(plan) == {"d": "2024-01-06..2024-01-08"}
    apply(newer.bench(pins=plan.sources), plan)
    verdict = gated(newer.project, newer.facts(), newer.control.versions.all(), Request(), plan.models)
    [obstacle] = verdict.obstacles
    said = "raw has no rows of days that are shown: prod would lose"
    assert (obstacle.what, str(obstacle.intervals)) == (said, "2024-01-03..2024-01-05")
    assert "`cut_off: false` for raw" in obstacle.remedy and "load them again" in obstacle.remedy


@pytest.mark.parametrize("zone", ["", "America/New_York"])
def test_a_new_version_waits_for_a_source_that_took_its_word_back(zone: str) -> None:
    """Days that prod shows are not ready by now: new logic does not compute them, and the gate says what it waits for,
    also of what reads the model."""
    models = [a_model("d", "raw", batch_size=20, time_zone=zone), a_model("r", "d", batch_size=20, time_zone=zone)]
    world = World(*models, versions={"d": "a" * 16, "r": "c" * 16})
    raw = Source(name="raw", path="raw", time_column="ds", file=Path("sources.yml"), ready=SourceReady(file="_SUCCESS"))
    world.project = replace(world.project, sources={"raw": raw})
    world.ready_until = {"raw": utc("2024-01-09")}
    carry_out(world)
    end = world.control.environments.read("prod").pointers["d"].covers.intervals[-1].end
    newer = World(*models, versions={"d": "b" * 16, "r": "e" * 16}, store=world.store)
    newer.project = replace(newer.project, sources={"raw": raw})
    newer.tables, newer.ready_until = world.tables, {"raw": utc("2024-01-05")}
    newer.engine = type(world.engine)(newer.tables)
    plan = newer.plan()
    apply(newer.bench(pins=plan.sources), plan)
    verdict = gated(newer.project, newer.facts(), newer.control.versions.all(), Request(), plan.models)
    first = utc("2024-01-04" if zone else "2024-01-05")
    assert [(o.model, o.what, o.intervals, o.remedy) for o in verdict.obstacles] == [
        (
            name,
            "raw is not ready for days that are shown: prod would lose",
            ranges(Interval(first, end)),
            "wait until the folder of every day has `_SUCCESS` (`every_day`), then backfill apply",
        )
        for name in ("d", "r")
    ]


def test_a_week_of_days_that_are_not_ready() -> None:
    """All of it waits for the first of them."""
    world = World(a_model("d", "raw"), a_model("w", "d", cadence=Cadence.WEEKLY))
    raw = Source(name="raw", path="raw", time_column="ds", file=Path("sources.yml"), ready=SourceReady(file="_SUCCESS"))
    world.project = replace(world.project, sources={"raw": raw})
    world.ready_until = {"raw": utc("2024-01-05")}
    week = ranges(days("01", "07"))
    assert sources_not_ready(world.project, world.facts(), "w", week) == ((raw, week),)
    assert sources_not_ready(world.project, world.facts(), "d", week) == ((raw, ranges(days("05", "07"))),)


def test_a_range_without_any_rows_is_an_error() -> None:
    """Asked for by name, it says from when to when there are some."""
    world = World(a_model("d", "raw", batch_size=20))
    world.extents = {"raw": SOME_DAY}
    with pytest.raises(PlanError) as caught:
        world.plan(Request(start=utc("2024-01-09"), end=utc("2024-01-11")))
    assert "d: 2024-01-03..2024-01-08" in str(caught.value)
    assert built(world.plan(Request(start=utc("2024-01-08"), end=utc("2024-01-11")))) == {"d": "2024-01-08"}


def test_a_build_that_does_not_come_from_a_plan_waits_for_the_source() -> None:
    """A partition that somebody asks Dagster for: said, not built."""
    world = World(a_model("d", "raw", batch_size=20))
    world.extents = {"raw": SOME_DAY}
    outcome = build(world.bench(), "d", ranges(days("07", "10")))
    beyond = ranges(days("09", "10"))
    assert outcome.waits == (Wait(intervals=beyond, upstream="raw", needs=beyond),)
    assert str(outcome.green) == "2024-01-07..2024-01-08"


@given(st.integers(0, 12), st.integers(1, 12), st.integers(0, 3))
def test_no_day_is_expected_of_a_model_whose_input_is_not_expected(first: int, length: int, lookback: int) -> None:
    """Whatever the source has: a chain of models has the same days, none beyond the source, none it had not before."""
    world = World(a_model("a", "raw"), a_model("b", "a", lookback=lookback), a_model("c", "b"))
    bound = bounded(world.project, {"raw": Interval(day(first), day(first + length))}, NOW)
    expected = [model.expected(NOW) for model in bound.models.values()]
    there = Ranges((Interval(day(first), day(first + length)),)) & world.project.models["a"].expected(NOW)
    assert expected == [there] * 3
