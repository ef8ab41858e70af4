"""What may a routine run replace by itself? Rows of provisional days, as their sources changed, and nothing else.

In the governed world: `a` reads the source and settles for three days, `b` reads `a` one day back and inherits that,
`c` has no window. The oracle beside the gate looks at each commit.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from backfill_assets.adapters.reader import settled_part
from backfill_assets.build.apply import apply
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Upstream
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, adopted_of
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.core.settling import settling_windows
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Build, Request
from backfill_assets.project.stored import UNSAID
from backfill_assets.promote.approve import Approver
from backfill_assets.promote.case import Purpose
from backfill_assets.promote.extend import as_published
from backfill_assets.promote.gate import gate
from backfill_assets.promote.rules_change import asked_for, propose_rules, rules_to_record
from backfill_assets.promote.settled import consented, redeclared, settleable
from backfill_assets.state.last_change import Change, last_change
from backfill_assets.state.ledger import by_version
from backfill_assets.state.releases import PointerMove, Release
from backfill_assets.state.rules import ConsumerRule, Rules, RulesKind, RulesRecord
from backfill_assets.state.settling import settling, settling_by
from backfill_assets_tests.fakes import Cell, FakeViews, Life, a_model, a_pointer, a_project, days
from backfill_assets_tests.unit.promote.test_machine_oracle import WHO, Governed, all_is_shown

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def on_the(day: int) -> Governed:
    """All is shown by noon of this day of January, as routine runs do it; days until the one before are over."""
    machine = all_is_shown()
    while machine.now < utc(f"2024-01-{day:02}"):
        machine.a_day_goes_by()
        machine.a_routine_run(False)
    return machine


def come(machine: Governed, *which: str) -> None:
    for day in which:
        machine.world.rows_come(days(day))


def run(machine: Governed) -> dict[str, str]:
    """A routine run's look at late rows. Model → the days that show other rows by it; the oracle has no objection."""
    before = machine.oracle.shown
    machine._settled(Life(None), "", 0)  # pyright: ignore[reportPrivateUsage]
    machine.published_rows_changed_with_a_yes()
    machine.an_environment_shows_what_belongs_together()
    machine.an_environment_shows_green_days_only()
    return others(machine, before)


def others(machine: Governed, before: object) -> dict[str, str]:
    found: dict[str, list[Interval]] = {}
    for (name, day), seen in dict(before).items():  # type: ignore[call-overload]
        if machine.oracle.shown.get((name, day)) != seen:
            found.setdefault(name, []).append(Interval(day, day + DAY))
    return {name: str(Ranges.of(parts)) for name, parts in sorted(found.items())}


# --- what is settled --------------------------------------------------------------------------------------------------


def test_a_provisional_day_follows_its_source() -> None:
    """Rows of the eighth may belong to three days before it; what reads these days goes with them. Nobody is asked."""
    machine = on_the(9)
    come(machine, "08")
    assert run(machine) == {"a": "2024-01-05..2024-01-08", "b": "2024-01-05..2024-01-08"}
    assert run(machine) == {}, "nothing has come since"


def test_what_did_not_change_stays() -> None:
    """A day whose sources are as they were is not computed again."""
    machine = on_the(9)
    come(machine, "05")
    writes = len(machine.world.engine.writes)
    assert run(machine) == {"a": "2024-01-05", "b": "2024-01-05..2024-01-06"}
    assert len(machine.world.engine.writes) > writes
    writes = len(machine.world.engine.writes)
    assert run(machine) == {} and len(machine.world.engine.writes) == writes


def test_older_days_are_left_alone() -> None:
    """They are settled: late rows of them are for a restatement, which its owner approves."""
    machine = on_the(9)
    come(machine, "02", "04")
    assert run(machine) == {}


def test_a_red_day_stays_as_it_is() -> None:
    """And what belongs to it; other days are settled. Once it is green, it follows."""
    machine = on_the(9)
    come(machine, "05")
    come(machine, "08")
    red = ("a", utc("2024-01-08"))
    machine.world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int((job.model.name, unit.start) == red)})
    before = machine.oracle.shown
    _, held = machine.world.settle(now=machine.now, by="cron", control=machine.world.control, views=None)
    assert others(machine, before) == {}, "b reads one day back, so all four belong together"
    assert {o.model for o in held} >= {"a", "b"}
    machine._well()  # pyright: ignore[reportPrivateUsage]
    assert run(machine) == {"a": "2024-01-05..2024-01-08", "b": "2024-01-05..2024-01-08"}


# --- what is not ------------------------------------------------------------------------------------------------------


def test_a_window_that_is_edited() -> None:
    """In the files of a change: what the warehouse records counts."""
    machine = on_the(9)
    machine.world.files_say("window")
    come(machine, "02")
    assert run(machine) == {}
    assert any("settles 300 days" in d and "in force: 3 days" in d for d in machine.world.rules().differences)


def test_a_window_for_a_model_that_has_none() -> None:
    """`c` is shown without one: a header alone gives it none."""
    machine = on_the(9)
    machine.world.files_say("window")
    found = machine.world.facts(machine.now).settling
    assert found is not None and found.since.keys() == {"a", "b"}
    assert not found.provisional("c", DAYS, Ranges((days("01", "08"),)))


def test_a_clock_that_goes_back() -> None:
    """The releases know how late it was: nothing is settled by such a clock, whatever it takes for provisional."""
    machine = on_the(9)
    come(machine, "02", "08")
    for back in (timedelta(minutes=1), DAY, 6 * DAY):
        machine.now -= back
        assert run(machine) == {}
        machine.now += back
    assert run(machine)


def test_a_clock_that_jumps() -> None:
    """Ahead: everything counts as settled, also when it is back."""
    machine = on_the(9)
    come(machine, "08")
    machine.now += 30 * DAY
    assert run(machine) == {}
    machine.a_routine_run(False)
    machine.now -= 30 * DAY
    assert run(machine) == {}


def test_a_rollback_is_not_undone() -> None:
    """Days that somebody went back with stay, however often the routine runs; later days go on."""
    machine = on_the(9)
    come(machine, "08")
    assert run(machine)
    releases = machine.world.control.releases.all("prod")
    machine.somebody_goes_back(len(releases) - 2, True, None)
    gone_back = machine.oracle.shown
    assert run(machine) == {}
    machine.a_day_goes_by()
    machine.a_routine_run(False)
    come(machine, "09")
    assert run(machine) == {"a": "2024-01-09", "b": "2024-01-09"}
    assert {at: machine.oracle.shown[at] for at in gone_back} == gone_back


def test_who_undoes_a_rollback_goes_back_to_nothing() -> None:
    """Days follow their source again, as before it."""
    machine = on_the(9)
    come(machine, "08")
    assert run(machine)
    before = machine.oracle.shown
    releases = machine.world.control.releases.all("prod")
    machine.somebody_goes_back(len(releases) - 2, True, None)
    come(machine, "08")
    assert machine.oracle.shown != before and run(machine) == {}
    machine.somebody_goes_back(len(releases) - 1, True, None)
    assert machine.oracle.shown == before
    assert "2024-01-08" in run(machine)["a"]


def test_what_a_rollback_goes_back_to() -> None:
    """Before the last change that somebody decided on, not before a routine run."""
    machine = on_the(9)
    machine.a_change_goes_its_way("c", 2, set(WHO), "well", ())
    change = machine.world.control.releases.all("prod")[-1]
    come(machine, "08")
    assert run(machine)
    releases = machine.world.control.releases.all("prod")
    assert releases[-1].settling and not change.settling
    assert last_change(releases) == Change(before=releases[releases.index(change) - 1], last=change)


def test_a_reader_that_is_not_provisional() -> None:
    """Its owner has not consented: neither it nor what it reads moves."""
    machine = on_the(9)
    facts = machine.world.facts(machine.now)
    assert facts.settling is not None
    only = replace(facts.settling, since={"a": facts.settling.since["a"]})
    come(machine, "08")
    world = machine.world
    world.facts = lambda now=datetime.max, control=None: replace(facts, settling=only)  # type: ignore[method-assign]
    done, _ = world.settle(now=machine.now, by="cron", control=world.control, views=None)
    assert done is None
    late = world.unsettled(machine.now, world.control)
    [held] = settleable(world.project, world.facts(machine.now), late).held
    assert held.model == "a" and str(held.intervals) == "2024-01-05..2024-01-08"
    assert "as what belongs to it stays (b 2024-01-05..2024-01-08, settled)" in held.what
    assert held.remedy.startswith("backfill apply --restate a:2024-01-05..2024-01-08, then")


def test_a_reader_whose_start_is_edited() -> None:
    """It shows these days all the same, and nobody would compute them again: what they read stays."""
    machine = on_the(9)
    world = machine.world
    later = replace(world.project.models["b"], start=utc("2024-01-09"))
    world.project = replace(world.project, models={**world.project.models, "b": later})
    come(machine, "08")
    assert run(machine) == {}
    facts, late = world.facts(machine.now), world.unsettled(machine.now, world.control)
    changed, wanted = {"a": late["a"]}, facts.environment.pointers
    assert settleable(world.project, facts, late).request is None
    assert consented(world.project, facts, changed, wanted, late) == {}


@pytest.mark.parametrize(
    ("name", "asked", "moves"),
    [
        (
            "a",
            [days("05"), days("07", "08")],
            {"a": "2024-01-05, 2024-01-07..2024-01-08", "b": "2024-01-05..2024-01-08"},
        ),
        ("b", [], {"a": "2024-01-07..2024-01-08", "b": "2024-01-07..2024-01-08"}),
    ],
)
def test_adopted_rows_stay(name: str, asked: list[Interval], moves: dict[str, str]) -> None:
    """No code made them, so none replaces them, though their day is within the window; nor what belongs to them."""
    machine = on_the(9)
    come(machine, "08")
    project, late = machine.world.project, machine.world.unsettled(machine.now, machine.world.control)
    facts = machine.world.facts(machine.now)
    changed = dict.fromkeys(("a", "b"), Ranges((days("05", "08"),)))
    wanted = facts.environment.pointers
    assert consented(project, facts, changed, wanted, late) == changed
    assert settleable(project, facts, late).request == Request(restate=(("a", days("05", "08")),))

    pointer, sixth = wanted[name], Ranges((days("06"),))
    adopted = Segments(replace(s, version=adopted_of(s.version, "1f3a")) for s in pointer.cut(sixth).segments)
    others = pointer.cut(pointer.covers - sixth).segments
    mixed = replace(pointer, segments=sorted((*others, *adopted), key=lambda s: s.interval))
    shown = replace(facts.environment, pointers={**wanted, name: mixed})
    facts = replace(facts, environment=shown)
    assert {n: str(part) for n, part in consented(project, facts, changed, wanted, late).items()} == moves
    request = settleable(project, facts, {"a": late["a"] - sixth if name == "a" else late["a"]}).request
    assert list(request.restate if request else ()) == [("a", part) for part in asked]


ELSEWHERE = '{"name": "raw", "path": "elsewhere"}'
CORRUPT = "spark.sql.files.ignoreCorruptFiles"


@pytest.mark.parametrize(
    ("declared", "spark", "why"),
    [
        ("", {}, ""),
        ('{"name": "raw", "format": "delta", "settle": "9 days"}', {"spark.sql.shuffle.partitions": "4"}, ""),
        (ELSEWHERE, {}, "its source raw is declared otherwise"),
        ('{"name": "raw", "table": "elsewhere"}', {}, "its source raw is declared otherwise"),
        ('{"name": "raw", "format": "csv"}', {}, "its source raw is declared otherwise"),
        ('{"name": "raw", "options": {"timestampAsOf": "2024-01-01"}}', {}, "its source raw is declared otherwise"),
        ("", {CORRUPT: "true"}, "the Spark settings are others"),
    ],
)
def test_what_is_read_is_what_was_published(declared: str, spark: dict[str, str], why: str) -> None:
    """A source that files of a change declare elsewhere, and settings that they edit, are another version's."""
    machine = on_the(9)
    world, shown = machine.world, machine.world.control.environments.read("prod")
    come(machine, "08")
    code = world.project
    sources = {n: replace(s, declared=declared) for n, s in code.sources.items()}
    code = replace(code, sources=sources, settings=replace(code.settings, spark=spark))
    if why:
        code = replace(code, fingerprints={name: f"{name}-2" for name in code.fingerprints})
    world.project = published(code, shown, world.control.versions.all())
    facts, late = world.facts(machine.now), world.unsettled(machine.now, world.control)
    changed = dict.fromkeys(("a", "b"), Ranges((days("05", "08"),)))
    covered = consented(world.project, facts, changed, shown.pointers, late)
    assert covered == ({} if why else changed)
    said = [str(o) for o in redeclared(world.project, facts, late)]
    assert [why in text and "2024-01-05..2024-01-08" in text for text in said] == ([True] if why else [])
    world.project = code
    assert (run(machine) == {}) == bool(why)


def test_growth_reads_what_was_published() -> None:
    """A model whose source is declared elsewhere is not extended, nor what reads it; others are. A record that does not
    say what it read goes on."""
    machine = on_the(9)
    world, shown = machine.world, machine.world.control.environments.read("prod")
    sources = {n: replace(s, declared=ELSEWHERE) for n, s in world.project.sources.items()}
    versions = world.control.versions.all()
    vouched = replace(world.project, sources=sources)
    assert published(vouched, shown, versions).redeclared == {}, "`same_as` says that it is the same there"
    code = published(replace(vouched, fingerprints=vouched.fingerprints | {"a": "a-2"}), shown, versions)
    plan = make_plan(code, world.facts(machine.now + timedelta(days=1)), Request())
    assert {s.model for s in plan.stages if isinstance(s, Build)} == set(shown.pointers)
    cut, left = as_published(code, plan)
    assert {s.model for s in cut.stages if isinstance(s, Build)} == set(shown.pointers) - {"a", "b"}
    assert [(o.model, str(o.intervals)) for o in left] == [("a", "2024-01-09"), ("b", "2024-01-09")]
    assert "its source raw is declared otherwise" in left[0].what and "it reads a" in left[1].what
    assert as_published(replace(code, redeclared=dict.fromkeys("a", UNSAID)), plan) == (plan, ())


def test_readers_go_on_with_what_is_published() -> None:
    """Days of a that were built before its source was declared elsewhere are what was published: what reads them, and
    no later day, is built; the rest is named, each model."""
    machine = on_the(9)
    world, shown = machine.world, machine.world.control.environments.read("prod")
    plan = world.plan(now=machine.now + timedelta(days=1))
    apply(world.bench(), replace(plan, stages=tuple(s for s in plan.stages if isinstance(s, Build) and s.model != "b")))
    plan = make_plan(world.project, world.facts(machine.now + timedelta(days=2)), Request())
    assert {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)} == {
        "a": "2024-01-10",
        "b": "2024-01-09..2024-01-10",
        "c": "2024-01-10",
    }
    assert shown.pointers.keys() == {"a", "b", "c"}
    cut, left = as_published(replace(world.project, redeclared={"a": "its source raw is declared otherwise"}), plan)
    built = {
        s.model: (str(s.intervals), s.count, list(map(str, s.batches))) for s in cut.stages if isinstance(s, Build)
    }
    assert built == {"b": ("2024-01-09", 1, ["2024-01-09"]), "c": ("2024-01-10", 1, ["2024-01-10"])}
    assert [(o.model, str(o.intervals)) for o in left] == [("a", "2024-01-10"), ("b", "2024-01-10")]


def test_a_record_that_does_not_say_what_was_read() -> None:
    """Of an earlier release: nobody knows what the owner consented to."""
    machine = on_the(9)
    world, shown = machine.world, machine.world.control.environments.read("prod")
    old = {
        key: replace(v, definition={k: said for k, said in v.definition.items() if k != "project"})
        for key, v in world.control.versions.all().items()
    }
    found = published(world.project, shown, old).redeclared
    assert found.keys() == {"a", "b", "c"} and "an earlier release made it" in found["a"]


def test_only_routine_runs() -> None:
    """Anybody else's move of the same rows needs its owners; and what no source changed is covered by no window."""
    machine = on_the(9)
    come(machine, "08")
    machine.between = lambda: None
    asked: list[object] = []
    real = machine.world.governed_cases

    def cases(facts: object, control: object = None) -> object:
        made = real(facts, control)  # type: ignore[arg-type]
        promotion = made.promotion

        class Asking:
            def promotion(self, *arguments: object, **more: object) -> object:
                case = promotion(*arguments, **more)  # type: ignore[arg-type]
                asked.append(case)
                return case

        return Asking()

    machine.world.governed_cases = cases  # type: ignore[method-assign, assignment]
    late = machine.world.unsettled(machine.now, machine.world.control)
    run(machine)
    case = asked[-1]
    for purpose, known, opens in [
        (Purpose.ROUTINE, late, True),
        (Purpose.PROMOTION, late, False),
        (Purpose.JOIN, late, False),
        (Purpose.ROUTINE, {}, False),
        (Purpose.ROUTINE, {"b": late["a"]}, False),
    ]:
        assert gate(replace(case, purpose=purpose, late=known)).open == opens  # type: ignore[type-var]
    case = replace(case, purpose=Purpose.ROUTINE, late=late)  # type: ignore[type-var]
    own = tuple(p for p in case.pointers if p.model == "a")  # type: ignore[attr-defined]
    alone = replace(case, wanted=replace(case.wanted, pointers=own), changed={"a": late["a"]})  # type: ignore
    assert not gate(alone).open, "b would be shown beside newer rows than it was computed from"
    other = tuple(replace(p, columns=(*p.columns, ("more", "int"))) for p in case.pointers)  # type: ignore
    assert not gate(replace(case, wanted=replace(case.wanted, pointers=other))).open, "another view"  # type: ignore
    for days_of_it in (days("05", "08"), days("05", "07")):  # the newest day may be of the logic that is shown
        logic = tuple(_in_other_logic(p, days_of_it) for p in case.pointers)  # type: ignore[attr-defined]
        assert not gate(replace(case, wanted=replace(case.wanted, pointers=logic))).open, "other code"  # type: ignore


def _in_other_logic(pointer: Pointer, interval: Interval) -> Pointer:
    """The pointer, as if other code had computed an interval of it."""
    other = [
        replace(segment, version=segment.version.replace("-1", "-2"))
        for segment in pointer.segments.cut(Ranges((interval,)))
    ]
    return replace(pointer, segments=Segments(other).over(pointer.segments))


def test_what_is_read_as_settled() -> None:
    """What is over, and was when it was built, outside of the window: also where there is none."""
    machine = on_the(9)
    world, now = machine.world, machine.now
    known, versions = settling(world.control, "prod", now), world.control.versions.all()
    entries = by_version(world.control.ledger.entries())
    shown = world.control.environments.read("prod").pointers
    covers = {name: str(settled_part(p, known, versions, entries).covers) for name, p in shown.items()}
    assert covers == {"a": "2024-01-01..2024-01-04", "b": "2024-01-01..2024-01-04", "c": "2024-01-01..2024-01-08"}
    earlier = replace(known, clock=now - DAY)
    assert str(settled_part(shown["c"], earlier, versions, entries).covers) == "2024-01-01..2024-01-07", "not over"
    sixth = days("06")
    opened = {
        key: [replace(e, through=sixth.start + HOUR) if e.interval == sixth else e for e in group]
        for key, group in entries.items()
    }
    left = settled_part(shown["c"], known, versions, opened).covers
    assert str(left) == "2024-01-01..2024-01-05, 2024-01-07..2024-01-08", "it was not over when it was built"


# --- deaths and races -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(14))
def test_killed_anywhere(steps: int) -> None:
    """All of it is shown, or nothing; the next run goes on."""
    machine = on_the(9)
    come(machine, "08")
    before = machine.oracle.shown
    machine._settled(Life(steps), "", 0)  # pyright: ignore[reportPrivateUsage]
    assert others(machine, before) in ({}, {"a": "2024-01-05..2024-01-08", "b": "2024-01-05..2024-01-08"})
    machine.somebody_recovers(None)
    run(machine)
    assert others(machine, before) == {"a": "2024-01-05..2024-01-08", "b": "2024-01-05..2024-01-08"}
    machine.readers_see_what_the_environment_says()


@pytest.mark.parametrize("how", ["again", "back", "moved", "no release"])
def test_somebody_else_meanwhile(how: str) -> None:
    """Another routine run, a rollback, a promotion; or nobody comes to release what was built."""
    machine = on_the(9)
    come(machine, "08")
    machine._settled(Life(None), how, 0)  # pyright: ignore[reportPrivateUsage]
    machine.published_rows_changed_with_a_yes()
    machine.an_environment_shows_what_belongs_together()
    if how in ("again", "no release"):
        run(machine)
        assert run(machine) == {}


def test_a_reader_is_promoted_meanwhile() -> None:
    """It was no reader when the run began, so nothing was built for it: the run shows nothing."""
    machine = Governed()
    machine.begin()
    world = machine.world
    machine._built(Request())  # pyright: ignore[reportPrivateUsage]
    machine._promote(Request(select=("a",)), None)  # pyright: ignore[reportPrivateUsage]
    while machine.now < utc("2024-01-09"):
        machine.a_day_goes_by()
        machine.a_routine_run(False)
    machine._built(Request(select=("b",)))  # pyright: ignore[reportPrivateUsage]
    come(machine, "08")
    code, before = world.project, machine.oracle.shown
    began = published(code, world.control.environments.read("prod"), world.control.versions.all())
    done: list[object] = []

    def promoted() -> None:
        if done:
            return
        world.project = code
        done.append(machine._promote(Request(select=("b",)), None))  # pyright: ignore[reportPrivateUsage]
        world.project = began

    world.project = began
    settled, held = world.settle(
        now=machine.now, by="cron", control=world.control, views=FakeViews(machine.catalog), between=promoted
    )
    assert settled is not None and not settled.moved
    assert [o.model for o in held if "nothing when this run began" in o.what] == ["b"]
    facts, late = world.facts(machine.now), world.unsettled(machine.now, world.control)
    assert "b" in facts.environment.pointers and late
    changed, wanted = {"a": Ranges((days("05", "08"),))}, facts.environment.pointers
    assert consented(began, facts, changed, wanted, late) == {}, "the gate says the same"
    world.project = code
    assert {n for n in others(machine, before) if n != "b"} == set()


def test_rows_that_come_while_it_is_built() -> None:
    """What was built is shown; the rest follows with the next run."""
    machine = on_the(9)
    come(machine, "08")
    before = machine.oracle.shown
    machine.oracle.settling += 1
    done, held = machine.world.settle(
        now=machine.now,
        by="cron",
        control=machine.world.control,
        views=FakeViews(machine.catalog),
        between=lambda: come(machine, "07"),
    )
    machine.oracle.settling -= 1
    assert done is not None and done.moved and not held
    assert others(machine, before)["a"] == "2024-01-05..2024-01-08"
    assert run(machine)["a"] == "2024-01-05..2024-01-07"


# --- the window in force ----------------------------------------------------------------------------------------------


AT = utc("2024-02-01")


def a_record(number: int, seconds: float | None, kind: RulesKind = RulesKind.CHANGED) -> RulesRecord:
    rules = Rules(owners={"a": "ana"}, settle={} if seconds is None else {"a": seconds})
    return RulesRecord(
        environment="prod",
        number=number,
        kind=kind,
        parent="",
        rules=rules,
        account="x",
        host="x",
        at=AT,
    )


def a_release(number: int, clock: str, rules: int, *moves: PointerMove, back_to: str = "") -> Release:
    return Release(
        id=f"r{number}", environment="prod", revision=number, at=AT, by="x", back_to=back_to, moves=moves,
        rules={"number": rules}, clock=utc(clock),
    )  # fmt: skip


DAYS, MONTHS = Calendar(Cadence.DAILY), Calendar(Cadence.MONTHLY)
JANUARY = Ranges((Interval(utc("2024-01-01"), utc("2024-01-20")),))


def provisional(records: list[RulesRecord], releases: list[Release], now: str = "2024-01-20T06:00") -> str:
    return str(settling_by(records, releases, utc(now)).provisional("a", DAYS, JANUARY))


WEEK = 7 * 86400.0


def test_the_first_window_is_of_all_that_is_shown() -> None:
    """A day longer than it says: then the last look has been."""
    assert provisional([a_record(1, WEEK)], [a_release(1, "2024-01-19", 1)]) == "2024-01-12..2024-01-19"


def test_a_longer_window_begins_with_what_is_published_under_it() -> None:
    """What was settled once stays so: also what nobody showed between two changes."""
    releases = [a_release(1, "2024-01-10", 1)]
    assert provisional([a_record(1, WEEK), a_record(2, 14 * 86400)], releases) == "2024-01-12..2024-01-19"
    releases.append(a_release(2, "2024-01-11", 2))
    assert provisional([a_record(1, WEEK), a_record(2, 14 * 86400)], releases) == "2024-01-11..2024-01-19"
    assert provisional([a_record(1, None), a_record(2, WEEK)], releases) == "2024-01-12..2024-01-19"
    late = [a_release(1, "2024-01-10", 1), a_release(2, "2024-01-16", 2)]
    assert provisional([a_record(1, None), a_record(2, WEEK)], late) == "2024-01-16..2024-01-19"
    assert provisional([a_record(1, None), a_record(2, WEEK)], late[:1]) == "nothing"


def test_a_window_of_local_days() -> None:
    """Tokyo's twelfth ends nine hours before UTC's, of which rows still come; what was settled once stays so."""
    tokyo = Calendar(Cadence.DAILY, "Asia/Tokyo")

    def local(records: list[RulesRecord], releases: list[Release], now: str) -> str:
        return str(settling_by(records, releases, utc(now)).provisional("a", tokyo, JANUARY))

    first = [a_release(1, "2024-01-10", 1)]
    assert local([a_record(1, WEEK)], first, "2024-01-20T16:00") == "2024-01-12..2024-01-19"
    assert local([a_record(1, WEEK)], first, "2024-01-20T23:59") == "2024-01-12..2024-01-19"
    assert local([a_record(1, WEEK)], first, "2024-01-21T00:00") == "2024-01-13..2024-01-19"
    late = [*first, a_release(2, "2024-01-16T16:00", 2)]
    assert local([a_record(1, None), a_record(2, WEEK)], late, "2024-01-20T06:00") == "2024-01-17..2024-01-19"


def test_a_longer_window_begins_by_the_latest_clock() -> None:
    """A machine that is behind makes the first release under it: what was settled before stays so."""
    records = [a_record(1, WEEK), a_record(2, 300 * 86400)]
    releases = [a_release(1, "2024-01-16", 1), a_release(2, "2023-01-01", 2), a_release(3, "2024-01-17", 2)]
    assert provisional(records, releases) == "2024-01-12..2024-01-19"
    assert provisional(records, releases, now="2024-01-28T06:00") == "2024-01-16..2024-01-19"


def test_the_first_window_of_what_was_shown_without_one() -> None:
    """An earlier release showed it, and recorded no rules: its days were settled, as nothing said otherwise."""
    shown = PointerMove(model="a", before=None, after=a_pointer("a", "1", days("01", "10")))
    other = replace(shown, model="b")
    for move, expected in [(shown, "2024-01-16..2024-01-19"), (other, "2024-01-12..2024-01-19")]:
        releases = [a_release(1, "2024-01-10", 0, move), a_release(2, "2024-01-16", 1)]
        assert provisional([a_record(1, WEEK)], releases) == expected
    assert provisional([a_record(1, WEEK)], [a_release(1, "2024-01-10", 0, shown)]) == "nothing"


def test_a_shorter_window_counts_at_once() -> None:
    """And a proposal does not count."""
    releases = [a_release(1, "2024-01-10", 1), a_release(2, "2024-01-12", 2)]
    assert provisional([a_record(1, WEEK), a_record(2, 86400)], releases) == "2024-01-18..2024-01-19"
    for proposed in (3e7, None):
        records = [a_record(1, WEEK), a_record(2, proposed, RulesKind.PROPOSED)]
        assert provisional(records, releases) == "2024-01-12..2024-01-19"


def test_the_clock_of_the_releases() -> None:
    """Counts where the machine's is behind it."""
    releases = [a_release(1, "2024-01-19", 1)]
    assert provisional([a_record(1, WEEK)], releases, now="2024-01-02") == "2024-01-11..2024-01-19"


def test_a_month_is_provisional_until_its_last_day_is() -> None:
    """Whole intervals only."""
    found = settling_by([a_record(1, WEEK)], [], utc("2024-02-07"))
    months = Ranges((Interval(utc("2023-11-01"), utc("2024-02-01")),))
    assert str(found.provisional("a", MONTHS, months)) == "2024-01-01..2024-01-31"
    assert not settling_by([a_record(1, WEEK)], [], utc("2024-02-09")).provisional("a", MONTHS, months)


def test_what_was_gone_back_to_until_somebody_changes_it() -> None:
    """Copies change nothing about it."""
    one, other, copied = (a_pointer("a", v, days("01", "19")) for v in ("1", "1.fa", "1.fb"))
    back = PointerMove(model="a", before=other, after=one)
    copy = PointerMove(model="a", before=one, after=copied, compaction=True)
    again = PointerMove(model="a", before=one, after=other)
    releases = [a_release(1, "2024-01-19", 1, back, back_to="r0"), a_release(2, "2024-01-19", 1, copy)]
    found = settling_by([a_record(1, WEEK)], releases, utc("2024-01-20"))
    assert found.after("a", DAYS) and not found.provisional("a", DAYS, JANUARY), "no routine run replaces it"
    releases.append(a_release(3, "2024-01-19", 1, again))
    found = settling_by([a_record(1, WEEK)], releases, utc("2024-01-20"))
    assert found.provisional("a", DAYS, JANUARY)


def test_a_rollback_that_is_undone_was_none() -> None:
    """What an older one had put there is gone back to as before; whoever undoes the undoing goes back."""
    first, second, third = (a_pointer("a", v, days("01", "19")) for v in "123")
    mixed = replace(third, segments=third.segments.without(Ranges((days("15"),))).over(second.segments))
    steps = [
        (None, second, ""),
        (second, third, ""),
        (third, mixed, "r1"),  # with one day
        (mixed, first, "r0"),
        (first, mixed, "r2"),
        (mixed, first, "r3"),
    ]
    releases, held = list[Release](), list[str]()
    for number, (before, after, back) in enumerate(steps):
        moved = PointerMove(model="a", before=before, after=after)
        releases.append(a_release(number, "2024-01-19", 1, moved, back_to=back))
        found = settling_by([a_record(1, WEEK)], releases, utc("2024-01-20"))
        held.append(str(found.went_back.get("a", NOTHING)))
    assert held == [
        "nothing",
        "nothing",
        "2024-01-15",
        "2024-01-01..2024-01-19",
        "2024-01-15",
        "2024-01-01..2024-01-19",
    ]


def test_a_change_of_the_window_asks_the_owner() -> None:
    """Under the rules in force; then it counts, and the files say the same again."""
    before = Rules(approvals=ApprovalRules(), owners={"a": "ana", "b": "bo"}, settle={"a": 1.0})
    assert asked_for(before, replace(before, settle={"a": 2.0}), ["a", "b"]) == ("ana",)
    assert asked_for(before, replace(before, settle={}), ["a", "b"]) == ("ana",)
    assert asked_for(before, replace(before, settle={"a": 1.0, "b": 1.0}), ["a", "b"]) == ("bo",)
    machine = on_the(9)
    world = machine.world
    world.files_say("window")
    shown = world.control.environments.read("prod")
    made = propose_rules(world.control, world.rules(), shown, Approver(account="dev", host="x"), now=world.clock())
    assert not made.took_effect and set(made.missing) == {"", "ana@example.com", "bo@example.com"}
    assert made.record.rules.settle == {"a": 300 * 86400.0, "b": 300 * 86400.0, "c": 300 * 86400.0}
    assert settling(world.control, "prod", machine.now).reach["a"] == timedelta(days=3)


def test_a_change_of_the_window_asks_all_who_have_a_say() -> None:
    """A model's validation owner and the owners of its consumers, as about other rows of it; nobody of other models."""
    readers = {"export": ConsumerRule(owner="eva", reads=("a",)), "other": ConsumerRule(owner="joe", reads=("b",))}
    before = Rules(
        owners={"a": "ana", "b": "bo"}, validation={"a": "val", "b": "vic"}, consumers=readers, settle={"a": 1.0}
    )
    assert asked_for(before, replace(before, settle={"a": 2.0}), ["a", "b"]) == ("ana", "eva", "val")
    assert asked_for(before, replace(before, settle={"a": 2.0}), ["b"]) == ("ana", "eva", "val"), "a is out of sight"


def test_a_promotion_brings_no_longer_window() -> None:
    """Also where the owner approved the rows that it shows: the window is another question."""
    machine = on_the(9)
    machine.world.files_say("window")
    rules, shown = machine.world.rules(), machine.world.control.environments.read("prod")
    assert rules_to_record(rules, shown, tuple(shown.pointers.values()), shown.pointers) is None
    new = replace(rules, rules=replace(rules.rules, owners={"b": "bo@example.com", "c": ""}))
    found = rules_to_record(new, shown, tuple(shown.pointers.values()))
    assert found is not None and found.settle == {"a": 300 * 86400.0, "b": 3 * 86400.0}


@pytest.mark.parametrize("days_then", [None, 2])
def test_a_promotion_that_died_brings_no_window(days_then: int | None) -> None:
    """It recorded rules and showed nothing: what the files say when the model is shown is what its owner said."""
    machine = on_the(9)
    rules, shown = machine.world.rules(), machine.world.control.environments.read("prod")
    died, new = {**rules.rules.settle, "x": 365 * 86400.0}, a_pointer("x", "x-1", days("01", "08"))
    said = {} if days_then is None else {"x": days_then * 86400.0}
    owners = {**rules.rules.owners, "x": "ana@example.com"}
    again = replace(
        rules,
        rules=replace(rules.rules, owners=owners, settle=died),
        edited=replace(rules.edited, owners=owners, settle={**rules.edited.settle, **said}),
    )
    found = rules_to_record(again, shown, (new,))
    assert found is not None and found.settle == {**rules.rules.settle, **said}
    assert rules_to_record(replace(again, rules=found), shown, (new,)) is None


def test_an_owner_that_is_edited_comes_with_no_routine_run() -> None:
    """Nobody approved what it shows, so nobody approved the owner."""
    machine = on_the(9)
    machine.world.files_say("owner")
    come(machine, "08")
    assert run(machine)
    assert machine.world.rules().rules.owners["a"] == "ana@example.com"


def test_records_of_earlier_releases_keep_their_ids() -> None:
    """Rules without a window are written as before."""
    rules = Rules(owners={"a": "ana"})
    assert "settle" not in to_plain(rules) and from_plain(Rules, to_plain(rules)) == rules
    rules = replace(rules, settle={"a": 5.0})
    assert from_plain(Rules, to_plain(rules)) == rules
    rules = replace(rules, validation={"a": "bo"}, consumers={"export": ConsumerRule(owner="eva", reads=("a",))})
    assert from_plain(Rules, to_plain(rules)) == rules
    assert "settle" not in to_plain(replace(rules, settle={}))


# --- what is declared -------------------------------------------------------------------------------------------------


def test_a_window_is_inherited() -> None:
    """From sources and upstream models; the longest counts. A day that reads a month waits for the month."""
    project = a_project(
        a_model("a", "raw"),
        a_model("own", "a", settle=86400 * 20),
        a_model("monthly", "a", cadence=Cadence.MONTHLY),
        a_model("of_month", "monthly"),
        a_model("free"),
    )
    sources = {"raw": replace(project.sources["raw"], settle=86400 * 14)}
    found = settling_windows(project.models, sources)
    assert {name: window.days for name, window in found.items()} == {"a": 14, "own": 20, "monthly": 14, "of_month": 45}
    assert Upstream(name="a") in project.models["own"].upstreams
