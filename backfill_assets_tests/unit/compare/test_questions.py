"""Which days are read, which are proved to be the same, and which are on one side only?"""

from __future__ import annotations

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.compare.questions import ask, questions
from backfill_assets.compare.sides import Side, resolve_side
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Signature
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, Cell, FakeTables, World, a_model, a_pointer, a_project, days, ranges
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

MODEL = a_model("orders")


@pytest.fixture
def tables() -> FakeTables:
    """Version 1: days 1 to 4 in commit 1, day 3 again and day 5 in commit 2. Version 2: days 1 to 4."""
    found = FakeTables()
    for version in ("1", "2"):
        found.create("orders", version)
        found.write(
            "orders", version, "a", days("01", "04"), {d.start: Cell(rows=3, batch="a") for d in each("01", "04")}
        )
    found.write("orders", "1", "b", days("03"), {days("03").start: Cell(rows=4, batch="b")})
    return found


def each(first: str, last: str) -> list[Interval]:
    return list(Cadence.DAILY.split(days(first, last)))


def test_the_same_commit_is_not_read(tables: FakeTables) -> None:
    """Two pointers at one commit: nothing to read, and the proof counts the rows."""
    pointer = a_pointer("orders", "1", days("01", "04"), commit=1)
    asked = ask(MODEL, pointer, pointer, tables)
    [proof] = asked.proofs
    assert (proof.interval, proof.version, proof.commits, proof.rows) == (days("01", "04"), "1", (1, 1), 12)
    assert not asked.compared and asked.unread().same


def test_the_same_files_at_another_commit_are_not_read(tables: FakeTables) -> None:
    """Only the day that was written in between is read; those around it are the same files."""
    old, new = (a_pointer("orders", "1", days("01", "04"), commit=c) for c in (1, 2))
    asked = ask(MODEL, old, new, tables)
    assert asked.compared == ranges(days("03"))
    assert [(p.interval, p.rows) for p in asked.proofs] == [(days("01", "02"), 6), (days("04"), 3)]


def test_a_month_is_read_for_any_of_its_days() -> None:
    """Rows of a month may be in partitions of its days: one of them that was written again is enough."""
    found, month = FakeTables(), Interval.of("2024-01-01", "2024-02-01")
    found.create("monthly", "1")
    found.write("monthly", "1", "a", month, {days(d).start: Cell(rows=3, batch="a") for d in ("01", "05")})
    found.write("monthly", "1", "b", days("05"), {days("05").start: Cell(rows=4, batch="b")})
    old, new = (a_pointer("monthly", "1", month, commit=c) for c in (1, 2))
    asked = ask(a_model("monthly", cadence=Cadence.MONTHLY), old, new, found)
    assert asked.compared == ranges(month) and not asked.proofs


def test_another_version_is_read(tables: FakeTables) -> None:
    """Whatever two tables hold, their files are not the same ones; days of one side only are listed, not read."""
    old = a_pointer("orders", "1", days("01", "03"), commit=1)
    new = a_pointer("orders", "2", days("02", "04"), commit=1)
    asked = ask(MODEL, old, new, tables)
    assert asked.compared == ranges(days("02", "03")) and not asked.proofs
    assert (asked.only_old, asked.only_new) == (ranges(days("01")), ranges(days("04")))
    assert not asked.unread().same


def test_a_restated_day_among_shown_ones(tables: FakeTables) -> None:
    """Four segments: only the replaced days are read."""
    old = a_pointer("orders", "1", days("01", "04"), commit=1)
    new = old.cut(ranges(days("01"), days("03", "04")))
    patch = a_pointer("orders", "2", days("02"), commit=1).segments
    new = type(new)(
        model="orders",
        time_column="ds",
        timestamps=False,
        columns=old.columns,
        segments=tuple(sorted([*new.segments, *patch], key=lambda s: s.interval)),
    )
    asked = ask(MODEL, old, new, tables)
    assert asked.compared == ranges(days("02"))
    assert [p.interval for p in asked.proofs] == [days("01"), days("03", "04")]


@pytest.mark.parametrize(
    ("within", "read"),
    [
        (days("02"), ranges(days("02"))),
        (Interval(utc("2024-01-02T05:00"), utc("2024-01-03T01:00")), ranges(days("02", "03"))),
        (Interval(days("03").start, ALL_TIME.end), ranges(days("03", "04"))),
        (days("20"), ranges()),
    ],
)
def test_a_range_is_widened_to_whole_intervals(tables: FakeTables, within: Interval, read: object) -> None:
    """--start and --end cut the days, by whole intervals; one of them may be open."""
    one, other = (a_pointer("orders", v, days("01", "04"), commit=1) for v in ("1", "2"))
    asked = ask(MODEL, one, other, tables, within=within)
    assert asked.compared == read and not asked.only_old and not asked.only_new


def test_an_open_range_of_months() -> None:
    """The end of time has no whole month; nothing fails for it."""
    model = a_model("monthly", cadence=Cadence.MONTHLY)
    month = Interval.of("2024-01-01", "2024-02-01")
    one, other = (a_pointer("monthly", v, month) for v in ("1", "2"))
    assert ask(model, one, other, FakeTables(), within=Interval(days("05").start, ALL_TIME.end)).compared == ranges(
        month
    )


@pytest.mark.parametrize(
    ("then", "now", "asked", "used"),
    [
        (1e-9, 0.5, None, 1e-9),
        (0.5, 1e-9, None, 1e-9),
        (0.1, 0.1, None, 0.1),
        (1e-9, 0.5, 0.2, 0.2),
        (None, 0.5, None, 0.5),
    ],
)
def test_nobody_widens_the_tolerance_for_the_change_that_comes_with_it(
    tables: FakeTables, then: float | None, now: float, asked: float | None, used: float
) -> None:
    """What is shown was published with one: the smaller of both counts, unless somebody asks otherwise."""
    world = World(a_model("orders", tolerance=now))
    definition = {} if then is None else {"tolerance": then}
    record = Version(
        model="orders",
        version="1",
        upstream={},
        columns=(),
        definition=definition,
        signature=Signature(rows="", columns={}),
        created=NOW,
    )
    old, new = (
        Side(name=v, pointers={"orders": a_pointer("orders", v, days("01", "03"), commit=1)}) for v in ("1", "2")
    )
    [question] = questions(world.project, {("orders", "1"): record}, tables, old, new, tolerance=asked)
    assert question.tolerance == used


def test_a_mask_of_any_version_holds(tables: FakeTables) -> None:
    """What the code no longer masks is masked still, where a side shows a version that did."""
    world = World(a_model("orders", mask=("email",)))
    asked = ask(a_model("orders", mask=("Phone",)), None, None, tables, mask=["email"])
    assert asked.mask == {"email", "phone"}
    assert world.project.models["orders"].mask == ("email",)


def test_a_side_is_an_environment_or_a_version() -> None:
    """Names that mean nothing are refused with what there is."""
    world = World(MODEL)
    with pytest.raises(StateError, match="no environment or release staging shows anything"):
        resolve_side("staging", world.project, world.control, world.tables)
    with pytest.raises(StateError, match="names no version"):
        resolve_side("orders@12", world.project, world.control, world.tables)


def test_a_version_is_what_is_built_of_it() -> None:
    """`model@` and the beginning of a version: its built days, at the newest commit; red days are not in it."""
    world = World(MODEL)
    version = world.project.fingerprints["orders"]
    world.engine.cell = lambda job, interval: Cell(rows=2, failures={"rows_ok": interval == days("02")})
    apply(world.bench(), world.plan())
    side = resolve_side(f"orders@{version[:4]}", world.project, world.control, world.tables)
    pointer = side.pointers["orders"]
    assert side.name == f"orders@{version}"
    assert pointer.covers == world.facts().tables.coverage["orders"].built and days("02") not in pointer.covers
    assert {s.commit for s in pointer.segments} == {world.tables.head("orders", version)}


def test_a_model_that_nobody_shows_is_refused() -> None:
    """A wrong --model or --slice names what there is."""
    world = World(MODEL)
    side = Side(name="prod", pointers={"orders": a_pointer("orders", "1", days("01"))})
    with pytest.raises(PlanError, match="neither prod nor prod shows customers"):
        questions(world.project, {}, world.tables, side, side, models=["customers"])
    with pytest.raises(PlanError, match="no model that is compared has a column colour"):
        questions(world.project, {}, world.tables, side, side, slices=["colour"])
    [asked] = questions(world.project, {}, FakeTables(), side, Side(name="dev", pointers={}), slices=["ID"])
    assert asked.slices == ("ID",)


def test_a_release_is_what_was_shown_right_after_it() -> None:
    """By a beginning or an end of its id; two of them differ where something was moved in between."""
    history = ProjectHistory()
    history.release()
    history.change(c="2")
    history.release()
    first, second = history.releases
    world = history.world

    def side(name: str) -> Side:
        return resolve_side(name, world.project, world.control, world.tables)

    assert side(first.id[-6:]).name == first.id
    assert side(second.id).pointers == history.prod.pointers
    assert {m: p.version for m, p in side(first.id).pointers.items()} == {"a": "a-1", "b": "b-1", "c": "c-1"}
    records = world.control.versions.all()
    asked = questions(world.project, records, world.tables, side(first.id), side("prod"))
    assert [(q.model.name, str(q.compared)) for q in asked if q.compared] == [("c", "2024-01-01..2024-01-10")]
    with pytest.raises(StateError, match="no environment or release r20 shows anything"):
        side("r20")


@pytest.mark.parametrize("old", [Cadence.DAILY, Cadence.WEEKLY, Cadence.MONTHLY])
@pytest.mark.parametrize("new", [Cadence.DAILY, Cadence.WEEKLY])
def test_a_day_is_compared_with_the_whole_week(old: Cadence, new: Cadence) -> None:
    """Where the cadence changed: the first week began before the first day that was shown, and its row was told as one
    that is in the plan alone, and its rows as lost. What neither side has in common is still told apart."""
    asked = Interval.of("2024-03-01", "2024-03-11")
    covers = {"1": old.cover(asked), "2": new.cover(asked)}
    versions = {
        ("orders", version): Version(
            model="orders",
            version=version,
            upstream={},
            columns=(),
            definition={"cadence": cadence.value},
            signature=Signature(rows="rows", columns={}),
            created=NOW,
        )
        for version, cadence in (("1", old), ("2", new))
    }
    sides = [Side(name=v, pointers={"orders": a_pointer("orders", v, part)}) for v, part in covers.items()]
    project = a_project(a_model("orders", cadence=new))
    [found] = questions(project, versions, FakeTables(), *sides)
    either = Ranges.of(covers.values())
    assert found.compared | found.only_old | found.only_new == either
    assert all(new.cover(part) == part for part in found.compared)
    if {old, new} == {Cadence.DAILY, Cadence.WEEKLY}:
        assert str(found.compared) == "2024-02-26..2024-03-10" and not found.only_old and not found.only_new


def test_days_after_the_last_common_week_are_told_apart() -> None:
    weeks, day = Interval.of("2024-03-04", "2024-03-11"), Interval.of("2024-03-11", "2024-03-12")
    old, new = a_pointer("orders", "1", weeks), a_pointer("orders", "2", Interval(weeks.start, day.end))
    found = ask(MODEL, old, new, FakeTables(), others=[Cadence.WEEKLY])
    assert found.compared == ranges(weeks) and found.only_new == ranges(day)


def test_what_is_the_same_files_is_not_read_for_a_weeks_sake(tables: FakeTables) -> None:
    """Of a model whose newer days are of another cadence than its older weeks one day differs: that is read."""
    one, other = (a_pointer("orders", "1", days("01", "04"), commit=commit) for commit in (1, 2))
    found = ask(MODEL, one, other, tables, others=[Cadence.WEEKLY])
    assert not found.compared & Ranges.of(p.interval for p in found.proofs)
    assert found.compared & ranges(days("01", "04")) == ranges(days("03"))
