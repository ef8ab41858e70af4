"""What is there to do? The plan, its id, and what is left after it was carried out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.apply import apply
from backfill_assets.core.errors import PlanError, Problem
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.model import Override, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts, Sources, Tables
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import AuditStage, Build, Plan, Promote, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage, Entry, Kind
from backfill_assets_tests.fakes import NOW, Cell, World, a_model, a_pointer, a_project, days, ranges
from backfill_assets_tests.strategies import sets_of_days

ALL = "2024-01-01..2024-01-10"
MODELS = (a_model("a", "raw"), a_model("b", "a"), a_model("c", "b"), a_model("x", "a"), a_model("solo"))


def facts(project: Project, *shown: Pointer, **coverage: Coverage) -> Facts:
    """The situation in which the models have this coverage, and prod shows these pointers."""
    return Facts(
        now=NOW,
        environment=Environment(name="prod", revision=0, pointers={p.model: p for p in shown}, releases={}),
        tables=Tables(
            coverage={name: coverage.get(name, Coverage()) for name in project.models},
            heads=dict.fromkeys(project.models, 1),
        ),
        sources=Sources(pins={"raw": {"commit": 7}}),
    )


def green(*parts: str) -> Coverage:
    return Coverage(green=ranges(*(days(*p.split("..")) for p in parts)))


def builds(plan: Plan) -> dict[str, str]:
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}


def promotes(plan: Plan) -> list[str]:
    return [m.model for s in plan.stages if isinstance(s, Promote) for m in s.models]


def test_an_empty_warehouse_needs_everything_upstreams_first() -> None:
    """All models, all days that are over, in batches, then one promotion of them together."""
    project = a_project(*MODELS)
    plan = make_plan(project, facts(project), Request())
    assert builds(plan) == dict.fromkeys(["a", "b", "c", "x", "solo"], ALL)
    assert list(builds(plan)) == ["a", "b", "c", "x", "solo"]
    assert promotes(plan) == ["a", "b", "c", "x", "solo"]
    assert isinstance(plan.stages[-1], Promote)
    first = plan.stages[0]
    assert isinstance(first, Build)
    assert (first.count, first.reason) == (10, "new in prod")
    assert [str(b) for b in first.batches] == [
        "2024-01-01..2024-01-03",
        "2024-01-04..2024-01-06",
        "2024-01-07..2024-01-09",
        "2024-01-10",
    ]
    assert plan.sources == {"raw": {"commit": 7}}
    assert plan.blocked == ()
    assert plan.work == plan.stages[:-1]


def test_gaps_anywhere_are_what_is_built() -> None:
    """Only what is missing, wherever it is; batches do not cross a gap."""
    project = a_project(a_model("a"))
    plan = make_plan(project, facts(project, a=green("02..03", "07")), Request())
    stage = plan.stages[0]
    assert isinstance(stage, Build)
    assert str(stage.intervals) == "2024-01-01, 2024-01-04..2024-01-06, 2024-01-08..2024-01-10"
    assert [str(b) for b in stage.batches] == ["2024-01-01", "2024-01-04..2024-01-06", "2024-01-08..2024-01-10"]
    assert stage.reason == "intervals are missing"


def test_what_is_built_and_not_audited_is_audited() -> None:
    """It is not built again, and what reads it is planned behind it."""
    project = a_project(a_model("a"), a_model("b", "a"))
    have = Coverage(green=ranges(days("01", "04")), unaudited=ranges(days("05", "06")))
    plan = make_plan(project, facts(project, a=have), Request())
    audit = plan.stages[0]
    assert isinstance(audit, AuditStage)
    assert (audit.model, str(audit.intervals), audit.count) == ("a", "2024-01-05..2024-01-06", 2)
    assert builds(plan) == {"a": "2024-01-07..2024-01-10", "b": ALL}


def test_declared_empty_days_are_not_built() -> None:
    """They count as complete until withdrawn."""
    project = a_project(a_model("a"), a_model("b", "a"))
    have = Coverage(green=ranges(days("01", "09")), empty=ranges(days("10")))
    assert builds(make_plan(project, facts(project, a=have), Request())) == {"b": ALL}


def test_nothing_to_do_says_so() -> None:
    """Complete and shown: no stage, and for each model the reason."""
    project = a_project(a_model("a"), a_model("later", start=utc("2025-01-01")))
    plan = make_plan(project, facts(project, a_pointer("a", "a-1", days("01", "10")), a=green("01..10")), Request())
    assert plan.stages == ()
    assert plan.kept == {"a": "complete and audited", "later": "no interval of it is over yet"}


def test_a_changed_model_says_which_version_prod_shows() -> None:
    """The reason names what is replaced; the models above it, unchanged, are kept."""
    project = a_project(a_model("a"), a_model("b", "a"), versions={"b": "2"})
    shown = [a_pointer("a", "a-1", days("01", "10")), a_pointer("b", "b-1", days("01", "10"))]
    plan = make_plan(project, facts(project, *shown, a=green("01..10")), Request())
    assert builds(plan) == {"b": ALL}
    assert [s.reason for s in plan.stages if isinstance(s, Build)] == ["changed: prod shows b-1"]
    assert promotes(plan) == ["b"]


def test_new_days_of_a_shown_version_are_promoted() -> None:
    """Prod shows the version, without the days since: they are built and moved."""
    project = a_project(a_model("a"))
    shown = a_pointer("a", "a-1", days("01", "08"))
    assert promotes(make_plan(project, facts(project, shown, a=green("01..08")), Request())) == ["a"]
    assert promotes(make_plan(project, facts(project, shown, a=green("01..10")), Request())) == ["a"]


def test_what_cannot_be_built_is_said_with_what_it_waits_for() -> None:
    """Only b is selected, and a lacks days: they are blocked, by a, with the days that a lacks."""
    project = a_project(a_model("a"), a_model("b", "a", lookback=1))
    plan = make_plan(project, facts(project, a=green("01..04", "08..10")), Request(select=("b",)))
    assert builds(plan) == {"b": "2024-01-01..2024-01-04, 2024-01-09..2024-01-10"}
    [blocked] = plan.blocked
    assert (blocked.model, blocked.upstream, blocked.count) == ("b", "a", 4)
    assert (str(blocked.intervals), str(blocked.needs)) == ("2024-01-05..2024-01-08", "2024-01-05..2024-01-07")
    assert "b" not in plan.kept


def test_what_is_built_in_the_plan_counts_for_what_reads_it() -> None:
    """b's days are planned although a lacks them now: a is in the same plan."""
    project = a_project(a_model("a"), a_model("b", "a"))
    plan = make_plan(project, facts(project, a=green("01..04")), Request(select=("a", "b")))
    assert builds(plan) == {"a": "2024-01-05..2024-01-10", "b": ALL}
    assert plan.blocked == ()


def test_a_blocked_model_blocks_what_reads_it() -> None:
    """Neither b nor c can be built when a is not selected."""
    project = a_project(*MODELS)
    plan = make_plan(project, facts(project), Request(select=("b", "c")))
    assert builds(plan) == {}
    assert {(b.model, b.upstream) for b in plan.blocked} == {("b", "a"), ("c", "b")}


@pytest.mark.parametrize("end", ["2024-01-03", "2024-01-02"])
def test_a_reversed_or_empty_range_is_refused(end: str) -> None:
    """Not taken for nothing to do."""
    project = a_project(*MODELS)
    with pytest.raises(PlanError, match="empty or reversed") as refused:
        make_plan(project, facts(project), Request(start=utc("2024-01-03"), end=utc(end)))
    assert refused.value.fix


@pytest.mark.parametrize("request_", [Request(start=utc("2024-01-11")), Request(end=utc("2023-12-31"))])
def test_a_range_outside_every_model_is_refused(request_: Request) -> None:
    """With what the models do have."""
    project = a_project(a_model("a"))
    with pytest.raises(PlanError) as refused:
        make_plan(project, facts(project), request_)
    assert ALL in refused.value.why


def test_a_range_that_some_models_have_is_planned_for_those() -> None:
    """The others are kept, with the reason."""
    project = a_project(a_model("a"), a_model("m", cadence=Cadence.MONTHLY))
    plan = make_plan(project, facts(project), Request(start=utc("2024-01-03"), end=utc("2024-01-05")))
    assert builds(plan) == {"a": "2024-01-03..2024-01-04"}
    assert plan.kept == {"m": "no interval of it is over yet"}


# --- the id -----------------------------------------------------------------------------------------------------------


def test_the_id_says_what_is_to_be_done_not_when() -> None:
    """Planning twice, or an hour later on the same day, gives the same id; a day later another."""
    project = a_project(*MODELS)
    seen = facts(project)
    first = make_plan(project, seen, Request())
    assert make_plan(project, seen, Request()).id == first.id
    assert make_plan(project, replace(seen, now=NOW + timedelta(hours=5)), Request()).id == first.id
    assert make_plan(project, replace(seen, now=NOW + timedelta(days=1)), Request()).id != first.id


@pytest.mark.parametrize("what", ["coverage", "version", "source", "environment", "selection"])
def test_the_id_changes_with_what_is_to_be_done(what: str) -> None:
    """Whoever approved a plan approved exactly that."""
    project = a_project(*MODELS)
    seen, request = facts(project), Request()
    first = make_plan(project, seen, request).id
    match what:
        case "coverage":
            seen = facts(project, a=green("01"))
        case "version":
            project = a_project(*MODELS, versions={"a": "2"})
        case "source":
            seen = seen.with_pins({"raw": {"commit": 8}})
        case "environment":
            seen = replace(seen, environment=replace(seen.environment, name="dev"))
        case _:
            request = Request(select=("a", "b"))
    assert make_plan(project, seen, request).id != first


def test_the_id_changes_with_the_words_that_it_stands_on() -> None:
    """Who approves a plan approves those, too; a line that moved in the file is no other word."""
    project = a_project(*MODELS)
    word = Override(
        model="a", version="a-1", code="x", columns=("ds",), reason="why", place="a.sql:2", reaches=("b", "c")
    )

    def made(*words: Override, select: tuple[str, ...] = ()) -> Plan:
        over = replace(project, overrides={w.model: w for w in words})
        return make_plan(over, facts(over), Request(select=select))

    ids = [made().id, made(word).id, made(replace(word, reason="other")).id, made(replace(word, code="y")).id]
    assert len(set(ids)) == 4
    assert made(replace(word, place="a.sql:3")).id == made(word).id
    assert made(word, select=("solo",)).overrides == ()
    [seen] = made(word, select=("b", "solo")).overrides
    assert seen.reaches == ("b",), "it matters to b, and c is not asked about"


def test_warnings_about_the_selected_models() -> None:
    """With the place as people write it."""
    project = a_project(*MODELS)
    odd = {n: (Problem(file=Path(f"/project/models/{n}.sql"), line=7, what=f"odd {n}", fix="mend"),) for n in "ab"}
    project = replace(project, warnings=odd)
    assert [w.what for w in make_plan(project, facts(project), Request()).warnings] == ["odd a", "odd b"]
    [only] = make_plan(project, facts(project), Request(select=("b",))).warnings
    assert (only.model, only.place, only.fix) == ("b", "models/b.sql:7", "mend")


def test_the_plan_as_json() -> None:
    """Plain values, half-open ISO pairs, every stage by its name: what --json prints and packets keep."""
    project = a_project(a_model("a"), a_model("b", "a"))
    have = Coverage(green=ranges(days("01", "04")), unaudited=ranges(days("05")))
    plan = make_plan(project, facts(project, a=have), Request())
    said = json.loads(json.dumps(plan.to_json()))
    assert said["id"] == plan.id
    assert [s["stage"] for s in said["stages"]] == ["audit", "build", "build", "promote"]
    assert said["stages"][0]["intervals"] == [["2024-01-05T00:00:00+00:00", "2024-01-06T00:00:00+00:00"]]
    assert said["stages"][-1]["models"] == [{"model": "a", "version": "a-1"}, {"model": "b", "version": "b-1"}]


# --- properties -------------------------------------------------------------------------------------------------------
@given(sets_of_days(10), sets_of_days(10), sets_of_days(10), st.integers(0, 3), st.booleans())
def test_nothing_missing_is_forgotten(a: Ranges, unaudited: Ranges, b: Ranges, lookback: int, only_b: bool) -> None:
    """For any coverage, what is planned, what is blocked and what is complete make up all that is wanted; nothing is
    planned twice or that is there already."""
    project = a_project(a_model("a"), a_model("b", "a", lookback=lookback))
    have = {"a": Coverage(green=a, unaudited=unaudited - a), "b": Coverage(green=b)}
    plan = make_plan(project, facts(project, **have), Request(select=("b",) if only_b else ()))
    for name in plan.models:
        planned = [s.intervals for s in plan.work if s.model == name]
        blocked = Ranges.of(i for x in plan.blocked if x.model == name for i in x.intervals)
        total = Ranges.of(i for part in planned for i in part)
        assert total | blocked | have[name].green == project.models[name].expected(NOW)
        assert not total & have[name].green
        assert not blocked & total
        assert sum(p.count(Cadence.DAILY) for p in planned) == total.count(Cadence.DAILY)
        for stage in plan.work:
            if isinstance(stage, Build):
                assert Ranges.of(stage.batches) == stage.intervals


@given(sets_of_days(10), sets_of_days(10), st.integers(0, 3), st.integers(1, 4))
def test_applying_a_plan_leaves_nothing_missing(a: Ranges, b: Ranges, lookback: int, size: int) -> None:
    """From any state that builds can leave, one plan and one apply make everything complete; the next plan has no
    work."""
    world = World(
        a_model("a", "raw", batch_size=size),
        a_model("b", "a", lookback=lookback),
        a_model("w", "b", cadence=Cadence.WEEKLY),
    )
    from backfill_assets.build.build import build

    build(world.bench(), "a", a)
    build(world.bench(), "b", b)
    plan = world.plan()
    assert plan.id == world.plan().id
    outcomes = apply(world.bench(), plan)
    assert all(o.ok for o in outcomes.values())
    after = world.plan()
    assert after.work == ()
    assert after.blocked == ()
    assert set(after.kept) == {"a", "b", "w"}


# --- facts and selection ----------------------------------------------------------------------------------------------


def test_facts_are_read_from_the_ledger_the_tables_and_the_sources() -> None:
    """Coverage of the code's versions and the commit that it was seen at, prod's pointers, and pins of the sources that
    are read."""
    world = World(a_model("a", "raw"), a_model("b", "a", "other"), a_model("c"))
    world.pins.commits = {"raw": 5, "other": 6}
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(unit == days("02"))})
    apply(world.bench(), world.plan(Request(select=("a",))))
    world.control.environments.flip(
        world.control.environments.read("prod"), [a_pointer("a", "a-0", days("01"))], release="r", at=NOW
    )
    found = world.facts()
    assert str(found.tables.coverage["a"].green) == "2024-01-01, 2024-01-03..2024-01-10"
    assert found.tables.coverage["b"] == found.tables.coverage["c"] == Coverage()
    assert found.tables.heads == {"a": 4, "b": -1, "c": -1}
    assert found.sources.pins == {"raw": {"commit": 5}, "other": {"commit": 6}}
    assert found.environment.pointers["a"].version == "a-0"
    assert found.now == NOW


def test_facts_of_another_version_do_not_count() -> None:
    """A changed model starts from nothing, whatever its old version has."""
    world = World(a_model("a"))
    apply(world.bench(), world.plan())
    changed = World(a_model("a"), versions={"a": "2"})
    changed.control, changed.tables = world.control, world.tables
    assert changed.facts().tables.coverage["a"] == Coverage()


def test_changed_audits_are_seen_by_the_facts() -> None:
    """Results for other audits than the code's do not count as green."""
    model = a_model("a")
    world = World(model)
    world.tables.create("a", "a-1")
    world.tables.write("a", "a-1", "b", days("01"), {days("01").start: Cell()})
    entry = Entry(kind=Kind.BUILT, model="a", version="a-1", interval=days("01"), table_commit=1, batch="b", at=NOW)
    world.control.ledger.append([entry, replace(entry, kind=Kind.AUDITED, audits="other audits")])
    assert str(world.facts().tables.coverage["a"].unaudited) == "2024-01-01"
    world.control.ledger.append([replace(entry, kind=Kind.AUDITED, audits=audits_digest(model))])
    assert str(world.facts().tables.coverage["a"].green) == "2024-01-01"


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], "a b c x solo"),
        (["*"], "a b c x solo"),
        (["b"], "b"),
        (["x", "a"], "a x"),  # in dependency order
        (["+c"], "a b c"),
        (["a+"], "a b c x"),
        (["+b+"], "a b c"),
        (["b+", "solo"], "b c solo"),
        (["b,solo"], "b solo"),
        (["b solo"], "b solo"),
        (["+solo+"], "solo"),
    ],
)
def test_select(patterns: list[str], expected: str) -> None:
    """Names, everything upstream, everything downstream, all; sources are not selected."""
    assert " ".join(select_models(a_project(*MODELS), patterns)) == expected


@pytest.mark.parametrize("pattern", ["sollo", "+raw", "B"])
def test_select_refuses_what_is_no_model(pattern: str) -> None:
    """With what there is, and a guess where one is near."""
    with pytest.raises(PlanError) as refused:
        select_models(a_project(*MODELS), ["a", pattern])
    assert "a, b, c, x, solo" in refused.value.why
    assert ("solo" in refused.value.fix) == (pattern == "sollo")


def test_a_type_that_is_not_the_declared_one_is_told() -> None:
    """What an earlier release built is shown, and readers are told apart by what the header says."""
    world = World(a_model("m", promised={"ID": "bigint", "ds": "date"}))
    apply(world.bench(), world.plan())
    facts = world.facts()
    shown = a_pointer("m", world.project.fingerprints["m"], *facts.tables.coverage["m"].built)

    def told(type_: str) -> list[str]:
        pointer = replace(shown, columns=(("ds", "date"), ("id", type_)))
        seen = replace(facts, environment=replace(facts.environment, pointers={"m": pointer}))
        return [f"{w.what}: {w.fix}" for w in make_plan(world.project, seen, Request()).warnings]

    assert told("decimal(18,2)") == [
        'column ID of m is declared bigint, and is decimal(18,2): write `type: "decimal(18,2)"`'
    ]
    assert told("bigint") == []


def test_a_model_that_gave_no_row_at_all_is_told() -> None:
    """A green table without rows would be shown without a word; one row, or a release that shows it, ends that."""
    world = World(a_model("none"), a_model("some"))
    world.engine.cell = lambda job, unit: Cell(rows=int(job.model.name == "some" and unit == days("02")))
    assert not world.plan().warnings, "nothing is built yet"
    apply(world.bench(), world.plan())
    (warning,) = world.plan().warnings
    assert (warning.model, warning.place) == ("none", "none.sql") and warning.why and warning.fix
    assert warning.what.startswith("none gave no row at all in 2024-01-01..")
    facts = world.facts()
    shown = a_pointer("none", world.project.fingerprints["none"], *facts.tables.coverage["none"].built)
    seen = replace(facts.environment, pointers={"none": shown})
    assert not make_plan(world.project, replace(facts, environment=seen), Request()).warnings
    older = replace(facts.environment, pointers={"none": a_pointer("none", "none-0", days("01"))})
    assert make_plan(world.project, replace(facts, environment=older), Request()).warnings
