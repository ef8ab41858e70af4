"""Rows that were computed from newer rows of a source are not replaced by older ones: not even with a yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Override, Source
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, adopted_of
from backfill_assets.plan import older_sources
from backfill_assets.plan.frozen import Continued, Frozen
from backfill_assets.plan.older_sources import Computed, older_rows, reads_back, told_once
from backfill_assets.plan.source_history import SourceChange, SourceHistory
from backfill_assets.plan.stages import Request
from backfill_assets.promote.approve import complete
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.gate import gate, judge_rows
from backfill_assets.promote.gate_forecast import forecast_obstacles
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.settling import Settling
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, a_project, days
from backfill_assets_tests.unit.promote.test_beside_newer import built, released

MODELS = (a_model("a", "raw"), a_model("b", "a"))


def code(world: World, **versions: str) -> None:
    world.project = a_project(*MODELS, versions=versions)


def settled(world: World, request: Request) -> None:
    """Days are computed again from what came to the source, and shown without a plan: as by a settling window."""
    plan = world.plan(request)
    apply(world.bench(patches=plan.patches, pins=plan.sources), plan)
    moving = world.cases().promotion(request, world.facts(), plan, purpose=Purpose.ROUTINE).pointers
    world.control.environments.flip(world.facts().environment, moving, release="settling", at=NOW)


def case(world: World, *, reach: int = 0, purpose: Purpose = Purpose.PROMOTION) -> Case:
    facts = replace(world.facts(), settling=Settling(clock=NOW, reach={"a": timedelta(days=reach)}))
    return world.cases(required=False).promotion(Request(), facts, world.plan(), purpose=purpose)


def older(case: Case) -> Mapping[str, str]:
    found = [o for o in gate(case).obstacles if "older rows of source" in o.what]
    return {o.model: f"{o.intervals}: {o.remedy}" for o in found}


def ahead(world: World, frozen: tuple[Frozen, ...] = ()) -> list[str]:
    plan, cases = replace(world.plan(), continued=Continued(frozen=frozen)), world.cases(required=False)
    found = forecast_obstacles(cases.promotion(Request(), world.facts(), plan), plan, cases.older_reads)
    return [f"{o.model} {o.what} {o.intervals} {o.remedy}" for o in found if "older rows of source" in o.what]


@pytest.fixture
def world() -> World:
    """Ten days are shown. a was built anew from the same source, all but the tenth; then rows of the third came, and
    what is shown of that day was computed again."""
    found = World(*MODELS)
    released(found)
    code(found, a="2", b="2")
    found.plan_of_new = built(found)  # type: ignore[attr-defined]
    code(found)
    found.rows_come(days("03"))
    settled(found, Request(restate=(("a", days("03")),)))
    code(found, a="2", b="2")
    return found


def test_a_plan_from_before_a_day_was_settled(world: World) -> None:
    """Only that day is in the way; the remedy computes it, and what reads it, from the source as it is."""
    closed = older(case(world))
    assert [*closed] == ["a"], "b reads a of its own plan"
    assert closed["a"].startswith("2024-01-03: backfill withdraw a:2024-01-03, then backfill apply")
    withdraw(world.control, world.tables, world.project, [("a", days("03"))], now=NOW, by="dev")
    built(world)
    assert older(case(world)) == {} and {p.model for p in case(world).pointers} == {"a", "b"}


def test_no_yes_is_taken_of_it_and_none_opens_the_gate(world: World) -> None:
    plan = find_plan(world.control, world.plan_of_new)  # type: ignore[attr-defined]
    verdict = judge_rows(world.cases().of_rows(world.facts(), plan))
    assert [(o.model, str(o.intervals)) for o in verdict.obstacles] == [("a", "2024-01-03")]
    with pytest.raises(PlanError, match="cannot be approved yet"):
        complete(plan, verdict)
    world.prove(plan.id)
    world.approve(plan.id)
    assert ["older rows of source raw" in o.what for o in world.release(plan=plan.id).verdict.obstacles] == [True]


def test_what_has_to_be_mended_before_anybody_is_asked(world: World) -> None:
    """`approve` and `apply` refuse their part as long as rows are older: their remedies say so."""
    found = {o.what: o.remedy for o in world.release(plan=world.plan_of_new).verdict.obstacles}  # type: ignore[attr-defined]
    first = [remedy for what, remedy in found.items() if "older rows of source" in what]
    later = [remedy for what, remedy in found.items() if "needs approval" in what or "not compared" in what]
    assert len(first) == 1 and first[0].startswith("backfill ")
    assert len(later) >= 2 and all(remedy.startswith("mend the rest, then backfill ") for remedy in later)


def test_what_is_red_by_now_is_shown_all_the_same(world: World) -> None:
    """A new audit that fails on shown rows makes no other rows of them: older ones do not take their place."""
    ledger = world.control.ledger
    shown = [s for s in world.facts().environment.pointers["a"].segments if s.interval.holds(days("03").start)]
    built = [e for e in ledger.entries(["a"]) if e.kind is Kind.BUILT and e.version == shown[0].version]
    ledger.append(replace(e, kind=Kind.INVALIDATED, id="", audits="new", reason="range failed") for e in built)
    assert older(case(world))["a"].startswith("2024-01-03")


def test_routine_runs_go_on(world: World) -> None:
    assert older(case(world, purpose=Purpose.ROUTINE)) == {}


def test_what_came_without_reaching_a_day(world: World) -> None:
    """Where no rows came between, or none that reach the days that were computed again, nothing is older."""
    code(world)
    world.rows_come(days("08"))
    settled(world, Request(restate=(("a", days("08")),)))
    code(world, a="2", b="2")
    assert older(case(world))["a"].startswith("2024-01-03, 2024-01-08")
    world.changes.clear()  # as compaction, which changes no rows
    assert older(case(world)) == {}


def test_a_window_reaches_back(world: World) -> None:
    """Rows that come on the eighth may belong to a day before it: where that was computed again from them, it is
    newer."""
    code(world)
    world.changes[:] = [replace(c, touches=Ranges((days("04"),))) for c in world.changes]
    code(world, a="2", b="2")
    assert older(case(world)) == {}
    assert older(case(world, reach=1))["a"].startswith("2024-01-03")


@pytest.mark.parametrize(
    ("seconds", "found"), [(0.0, set[str]()), (86400.0, {"a"})], ids=["ends with the day", "reads a day more"]
)
def test_it_reaches_as_far_back_as_the_query_reads(world: World, seconds: float, found: set[str]) -> None:
    """Of the loaded query; of other logic nobody can tell."""
    world.changes[:] = [replace(c, touches=Ranges((days("04"),))) for c in world.changes]
    world.project = replace(world.project, reads_until={"a": {"raw": seconds}})
    assert older(case(world, reach=3)).keys() == found
    project, other = world.project, timedelta(days=3)
    assert reads_back(project, "a", "raw", {"a": other}, "a-2") == timedelta(seconds=seconds)
    assert reads_back(project, "a", "raw", {"a": other}, "a-1") == other
    assert reads_back(project, "a", "raw", {"a": other}, "a-2", "a-1") == other
    assert reads_back(project, "a", "raw", {}, "a-2") == timedelta()
    text = Override(model="a", version="1", code="", columns=(), reason="", place="")
    assert reads_back(replace(project, overrides={"a": text}), "a", "raw", {"a": other}, "a-2") == other


def test_it_is_told_while_other_days_are_missing(world: World) -> None:
    """What is built and older is named before the rest is built: by the plan, not by the gate alone."""
    withdraw(world.control, world.tables, world.project, [("a", days("10"))], now=NOW, by="dev")
    assert not any(p.model == "a" for p in case(world).pointers), "it is not complete"
    told = ahead(world)
    assert len(told) == 1 and told[0].startswith("a was computed from older rows of source raw than prod shows:")
    assert "2024-01-03" in told[0]


def test_so_is_what_would_be_read_of_what_a_plan_froze(world: World) -> None:
    withdraw(world.control, world.tables, world.project, [("a", days("03"))], now=NOW, by="dev")
    assert ahead(world) == []
    frozen = Frozen(model="a", intervals=Ranges((days("02", "04"),)), sources={"raw": {"commit": 1}}, plan="p1")
    told = ahead(world, (frozen,))
    assert len(told) == 1 and "will be computed from older rows of source raw" in told[0]
    assert "2024-01-03 backfill abandon p1, then backfill apply" in told[0]


# --- what tells it ----------------------------------------------------------------------------------------------------

DAY = days("03")
HOUR = datetime(2024, 1, 9, tzinfo=UTC)


def compare(
    then: Mapping[str, object],
    shown: Mapping[str, object],
    history: SourceHistory,
    *,
    later: int = 1,
    time_column: str | None = "at",
    version: str = "v",
) -> str:
    """Which days of a are older, that read `then`, than those that are shown and read `shown` some hours `later`."""
    project = a_project(a_model("a", "raw"))
    raw = replace(project.sources["raw"], time_column=time_column)
    project = replace(project, sources={**project.sources, "raw": raw})
    entry = Entry(
        kind=Kind.BUILT,
        model="a",
        version=version,
        interval=DAY,
        table_commit=0,
        batch="b",
        inputs={"raw": shown},
        at=HOUR + timedelta(hours=later),
    )
    pointer = Pointer(
        model="a",
        time_column="ds",
        timestamps=False,
        columns=(),
        segments=Segments.of_table(version, 0, Ranges((DAY,))),
    )
    found = older_rows(
        project,
        Environment(name="prod", pointers={"a": pointer}, releases={}, revision=0),
        [Computed(model="a", version=version, interval=DAY, read={"raw": then}, began=HOUR)],
        {("a", version): [entry]},
        lambda source, since: history,
        {},
        {},
    )
    return "".join(str(each.intervals) for each in found)


def came(commit: int, *, vague: bool = False) -> SourceChange:
    return SourceChange(name=str(commit), commit=commit, touches=None if vague else Ranges((DAY,)))


def test_shown_by_other_days() -> None:
    """What came at two (UTC) to the sixth, which was computed again, is in the fifth of New York."""
    then, now = a_model("a", "raw"), a_model("a", "raw", time_zone="America/New_York")
    world, at = World(then), utc("2024-01-12T06:00")
    released(world)
    world.project = a_project(now, versions={"a": "2"})
    plan = world.plan(now=at)
    apply(world.bench(pins=plan.sources, now=at), plan)
    world.project = a_project(then)
    world.rows_come(Interval(utc("2024-01-06T02:00"), utc("2024-01-06T03:00")))
    settled(world, Request(restate=(("a", days("06")),)))
    world.project = a_project(now, versions={"a": "2"})
    found = world.cases(required=False).older_reads(
        world.facts(at), [a_pointer("a", "a-2", days("01", "10"), commit=4)]
    )
    assert [(each.model, str(each.intervals)) for each in found.sources] == [("a", "2024-01-05")]


def test_commits_between() -> None:
    """Later than what was read, and not later than what is shown of it."""
    history = SourceHistory(changes=[came(4), came(7)], since=0, head=9)
    assert compare({"commit": 3}, {"commit": 4}, history) == "2024-01-03"
    assert compare({"commit": 4}, {"commit": 6}, history) == ""
    assert compare({"commit": 7}, {"commit": 4}, history) == ""
    vague = SourceHistory(changes=[came(7, vague=True)], since=0, head=9)
    assert compare({"commit": 4}, {"commit": 7}, vague) == "2024-01-03"


def test_what_its_log_does_not_say_any_more_counts() -> None:
    history = SourceHistory(changes=[], since=5, head=9)
    assert compare({"commit": 3}, {"commit": 6}, history) == "2024-01-03"
    assert compare({"commit": 5}, {"commit": 6}, history) == ""
    assert compare({"commit": 3}, {"commit": 6}, history, time_column=None) == "", "as late data of it is not noticed"
    assert compare({"commit": 3}, {"commit": 6}, SourceHistory(unwatched="a catalog's")) == ""


def test_a_table_that_was_made_anew() -> None:
    """Rows of the table that is there are newer than those of the one before; shown rows of the one before are not."""
    history = SourceHistory(head=2, tables=[(0, "new")])
    old, new = {"commit": 9, "table": "old"}, {"commit": 1, "table": "new"}
    assert compare(old, new, history) == "2024-01-03"
    assert compare(new, old, history) == ""


def test_a_table_that_is_replaced_every_night() -> None:
    """Within one log its commits say the order, whichever of its tables is there by now."""
    history = SourceHistory(changes=[came(5), came(8)], since=0, head=9, tables=[(0, "t1"), (5, "t2"), (8, "t3")])
    first, second, third = ({"commit": c, "table": t} for c, t in ((3, "t1"), (6, "t2"), (9, "t3")))
    assert [compare(then, shown, history) for then, shown in ((first, second), (first, third), (second, third))] == [
        "2024-01-03"
    ] * 3
    assert [compare(then, shown, history) for then, shown in ((second, first), (third, first), (third, second))] == [
        ""
    ] * 3
    elsewhere = replace(history, changes=[replace(came(c), touches=Ranges((days("05"),))) for c in (5, 8)])
    assert compare(first, second, elsewhere) == ""
    assert compare(first, second, replace(history, changes=[came(8)])) == "", "what came later than is shown"


def test_a_table_that_was_made_anew_twice() -> None:
    """Neither is there any more: what was read later is newer."""
    history = SourceHistory(changes=[came(0)], since=-1, head=0, tables=[(0, "third")])
    first, second = {"commit": 9, "table": "first"}, {"commit": 1, "table": "second"}
    assert compare(first, second, history) == "2024-01-03"
    assert compare(second, first, history, later=-1) == ""


def test_files_that_came_after_what_is_shown() -> None:
    """Nothing that is shown was computed from them; but where a file that it read is gone, one may be of before."""
    early, mid, late = (
        SourceChange(name=str(m), touches=Ranges((day,)), at=HOUR + timedelta(minutes=m))
        for m, day in ((-60, days("05")), (10, days("05")), (300, DAY))
    )
    history = SourceHistory(changes=[early, mid, late], digests={"z"})
    then, now = {"files": "x", "count": 1}, {"files": "y", "count": 2}
    assert compare(then, now, history) == ""
    assert compare(then, now | {"count": 3}, history) == "2024-01-03", "late may have been written over one of them"
    assert compare(then, now, replace(history, changes=[early, replace(mid, touches=Ranges((DAY,))), late])) != ""


def test_files_have_times_only() -> None:
    """A batch that began before another one, of other files, is older where a younger file has its days."""
    young = SourceChange(name="f", touches=Ranges((DAY,)), at=HOUR + timedelta(minutes=1))
    history = SourceHistory(changes=[young], digests={"y"})
    then, now = {"files": "x", "count": 1}, {"files": "y", "count": 1}
    assert compare(then, now, history) == "2024-01-03"
    assert compare(then, now, history, later=-1) == "" and compare(now, now, history) == ""
    assert compare(then, now, replace(history, changes=[replace(young, touches=Ranges((days("05"),)))])) == ""


def test_a_source_is_looked_at_once() -> None:
    """As far back as somebody asks; further only where somebody asks for more."""
    asked: list[tuple[str, int]] = []

    def history(source: Source, since: int) -> SourceHistory:
        asked.append((source.name, since))
        return SourceHistory(since=since)

    look, sources = told_once(history), a_project(a_model("a", "raw"), a_model("b", "other")).sources
    for name, since in (("raw", 5), ("raw", 7), ("other", 7), ("raw", 3), ("raw", 5)):
        assert look(sources[name], since).since <= since
    assert asked == [("raw", 5), ("other", 7), ("raw", 3)]


def test_days_of_the_same_two_states_are_looked_at_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of hours that one batch after the other read in the same state, against as many."""
    looks: list[object] = []

    def counted(pair: Any, told: SourceHistory) -> list[SourceChange]:
        looks.append(pair)
        return real(pair, told)

    real = older_sources._between  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(older_sources, "_between", counted)
    code(world)
    world.rows_come(days("05", "08"))
    for day in ("05", "06", "07"):
        settled(world, Request(restate=(("a", days(day)),)))
    code(world, a="2", b="2")
    assert older(case(world))["a"].startswith("2024-01-03, 2024-01-05..2024-01-07")
    assert len(looks) == 2, "the third, and the other three"


def test_adopted_rows_were_computed_from_no_source() -> None:
    history = SourceHistory(changes=[came(4)], since=0, head=9)
    assert compare({"commit": 3}, {"commit": 4}, history, version=adopted_of("v", "x")) == ""
