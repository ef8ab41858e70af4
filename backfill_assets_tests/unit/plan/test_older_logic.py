"""What a change made forward only left of older logic is replaced in one plan, with all that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import declare_empty
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.segments import Segments, logic_of, revision_of
from backfill_assets.plan.facts import Sources
from backfill_assets.plan.missing import needed
from backfill_assets.plan.older_logic import held_by_older, refuse_parts
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.promote.gate import gate
from backfill_assets.promote.gate_forecast import forecast_obstacles
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets_tests.fakes import NOW, World, a_model, a_project, days

MODELS = (a_model("day", "raw"), a_model("week", "day", lookback=6), a_model("next", "week"), a_model("other", "raw"))
TEN = Ranges((days("01", "10"),))


def released(world: World, request: Request | None = None, now: datetime = NOW) -> Plan:
    """Plan, build, prove, approve and promote, as people do."""
    plan = world.plan(request, now=now)
    assert plan.blocked == ()
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    assert all(o.ok for o in apply(world.bench(patches=plan.patches, pins=plan.sources, now=now), plan).values())
    world.prove(opened.plan.id, now=now)
    world.approve(opened.plan.id, now=now)
    verdict = world.release(plan=opened.plan.id, now=now).verdict
    assert verdict.obstacles == () and verdict.open
    return plan


def code(world: World, **versions: str) -> None:
    world.project = a_project(*MODELS, versions=versions)


def shown(world: World, name: str) -> Mapping[datetime, tuple[str, str, tuple[str, ...]]]:
    """Start of each interval → the logic, the batch, and the batches that it read."""
    found: dict[datetime, tuple[str, str, tuple[str, ...]]] = {}
    for s in world.control.environments.read("prod").pointers[name].segments:
        cells = world.tables.cells(name, s.version, s.commit)
        for unit in world.project.models[name].cadence.split(s.interval):
            found[unit.start] = (s.logic, cells[unit.start].batch, cells[unit.start].read)
    return found


def fits(world: World, name: str, upstream: str) -> bool:
    """Whether each shown interval was computed from nothing but what is shown of its upstream."""
    model, above = world.project.models[name], world.project.models[upstream]
    there = shown(world, upstream)
    for start, (_, _, read) in shown(world, name).items():
        batch = next(b for b in world_batches(world, name) if b.holds(start))
        wanted = {there[u.start][1] for u in needed(model, above, batch).split(above.cadence) if u.start in there}
        if not wanted >= set(read):
            return False
    return True


def world_batches(world: World, name: str) -> list[Interval]:
    return [i for n, i in reversed(world.engine.writes) if n == name]


def reasons(plan: Plan) -> list[str]:
    return [stage.reason for stage in plan.stages if isinstance(stage, Build)]


SEAM = days("06").start


@pytest.fixture
def world() -> World:
    """Ten days are shown, of newer logic from the sixth on; `week` of that looks back over the seam."""
    found = World(*MODELS)
    released(found)
    code(found, day="2", week="2", next="2")
    released(found, Request(forward_only=SEAM))
    assert str(found.facts().environment.pointers["week"].older.covers) == "2024-01-01..2024-01-05"
    return found


def test_one_plan_builds_all_that_reads_it(world: World) -> None:
    """The older days, and the newer ones whose lookback reaches them; nothing of what reads none of it."""
    plan = world.plan()
    assert {b.model: str(b.intervals) for b in plan.work} == {
        "day": "2024-01-01..2024-01-05",
        "week": "2024-01-01..2024-01-10",
        "next": "2024-01-01..2024-01-10",
    }
    assert {logic_of(b.version) for b in plan.work} == {"day-2", "week-2", "next-2"}
    older = "prod shows older logic in 2024-01-01..2024-01-05"
    assert reasons(plan) == [
        older,
        f"{older}; the rest reads what is computed again of day",
        f"{older}; the rest reads what is computed again of week",
    ]
    cases = world.cases()
    assert forecast_obstacles(cases.promotion(plan.request, world.facts(), plan), plan, cases.older_reads) == ()


def test_what_cannot_be_read_now_waits(world: World) -> None:
    """The older days of a model whose source is away stay as they are, and hold up nothing else."""
    away = replace(world.facts(), sources=Sources(away={"raw": PlanError("source raw has no data")}))
    plan = make_plan(world.project, away, Request())
    assert not plan.work, plan.work
    assert not plan.moves, plan.moves


def test_its_rows_are_those_of_one_logic(world: World) -> None:
    """Once it is promoted, each interval was computed from what is shown beside it, and nothing is left to do."""
    assert {logic for logic, *_ in shown(world, "week").values()} == {"week-1", "week-2"}
    released(world)
    for name in ("day", "week", "next"):
        assert {logic for logic, *_ in shown(world, name).values()} == {f"{name}-2"}
        assert world.facts().environment.pointers[name].covers == TEN
    assert fits(world, "week", "day") and fits(world, "next", "week")
    assert world.plan().stages == ()


def test_a_model_by_itself_takes_its_readers_along(world: World) -> None:
    plan = world.plan(Request(select=("day",)))
    assert plan.models == ("day", "week", "next")
    assert str(plan.patches["week"].intervals) == "2024-01-01..2024-01-10"


def test_a_reader_of_other_code_is_selected_as_well(world: World) -> None:
    code(world, day="2", week="3", next="3")
    with pytest.raises(PlanError, match=r"week .* is not selected") as refused:
        world.plan(Request(select=("day",)))
    assert "--select week" in refused.value.fix
    plan = world.plan()
    assert [*plan.patches] == ["day"]
    released(world)
    assert fits(world, "week", "day") and fits(world, "next", "week")
    assert {logic for logic, *_ in shown(world, "week").values()} == {"week-3"}


def test_a_range_leaves_it(world: World) -> None:
    """Days of it by themselves would be an island of the newer logic."""
    plan = world.plan(Request(start=days("03").start))
    assert plan.stages == () and "2024-01-01..2024-01-05 still has rows of the previous logic" in plan.kept["day"]


NEXT_DAY = utc("2024-01-12T12:00")


def grown(world: World, request: Request, now: datetime = NEXT_DAY) -> None:
    """Days that came since are built and promoted, beside what is there."""
    apply(world.bench(now=now), world.plan(request, now=now))
    assert world.release(request, now=now, required=False).moved


def work(plan: Plan) -> dict[str, str]:
    return {b.model: str(b.intervals) for b in plan.work}


def test_new_days_follow_by_the_next_plan(world: World) -> None:
    """Else a revision would hold what a routine run computes meanwhile beside older rows. It is said."""
    plan = released(world, now=NEXT_DAY)
    assert work(plan) == {
        "day": "2024-01-01..2024-01-05", "week": "2024-01-01..2024-01-10", "next": "2024-01-01..2024-01-10",
        "other": "2024-01-11",
    }  # fmt: skip
    assert all(reason.endswith("; 2024-01-11 follows by the next plan") for reason in reasons(plan)[:3])
    assert work(released(world, now=NEXT_DAY)) == dict.fromkeys(("day", "week", "next"), "2024-01-11")
    assert world.plan(now=NEXT_DAY).stages == () and fits(world, "week", "day") and fits(world, "next", "week")


def test_a_night_between_its_build_and_its_promotion(world: World) -> None:
    """The routine run was late, and the plan was built before it: what that published is built again."""
    plan = world.plan(now=NEXT_DAY)
    assert store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    apply(world.bench(patches=plan.patches, now=NEXT_DAY), plan)
    grown(world, Request(start=days("11").start))
    assert work(released(world, now=NEXT_DAY)) == {"week": "2024-01-11", "next": "2024-01-11"}
    assert world.plan(now=NEXT_DAY).stages == () and fits(world, "week", "day") and fits(world, "next", "week")


def test_a_reader_of_other_code_needs_the_new_days_first(world: World) -> None:
    """It is promoted as a whole, new day included, which a plan of older logic does not bring: refused, with a way."""
    code(world, day="2", week="3", next="3")
    with pytest.raises(PlanError, match="week 2024-01-11 waits for day 2024-01-11, which this plan leaves") as refused:
        world.plan(now=NEXT_DAY)
    assert "backfill apply --promote --select day --start 2024-01-11; then this" in str(refused.value)
    grown(world, Request(select=("day",), start=days("11").start))
    released(world, now=NEXT_DAY)
    assert world.plan(now=NEXT_DAY).stages == () and fits(world, "week", "day") and fits(world, "next", "week")


def test_what_was_built_before_it_was_over_is_left_to_the_next_plan(world: World) -> None:
    """A day that is shown half is not read for a finished one; shown open, it holds nothing up."""
    grown(world, Request(start=days("11").start, ignore_cron=True), NOW)
    assert "2024-01-11" in str(world.facts().environment.pointers["week"].covers.span)
    assert other_rows(world, world.plan()) == []
    plan = world.plan(Request(select=("day",)), now=NEXT_DAY)
    assert work(plan) == {
        "day": "2024-01-01..2024-01-05", "week": "2024-01-01..2024-01-10", "next": "2024-01-01..2024-01-10",
    }  # fmt: skip
    released(world, now=NEXT_DAY)
    assert work(released(world, now=NEXT_DAY)) == dict.fromkeys(("day", "week", "next"), "2024-01-11")
    assert fits(world, "week", "day") and fits(world, "next", "week")


def test_nothing_is_declared_empty_of_what_is_shown_by_older_logic(world: World) -> None:
    """It is there: its readers would be refused for it."""
    assert (
        declare_empty(world.control, world.tables, world.project, world.facts(), Request(select=("day",)), by="ana")
        == {}
    )


def test_days_over_empty_ones_are_no_part_of_it() -> None:
    """They are not published by way of the plan that replaces older logic."""
    world = World(a_model("up", "raw"), a_model("day", "up"))
    released(world)
    models = (a_model("up", "raw"), a_model("day", "up"))
    world.project = a_project(*models, versions={"day": "2"})
    released(world, Request(forward_only=SEAM))
    declare_empty(world.control, world.tables, world.project, world.facts(NEXT_DAY), Request(select=("up",)), by="ana")
    assert work(world.plan(now=NEXT_DAY)) == {"day": "2024-01-01..2024-01-05"}


def test_days_that_are_added_meanwhile_begin_nothing_anew(world: World) -> None:
    """A routine run publishes a day: what was built of the older ones counts."""
    before = world.plan().patches
    later = NEXT_DAY
    grown(world, Request(start=days("11").start))
    after = world.plan(now=later).patches
    assert {n: p.version for n, p in after.items()} == {n: p.version for n, p in before.items()}
    assert str(after["week"].intervals) == "2024-01-01..2024-01-11"


def test_a_day_that_came_before_its_promotion_is_built_as_well(world: World) -> None:
    """The newest day of `week` was extended over older rows, while the plan was built: it holds the plan up until it is
    built, and nothing else is built again."""
    plan = built(world)
    later = NEXT_DAY
    grown(world, Request(start=days("11").start))
    stuck = world.release(plan=plan, now=later, required=False).verdict.obstacles
    assert [(o.model, str(o.intervals)) for o in stuck if "other rows" in o.what] == [("week", "2024-01-11")]
    left = world.plan(now=later)
    assert {b.model: str(b.intervals) for b in left.work} == {"week": "2024-01-11", "next": "2024-01-11"}
    apply(world.bench(patches=left.patches, now=later), left)
    assert other_rows(world, left, later) == []


def other_rows(world: World, plan: Plan, now: datetime = NOW) -> list[Obstacle]:
    case = world.cases(required=False).promotion(plan.request, world.facts(now), plan)
    return [o for o in gate(case).obstacles if "was computed from other rows" in o.what]


def built(world: World) -> str:
    plan = world.plan()
    opened = store_plan(world.control, plan, by="dev", views=lambda: None, code=world.project.fingerprints)
    assert opened
    assert all(o.ok for o in apply(world.bench(patches=plan.patches), plan).values())
    return opened.plan.id


def test_it_is_promoted_by_its_request_too(world: World) -> None:
    plan = built(world)
    world.prove(plan)
    world.approve(plan)
    assert world.release().moved and world.plan().stages == ()
    assert fits(world, "week", "day") and fits(world, "next", "week")


def test_another_change_from_a_day_on_reads_it_as_it_is_shown(world: World) -> None:
    """`week` gets a third logic from the eighth on, and looks back to days of `day` that are of the first one."""
    code(world, day="2", week="3", next="3")
    released(world, Request(forward_only=days("08").start))
    pointer = world.facts().environment.pointers["week"]
    assert [(s.logic, str(s.interval)) for s in pointer.segments] == [
        ("week-1", "2024-01-01..2024-01-05"),
        ("week-2", "2024-01-06..2024-01-07"),
        ("week-3", "2024-01-08..2024-01-10"),
    ]
    assert fits(world, "week", "day")
    assert {b.model: str(b.intervals) for b in world.plan().work}["week"] == "2024-01-01..2024-01-10"
    released(world)
    assert {logic for logic, *_ in shown(world, "week").values()} == {"week-3"} and fits(world, "week", "day")


def test_another_correction_of_its_days_is_another_revision(world: World) -> None:
    before = world.plan().patches
    released(world, Request(restate=(("week", days("08")),)))
    after = world.plan().patches
    assert before["day"].version == after["day"].version and before["week"].version != after["week"].version


def test_a_shown_reader_is_in_the_way_of_rows_that_are_replaced_under_it(world: World) -> None:
    """Whoever moves `day` alone: its published rows are others then, and `week` was computed from the old ones."""
    plan = world.plan()
    assert all(o.ok for o in apply(world.bench(patches=plan.patches), plan).values())
    assert other_rows(world, plan) == []
    found = other_rows(world, replace(plan, models=("day",)))
    assert [(o.model, str(o.intervals)) for o in found] == [
        ("week", "2024-01-06..2024-01-10"),
        ("week", "2024-01-01..2024-01-05"),
    ]
    assert all("other rows of day 2024-01-01..2024-01-05" in o.what for o in found)
    assert {o.remedy for o in found} == {"backfill apply, which computes it again with what it reads"}


def test_so_is_a_shown_reader_of_older_logic() -> None:
    """Its record says the version that it was computed from, which the newest days are of."""
    world = a_month_over_a_seam()
    plan = world.plan()
    assert all(o.ok for o in apply(world.bench(patches=plan.patches), plan).values())
    found = other_rows(world, replace(plan, models=("day",)))
    assert [(o.model, str(o.intervals)) for o in found] == [("month", "2023-11-01..2023-11-30")]


MONTHS = (
    a_model("day", "raw", start=utc("2023-11-01")),
    a_model("month", "day", cadence=Cadence.MONTHLY, start=utc("2023-11-01"), batch_size=1),
)


def a_month_over_a_seam() -> World:
    """Two months and ten days: `day` is of newer logic from mid-November on, `month` from December on."""
    world = World(*MONTHS)
    released(world)
    world.project = a_project(*MONTHS, versions={"day": "2", "month": "2"})
    released(world, Request(forward_only=utc("2023-11-16")))
    return world


def test_a_month_that_a_boundary_cuts() -> None:
    world = a_month_over_a_seam()
    assert {b.model: str(b.intervals) for b in world.plan().work} == {
        "day": "2023-11-01..2023-11-15",
        "month": "2023-11-01..2023-11-30",
    }
    released(world)
    assert fits(world, "month", "day") and world.plan().stages == ()


def test_days_of_older_logic_are_not_restated(world: World) -> None:
    """One of them would be of the newer logic, among others of the older."""
    with pytest.raises(PlanError, match="day 2024-01-05 cannot be computed again: prod shows older logic") as refused:
        world.plan(Request(restate=(("day", days("05", "07")),)))
    assert "among the others of 2024-01-01..2024-01-05" in refused.value.why
    assert refused.value.fix.endswith("now: backfill apply; or restate day from 2024-01-06 on")


def test_nor_in_some_of_their_rows(world: World) -> None:
    with pytest.raises(PlanError, match="prod shows older logic there"):
        world.plan(Request(restate=(("day", days("05")),), where="id = 1"))


def test_nor_when_a_reader_has_such_days() -> None:
    """The day itself is of newer logic, its month is not."""
    world = a_month_over_a_seam()
    with pytest.raises(PlanError, match=r"day cannot be restated: month 2023-11-01\.\.2023-11-30 reads it") as refused:
        world.plan(Request(restate=(("day", Interval(utc("2023-11-20"), utc("2023-11-21"))),)))
    assert refused.value.fix.endswith("or restate day from 2023-12-01 on")
    assert world.plan(Request(restate=(("day", Interval(utc("2023-12-20"), utc("2023-12-21"))),))).patches


def test_nor_built_by_themselves(world: World) -> None:
    """As somebody materializes a partition in Dagster."""
    pointer = world.facts().environment.pointers["day"]
    with pytest.raises(PlanError, match=r"day 2024-01-04\.\.2024-01-05 is not built by itself"):
        refuse_parts(world.project, pointer, "day", days("04", "07"))
    refuse_parts(world.project, pointer, "day", days("06", "07"))
    code(world, day="3", week="3", next="3")
    refuse_parts(world.project, pointer, "day", days("04", "07"))


def test_a_plan_says_which_month_it_cuts() -> None:
    """It stays as it is beside days of the new logic; where a month begins, none is cut."""
    world = World(*MONTHS)
    released(world)
    world.project = a_project(*MONTHS, versions={"day": "2", "month": "2"})
    [cut] = world.plan(Request(forward_only=utc("2023-11-16"))).warnings
    assert cut.what == (
        "month 2023-11-01..2023-11-30 stays as it is, and day beside it is of the new logic from 2023-11-16 on"
    )
    assert "--forward-only 2023-11-01 or 2023-12-01" in cut.fix
    assert world.plan(Request(forward_only=utc("2023-12-01"))).warnings == ()
    world.project = a_project(*MONTHS, versions={"month": "2"})
    assert world.plan(Request(forward_only=utc("2023-11-16"))).warnings == ()


def test_what_cannot_be_computed_again_by_itself() -> None:
    world = a_month_over_a_seam()
    held = held_by_older(world.project, world.facts().environment)
    assert {name: str(part) for name, part in held.items()} == dict.fromkeys(("month", "day"), "2023-11-01..2023-11-30")


def test_a_day_that_leaves_a_long_interval_nothing() -> None:
    """The day that every model can begin with is named."""
    world = World(*MONTHS)
    released(world)
    world.project = a_project(*MONTHS, versions={"day": "2", "month": "2"})
    with pytest.raises(PlanError, match="no monthly interval of month from 2024-01-01 on is over yet") as refused:
        world.plan(Request(forward_only=utc("2023-12-10")))
    assert refused.value.fix == "name 2023-12-01 or an earlier day, or wait until that one is over"


def test_a_day_after_the_end_of_the_older_rows() -> None:
    """The days between would be shown by nobody: adopted tables, and models that wait, end earlier than today."""
    world, later = World(*MODELS), utc("2024-01-15")
    released(world)
    code(world, day="2", week="2", next="2")
    with pytest.raises(PlanError, match=r"prod would show no rows of day in 2024-01-11\.\.2024-01-12") as refused:
        world.plan(Request(forward_only=utc("2024-01-13")), now=later)
    assert refused.value.fix == "begin where they end: --forward-only 2024-01-11"
    plan = released(world, Request(forward_only=utc("2024-01-11")), later)
    assert {str(b.intervals) for b in plan.work} == {"2024-01-11..2024-01-14"}
    assert str(world.facts().environment.pointers["day"].covers) == "2024-01-01..2024-01-14"


def test_islands_of_newer_logic_are_told_as_they_are(world: World) -> None:
    """Earlier releases let single older days be restated: what is left is named by its ranges."""
    plan = world.plan(Request(restate=(("day", days("08")),)))
    pointer = world.facts().environment.pointers["day"]
    island = Segments.of_table(revision_of("day-2", "old"), 1, [days("03")])
    old = world.tables.cells("day", "day-1")
    world.tables.create("day", revision_of("day-2", "old"))
    world.tables.write("day", revision_of("day-2", "old"), "x", days("03"), {days("03").start: old[days("03").start]})
    moved = replace(pointer, segments=island.over(pointer.segments))
    world.control.environments.flip(world.facts().environment, [moved], release="by-hand", at=NOW)
    assert plan.patches
    assert reasons(world.plan())[0] == "prod shows older logic in 2024-01-01..2024-01-02, 2024-01-04..2024-01-05"
