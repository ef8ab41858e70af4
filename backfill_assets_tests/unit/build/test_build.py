"""Building one model: what is missing is written once, recorded, audited; deaths, failures, collisions lose nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job, ModelInput
from backfill_assets.build.events import Audited, BatchDone, BatchFailed, BatchStarted, ModelDone, ModelStarted
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import BuildError, SettingsError, StateError, TransientBuildError
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Audit
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.stages import Request
from backfill_assets.state.changes import Changes
from backfill_assets.state.ledger import Entry, Kind, new_id
from backfill_assets_tests.fakes import Cell, FakeEngine, World, a_model, a_pointer, days, ranges

TEN = days("01", "10")
ALL = "2024-01-01..2024-01-10"


def go(world: World, intervals: Interval = TEN, name: str = "a", **bench: object) -> Outcome:
    return build(world.bench(**bench), name, ranges(intervals))  # type: ignore[arg-type]


def kinds(world: World, kind: Kind) -> list[Entry]:
    return [e for e in world.control.ledger.entries() if e.kind is kind]


def written(world: World) -> list[str]:
    return sorted(str(interval) for _, interval in world.engine.writes)


def failing_on(day: str, error: Exception, times: int = 99) -> Callable[[Job, Interval], None]:
    """A hook that raises when the batch holds the day."""
    left = [times]

    def hook(job: Job, interval: Interval) -> None:
        if days(day) in ranges(interval) and left[0]:
            left[0] -= 1
            raise error

    return hook


def bad_on(*numbers: str) -> Callable[[Job, Interval], Cell]:
    """Rows that fail the audit `rows_ok` on these days."""
    starts = {days(n).start for n in numbers}
    return lambda job, unit: Cell(failures={"rows_ok": 2}) if unit.start in starts else Cell()


def test_everything_missing_is_built_in_batches_recorded_and_audited() -> None:
    """Ten days in batches of three: four commits, each with its entries; the outcome says what was done."""
    world = World(a_model("a", "raw"))
    outcome = go(world, run="r1")
    assert written(world) == [
        "2024-01-01..2024-01-03",
        "2024-01-04..2024-01-06",
        "2024-01-07..2024-01-09",
        "2024-01-10",
    ]
    assert outcome.ok
    assert str(outcome.green) == str(outcome.built) == ALL
    assert (outcome.rows, outcome.bytes) == (100, 100)
    assert len(outcome.results) == 10
    entries = kinds(world, Kind.BUILT)
    assert {e.run for e in entries} == {"r1"}
    assert sorted(e.table_commit for e in entries) == [1, 2, 3, 4]
    assert all(e.inputs == {"raw": {"commit": 1}} and e.rows and e.attempt == 1 for e in entries)
    assert len(kinds(world, Kind.STARTED)) == len(kinds(world, Kind.AUDITED)) == 4
    record = world.control.versions.get("a", "a-1")
    assert record and record.columns == (("ds", "date"), ("id", "bigint"))
    assert {r.batch for r in world.control.results.read(models=["a"])} == {e.batch for e in entries}


def test_a_second_run_opens_no_engine() -> None:
    """Nothing missing: no session, no event, no entry; the outcome still says that all is green."""
    world = World(a_model("a"))
    go(world)
    seen, events = world.control.ledger.revision(), len(world.events)

    def never() -> None:
        raise AssertionError("an engine was opened")

    again = go(world, engine=never)
    assert again.ok
    assert not again.built
    assert (world.control.ledger.revision(), len(world.events)) == (seen, events)


def test_only_what_is_missing_is_built() -> None:
    """A range over built days writes the others only; a gap ends a batch."""
    world = World(a_model("a"))
    go(world, days("03", "04"))
    world.engine.writes.clear()
    outcome = go(world, days("01", "08"))
    assert written(world) == ["2024-01-01..2024-01-02", "2024-01-05..2024-01-07", "2024-01-08"]
    assert str(outcome.green) == "2024-01-01..2024-01-08"
    assert str(outcome.built) == "2024-01-01..2024-01-02, 2024-01-05..2024-01-08"


@pytest.mark.parametrize("most", [1, 3])
def test_batch_concurrency_is_reached_and_never_exceeded(most: int) -> None:
    """So many batches of a model run at a time: not fewer, not more."""
    world = World(a_model("a", batch_size=1, batch_concurrency=most))
    together = threading.Barrier(most)
    world.engine.before_write = lambda job, interval: together.wait(timeout=20)
    assert go(world, days("01", "09")).ok
    assert world.engine.most_at_once == {"a": most}


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_transient_error_is_tried_again_with_growing_waits() -> None:
    """Up to `retries` more attempts of that batch only, each after a longer pause; events say that another follows."""
    world = World(a_model("a", retries=3))
    world.engine.before_write = failing_on("05", TransientBuildError("lost connection"), times=3)
    outcome = go(world)
    assert outcome.ok
    assert written(world).count("2024-01-04..2024-01-06") == 4
    assert len(world.engine.writes) == 3 + 4
    assert [1 <= world.sleeps[0] <= 2, 2 <= world.sleeps[1] <= 3, 4 <= world.sleeps[2] <= 5] == [True] * 3
    failed = [e for e in world.events if isinstance(e, BatchFailed)]
    assert [e.again for e in failed] == [True] * 3
    assert [e.attempt for e in world.events if isinstance(e, BatchStarted) and e.interval == days("04", "06")] == [
        1,
        2,
        3,
        4,
    ]
    assert [e.attempt for e in kinds(world, Kind.BUILT) if e.interval == days("04", "06")] == [4]


def test_retries_end() -> None:
    """After the last one the batch is divided, and what persists has failed, with the last error's text."""
    world = World(a_model("a", retries=1))
    world.engine.before_write = failing_on("05", TransientBuildError("lost connection", fix="look there"))
    outcome = go(world)
    assert [str(f.interval) for f in outcome.failures] == ["2024-01-05"]
    assert "look there" in outcome.failures[0].error
    assert len(world.sleeps) == 1
    assert str(outcome.green) == "2024-01-01..2024-01-04, 2024-01-06..2024-01-10"
    assert not outcome.ok
    assert [(str(e.interval), "lost connection" in e.reason) for e in kinds(world, Kind.FAILED)] == [
        ("2024-01-05", True)
    ]
    assert [e.again for e in world.events if isinstance(e, BatchFailed)] == [True, False]


def test_a_deterministic_error_ends_its_batch_at_once_and_no_other() -> None:
    """Running it again will not help; unrelated batches go on, and a later run does only what is left."""
    world = World(a_model("a"))
    world.engine.before_write = failing_on("05", BuildError("no such column"))
    outcome = go(world)
    assert world.sleeps == []
    assert len(world.engine.writes) == 4
    assert str(outcome.green) == "2024-01-01..2024-01-03, 2024-01-07..2024-01-10"
    world.engine.before_write = failing_on("05", BuildError(""), times=0)
    world.engine.writes.clear()
    assert go(world).ok
    assert written(world) == ["2024-01-04..2024-01-06"]


def test_a_failed_rebuild_leaves_what_was_there() -> None:
    """A red interval that cannot be built again stays missing; its green neighbours stay green."""
    world = World(a_model("a"))
    world.engine.cell = bad_on("02")
    go(world, days("01", "03"))
    world.engine.before_write = failing_on("02", BuildError("no"))
    outcome = go(world, days("01", "03"))
    assert str(outcome.green) == "2024-01-01, 2024-01-03"


def test_a_version_that_cannot_be_prepared_is_a_failure_of_all_of_it() -> None:
    """A schema that no table can have: nothing is written, and it is said once."""
    world = World(a_model("a"))

    def refuse(job: Job) -> None:
        raise BuildError("column x has no type")

    world.engine.before_prepare = refuse
    outcome = go(world)
    assert [f.error for f in outcome.failures] == ["column x has no type"]
    assert world.engine.writes == []
    assert isinstance(world.events[-1], ModelDone)


def test_an_engine_that_cannot_be_opened_is_refused() -> None:
    """No Java, no session: nothing was tried, so nothing has failed; the reason and its remedy are raised."""
    world = World(a_model("a"))

    def no_java() -> None:
        raise SettingsError("no Java", fix="install Java 17")

    with pytest.raises(SettingsError, match="install Java 17"):
        go(world, engine=no_java)
    assert world.control.ledger.entries() == []


# --- deaths -----------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process dies."""


def test_opening_spark_is_no_work_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its seconds are from the first batch on, as those of the whole run and of packets are."""
    world, clock = World(a_model("a", "raw")), [0.0]
    opened = world.open_engine

    def slow() -> FakeEngine:
        clock[0] += 0 if world.engines_opened else 100  # once a process
        return opened()

    world.engine.before_scan = lambda *_: clock.__setitem__(0, clock[0] + 7)
    monkeypatch.setattr("backfill_assets.build.build.time.monotonic", lambda: clock[0])
    assert build(world.bench(engine=slow), "a", ranges(days("01", "05"))).wall < 100 < clock[0]


def test_killed_between_the_commit_and_the_ledger_costs_that_batch_only() -> None:
    """Its rows are in the table and nobody vouches for them: the next run writes that batch again, and only that."""
    world = World(a_model("a"))

    def die(job: Job, interval: Interval) -> None:
        if interval == days("04", "06"):
            raise Killed

    world.engine.after_commit = die
    with pytest.raises(Killed):
        go(world)
    assert world.tables.head("a", "a-1") >= 2
    assert days("05") not in world.facts().tables.coverage["a"].built
    there = {str(e.interval) for e in kinds(world, Kind.BUILT)}
    world.engine.after_commit = lambda job, interval: None
    world.engine.writes.clear()
    assert go(world).ok
    assert (
        set(written(world))
        == {"2024-01-01..2024-01-03", "2024-01-04..2024-01-06", "2024-01-07..2024-01-09", "2024-01-10"} - there
    )


def test_a_merge_that_changes_nothing_counts_as_built() -> None:
    """Killed between a merge and its record: the second attempt finds nothing to change, in a commit of its own that is
    newer than the dirt; the ledger, the outcome and the event say what each merge did."""
    world = World(a_model("a", write="merge"))

    def die(job: Job, interval: Interval) -> None:
        raise Killed

    world.engine.after_commit = die
    with suppress(Killed):
        go(world, days("01", "03"))
    assert world.tables.head("a", "a-1") == 1 and not kinds(world, Kind.BUILT)
    world.engine.after_commit = lambda *_: None

    again = go(world, days("01", "06"))

    assert again.ok and world.tables.head("a", "a-1") == 3
    assert again.changes == Changes(inserted=30) and again.rows == 60 and again.bytes == 30
    said = {str(e.interval): (e.rows, e.changes) for e in kinds(world, Kind.BUILT)}
    assert said == {
        "2024-01-01..2024-01-03": (30, Changes()),
        "2024-01-04..2024-01-06": (30, Changes(inserted=30)),
    }
    assert sorted(str(e.changes) for e in world.events if isinstance(e, BatchDone)) == [
        "30 inserted, 0 updated, 0 deleted",
        "no row changed",
    ]
    assert not go(world, days("01", "06")).built


def test_killed_between_the_ledger_and_the_audit_is_audited_not_rebuilt() -> None:
    """Built days that no audit looked at are audited by the next run; nothing is written again."""
    world = World(a_model("a"))

    def die(job: Job, intervals: Ranges) -> None:
        raise Killed

    world.engine.before_scan = die
    with pytest.raises(Killed):
        go(world, days("01", "03"))
    assert str(world.facts().tables.coverage["a"].unaudited) == "2024-01-01..2024-01-03"
    world.engine.before_scan = lambda job, intervals: None
    world.engine.writes.clear()
    outcome = go(world, days("01", "03"))
    assert outcome.ok
    assert world.engine.writes == []
    assert not outcome.built
    assert [r.passed for r in outcome.results] == [True] * 3


def test_an_audit_that_fails_for_a_passing_reason_is_made_up_for() -> None:
    """The scan lost its connection once: the rows are not written twice, and the day ends green in the same run."""
    world = World(a_model("a"))
    left = [1]

    def lose(job: Job, intervals: Ranges) -> None:
        if left[0]:
            left[0] -= 1
            raise TransientBuildError("lost connection")

    world.engine.before_scan = lose
    outcome = go(world, days("01", "03"))
    assert outcome.ok
    assert len(world.engine.writes) == 1


def test_an_audit_that_cannot_run_is_a_failure_not_a_traceback() -> None:
    """The rows are there and stay unaudited; other batches are not stopped by it."""
    world = World(a_model("a"))

    def refuse(job: Job, intervals: Ranges) -> None:
        if days("02") in intervals:
            raise BuildError("no such column: idd")

    world.engine.before_scan = refuse
    outcome = go(world)
    assert str(outcome.green) == "2024-01-04..2024-01-10"
    assert outcome.failures
    assert all("idd" in f.error for f in outcome.failures)
    assert str(world.facts().tables.coverage["a"].unaudited) == "2024-01-01..2024-01-03"


def test_an_interrupt_cancels_what_runs_and_keeps_what_is_done() -> None:
    """Ctrl-C in the second of four batches: it is interrupted and not tried again, no other begins, the first stays."""
    world = World(a_model("a"))

    def interrupted(job: Job, interval: Interval) -> None:
        if interval == days("04", "06"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            assert world.engine.cancelled.wait(20)
            raise TransientBuildError("job was cancelled")

    world.engine.before_write = interrupted
    with pytest.raises(KeyboardInterrupt):
        go(world)
    assert written(world) == ["2024-01-01..2024-01-03", "2024-01-04..2024-01-06"]
    assert world.sleeps == []
    assert str(world.facts().tables.coverage["a"].built) == "2024-01-01..2024-01-03"
    world.engine.before_write = lambda job, interval: None
    assert go(world).ok
    assert written(world)[2:] == ["2024-01-04..2024-01-06", "2024-01-07..2024-01-09", "2024-01-10"]


def test_stop_is_heard_from_outside() -> None:
    """Who stops the bench (a server shutting down) gets an outcome with what was done; nothing is raised."""
    world = World(a_model("a"))
    bench = world.bench()
    world.engine.after_commit = lambda job, interval: bench.stop.set()
    outcome = build(bench, "a", ranges(TEN))
    assert len(world.engine.writes) == 1
    assert str(outcome.green | world.facts().tables.coverage["a"].built) == "2024-01-01..2024-01-03"
    assert not outcome.ok


def test_green_days_without_rows_are_told() -> None:
    """Nothing demands rows, so days without any pass; the outcome names them. A red day is told by its audit."""
    world = World(a_model("a"))
    world.engine.cell = lambda job, unit: Cell(rows=0) if unit in (days("02"), days("05")) else Cell()
    outcome = go(world)
    assert outcome.ok and str(outcome.rowless) == "2024-01-02, 2024-01-05"
    assert go(World(a_model("a"))).rowless == Ranges()


# --- audits -----------------------------------------------------------------------------------------------------------


def test_a_red_day_is_invalidated_and_its_neighbours_are_green() -> None:
    """A blocking audit fails on one day of a batch: that day does not count, with the audit's name and failing keys."""
    world = World(a_model("a"))
    world.engine.cell = bad_on("02")
    outcome = go(world, days("01", "03"))
    assert str(outcome.red) == "2024-01-02"
    assert str(outcome.green) == "2024-01-01, 2024-01-03"
    assert not outcome.ok
    [entry] = kinds(world, Kind.INVALIDATED)
    assert (str(entry.interval), entry.reason) == ("2024-01-02", "rows_ok failed")
    [failed] = [r for r in outcome.results if not r.passed]
    assert (failed.failures, failed.sample) == (2, ("rows_ok@2024-01-02",))
    assert failed in world.control.results.read(batches=[entry.batch])
    [audited] = [e for e in world.events if isinstance(e, Audited)]
    assert (audited.intervals, str(audited.red)) == (3, "2024-01-02")
    world.engine.cell = bad_on()
    world.engine.writes.clear()
    assert go(world, days("01", "03")).ok
    assert written(world) == ["2024-01-02"]


def test_a_warning_does_not_block() -> None:
    """A failed audit of severity `warn` is recorded, and the day is green."""
    warn = Audit(name="rows_ok", kind="not_null", arguments={"columns": ("id",)}, blocking=False)
    world = World(a_model("a", audits=(warn,)))
    world.engine.cell = bad_on("02")
    outcome = go(world, days("01", "03"))
    assert outcome.ok
    assert not outcome.red
    assert [(r.passed, r.blocking) for r in outcome.results if r.interval == days("02")] == [(False, False)]


def test_changed_audits_are_run_on_what_is_built() -> None:
    """New audits make old verdicts stale: the days are audited again, and a day that fails now is built again later."""
    world = World(a_model("a"))
    world.engine.cell = bad_on("02")
    model = world.project.models["a"]
    stricter = replace(model, audits=(replace(model.audits[0], arguments={"columns": ("id", "ds")}),))
    first = World(replace(model, audits=()))
    first.engine.cell = world.engine.cell
    first.control, first.tables, first.engine.tables = world.control, world.tables, world.tables
    assert go(first, days("01", "03")).ok
    after = World(stricter)
    after.control, after.tables, after.engine.tables = world.control, world.tables, world.tables
    outcome = go(after, days("01", "03"))
    assert after.engine.writes == []
    assert str(outcome.green) == "2024-01-01, 2024-01-03"
    assert str(outcome.red) == "2024-01-02"


def test_row_counts_are_compared_with_what_the_environment_shows() -> None:
    """Half of prod's rows on a day that prod has fails; days that prod lacks, and a version beside itself, pass."""
    audit = Audit(name="like_prod", kind="row_count", arguments={"within_percent": 10, "of": "prod"})
    world = World(a_model("a", audits=(audit,)), versions={"a": "2"})
    world.tables.create("a", "a-1")
    old = {u.start: Cell(rows=20) for u in Cadence.DAILY.split(days("01", "05"))}
    world.tables.write("a", "a-1", "old", days("01", "05"), old)
    pointer = a_pointer("a", "a-1", days("01", "03"), commit=1)
    world.control.environments.flip(
        world.control.environments.read("prod"), [pointer], release="r", at=utc("2024-01-05")
    )
    world.engine.cell = lambda job, unit: Cell(rows=10 if unit == days("02") else 19)
    outcome = go(world, days("01", "05"))
    assert str(outcome.red) == "2024-01-02", "days 04 and 05 are in the old table, but prod does not show them"
    itself = World(a_model("a", audits=(audit,)))
    itself.control, itself.tables, itself.engine.tables = world.control, world.tables, world.tables
    itself.engine.cell = lambda job, unit: Cell(rows=1)
    assert not go(itself, days("01")).red


# --- upstreams --------------------------------------------------------------------------------------------------------


def test_what_an_upstream_lacks_waits() -> None:
    """Days whose upstream days are missing or red are not tried, and the outcome says what they wait for."""
    world = World(a_model("a"), a_model("b", "a"))
    world.engine.cell = bad_on("02")
    go(world, days("01", "03"))
    outcome = go(world, days("01", "04"), "b")
    assert str(outcome.green) == "2024-01-01, 2024-01-03"
    [waits] = outcome.waits
    assert waits.upstream == "a"
    assert str(waits.intervals) == str(waits.needs) == "2024-01-02, 2024-01-04"
    assert not outcome.ok
    assert outcome.failures == ()


def test_nothing_ready_opens_no_engine() -> None:
    """All of it waits: there is nothing to compute."""
    world = World(a_model("a"), a_model("b", "a"))
    outcome = go(world, days("01", "03"), "b")
    assert world.engines_opened == 0
    assert str(outcome.waits[0].intervals) == "2024-01-01..2024-01-03"


def test_inputs_are_frozen_at_what_was_ready() -> None:
    """The ledger says which version and commit of each upstream, and which snapshot of each source, was read."""
    world = World(a_model("a", "raw"), a_model("b", "a", "other"))
    go(world, days("01", "03"))
    go(world, days("01", "03"), "b")
    [entry] = [e for e in kinds(world, Kind.BUILT) if e.model == "b"]
    assert entry.inputs == {"a": {"version": "a-1", "commit": 1}, "other": {"commit": 1}}
    record = world.control.versions.get("b", "b-1")
    assert record and record.upstream == {"a": "a-1"}


# --- two at once ------------------------------------------------------------------------------------------------------


def assert_consistent(world: World, name: str = "a") -> None:
    """For every green day, the batch that the ledger names is the batch whose rows are in the table."""
    cells = world.tables.cells(name, world.project.fingerprints[name])
    found = world.facts().tables.coverage[name]
    for part, entry in found.sources:
        for unit in Cadence.DAILY.split(part):
            assert cells[unit.start].batch == entry.batch, unit


def test_two_builds_of_the_same_range_end_with_every_day_built_and_consistent() -> None:
    """Started at the same moment, writing over each other: all days are green, the ledger names the right batches."""
    world = World(a_model("a", batch_size=2, batch_concurrency=2))
    together = threading.Barrier(2)

    def collide(job: Job, interval: Interval) -> None:
        with suppress(threading.BrokenBarrierError):
            together.wait(timeout=0.05)

    world.engine.before_write = collide
    world.engine.after_commit = collide
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda run: go(world, run=run), ["r1", "r2"]))
    assert [o.ok for o in outcomes] == [True, True]
    assert str(world.facts().tables.coverage["a"].green) == ALL
    assert_consistent(world)


def test_a_batch_that_another_run_built_meanwhile_is_not_built_again() -> None:
    """It was refused because the other one committed first: the next attempt finds it done."""
    world = World(a_model("a"))
    other = world.bench(run="other")
    done: list[int] = []

    def race(job: Job, interval: Interval) -> None:
        if not done:
            done.append(1)
            build(other, "a", ranges(interval))
            raise TransientBuildError("another writer committed to the same partitions first")

    world.engine.before_write = race
    assert go(world, days("01", "03"), run="mine").ok
    assert len(world.tables.commits("a", "a-1")) == 1
    assert [e.run for e in kinds(world, Kind.BUILT)] == ["other"]


def test_part_of_a_batch_that_another_run_built_is_left_alone() -> None:
    """Only the other days are written."""
    world = World(a_model("a"))
    done: list[int] = []

    def race(job: Job, interval: Interval) -> None:
        if not done:
            done.append(1)
            build(world.bench(run="other"), "a", ranges(days("02")))
            raise TransientBuildError("conflict")

    world.engine.before_write = race
    assert go(world, days("01", "03")).ok
    assert sorted(str(c.interval) for c in world.tables.commits("a", "a-1")) == [
        "2024-01-01",
        "2024-01-02",
        "2024-01-03",
    ]
    assert_consistent(world)


def test_a_batch_that_another_run_writes_again_during_my_audit_ends_green_in_mine() -> None:
    """My verdict is of rows that are no longer there; the other run built new ones and is not at its audit yet."""
    world = World(a_model("a", batch_size=1))
    done: list[int] = []

    def overwritten(job: Job, intervals: Ranges) -> None:
        if done:
            return
        done.append(1)
        commit = world.tables.write("a", "a-1", "theirs", days("02"), {days("02").start: Cell(batch="theirs")})
        built = next(e for e in kinds(world, Kind.BUILT) if e.interval == days("02"))
        theirs = replace(built, id=new_id(), batch="theirs", run="other", table_commit=commit.table_commit)
        world.control.ledger.append([theirs])

    world.engine.before_scan = overwritten
    outcome = go(world, days("01", "03"), run="mine")
    assert outcome.ok and str(outcome.green) == "2024-01-01..2024-01-03"
    assert written(world) == ["2024-01-01", "2024-01-02", "2024-01-03"], "nothing of mine is written twice"
    assert_consistent(world)


def test_a_lease_that_is_lost_between_two_attempts_is_a_failure_of_its_model() -> None:
    """What is green stays, and is told; other models of the plan go on. As before the first attempt."""
    world = World(a_model("a", batch_size=1))
    asked: list[str] = []

    @contextmanager
    def lease(model: str, version: str) -> Generator[Callable[[], None]]:
        def become_writer() -> None:
            asked.append(model)
            if len(asked) > 1:
                raise StateError("another process has taken over a")

        yield become_writer

    def overwritten(job: Job, intervals: Ranges) -> None:
        if len(asked) == 1 and not world.sleeps:
            world.tables.write("a", "a-1", "theirs", days("02"), {days("02").start: Cell(batch="theirs")})

    world.engine.before_scan = overwritten
    outcome = go(world, days("01", "03"), lease=lease)
    assert asked == ["a", "a"], "the day is to be written again, since a stranger wrote it"
    assert [(str(f.interval), f.error) for f in outcome.failures] == [
        ("2024-01-02", "another process has taken over a")
    ]
    assert str(outcome.green) == "2024-01-01, 2024-01-03" and not outcome.ok
    assert isinstance(world.events[-1], ModelDone)


def test_a_deleted_table_is_built_again_in_full() -> None:
    """Somebody removed the folder: every day is written again, whatever order the new batches come in."""
    world = World(a_model("a"))
    go(world)
    world.tables.drop("a", "a-1")
    world.engine.writes.clear()
    smaller = World(a_model("a", batch_size=1))
    smaller.control, smaller.tables, smaller.engine.tables = world.control, world.tables, world.tables
    assert go(smaller).ok
    assert len(smaller.engine.writes) == 10
    assert_consistent(smaller)


def test_events_come_in_order() -> None:
    """One start, a start and an end for each batch, one audit of all, one end: progress bars add up."""
    world = World(a_model("a"))
    go(world, days("01", "04"))
    assert [type(e) for e in world.events] == [
        ModelStarted,
        BatchStarted,
        BatchDone,
        BatchStarted,
        BatchDone,
        Audited,
        ModelDone,
    ]
    first = world.events[0]
    assert isinstance(first, ModelStarted)
    assert (first.intervals, first.batches) == (4, 2)
    assert sum(e.intervals for e in world.events if isinstance(e, BatchDone)) == 4


def test_a_job_knows_what_is_shown_and_what_stays_beside_it() -> None:
    """A published version's restated days lie beside its table; beside a revision is what is shown, less its days."""
    world = World(a_model("a"))
    go(world, days("01", "09"))
    jobs: list[Job] = []
    world.engine.before_write = lambda job, interval: jobs.append(job)
    restated = a_pointer("a", "a-1.r", days("04")).segments
    whole = a_pointer("a", "a-1", days("01", "03"), days("05", "09"), commit=world.tables.head("a", "a-1"))
    whole = replace(whole, segments=(whole.segments[0], *restated, whole.segments[1]))
    environments = world.control.environments
    environments.flip(environments.read("prod"), [whole], release="r", at=utc("2024-01-11"))

    assert go(world, days("10")).ok
    patch = Patch(version="a-1.s", intervals=ranges(days("02")), below=whole.segments)
    assert go(world, days("02"), patches={"a": patch}).ok

    first, second = jobs
    assert first.shown == second.shown == whole.segments
    assert first.beside == restated
    assert [(s.version, str(s.interval)) for s in second.beside] == [
        ("a-1", "2024-01-01"),
        ("a-1", "2024-01-03"),
        ("a-1.r", "2024-01-04"),
        ("a-1", "2024-01-05..2024-01-09"),
    ]


def test_what_is_shown_is_not_built_again() -> None:
    """Somebody writes to a published table: its days stay as they are shown, whatever is asked; readers of new days
    read them at the commit that is shown. Days that nobody was shown are built again."""
    world = World(a_model("a"), a_model("b", "a", lookback=1))
    assert go(world, days("01", "09")).ok
    published = a_pointer("a", "a-1", days("01", "05"), commit=world.tables.head("a", "a-1"))
    environments = world.control.environments
    environments.flip(environments.read("prod"), [published], release="r", at=utc("2024-01-11"))
    world.tables.foreign("a", "a-1")
    world.engine.writes.clear()
    jobs: list[Job] = []
    world.engine.before_write = lambda job, interval: jobs.append(job)

    assert go(world, days("01", "07")).ok
    assert [str(i) for _, i in world.engine.writes] == ["2024-01-06..2024-01-07"]
    assert apply(world.bench(), world.plan(Request(select=("b",), end=utc("2024-01-07"))))["b"].ok
    read = jobs[-1].inputs["a"]
    assert isinstance(read, ModelInput)
    assert [(s.commit, str(s.interval)) for s in read.over] == [
        (published.segments[0].commit, "2024-01-01..2024-01-05")
    ]


def test_new_audits_look_at_what_is_shown() -> None:
    """Of a day that was restated the correction is audited, not the table below it; one that is red stays complete, and
    the run says so."""
    world = World(a_model("a"))
    assert go(world).ok
    base = a_pointer("a", "a-1", days("01", "10"), commit=world.tables.head("a", "a-1"))
    environments = world.control.environments
    environments.flip(environments.read("prod"), [base], release="r", at=utc("2024-01-11"))
    patch = Patch(version="a-1.r", intervals=ranges(days("04")), below=base.segments)
    world.engine.cell = lambda job, unit: Cell(failures={"newer": 1})
    assert go(world, days("04"), patches={"a": patch}).ok
    shown = replace(base, segments=patch.segments(1).over(base.segments))
    environments.flip(environments.read("prod"), [shown], release="s", at=utc("2024-01-11"))
    newer = Audit(name="newer", kind="not_null", arguments={"columns": ("ds",)})
    model = world.project.models["a"]
    world.project = replace(world.project, models={"a": replace(model, audits=(*model.audits, newer))})
    world.engine.scans.clear()
    world.engine.writes.clear()

    outcome = go(world)
    assert not world.engine.writes
    looked_at = sorted(str(parts) for _, parts in world.engine.scans)
    assert looked_at == ["2024-01-01..2024-01-03, 2024-01-05..2024-01-10", "2024-01-04"]
    assert not outcome.ok and str(outcome.red) == "2024-01-04"
    entries = [e for e in world.control.ledger.entries() if e.kind is Kind.INVALIDATED]
    assert [(e.version, str(e.interval)) for e in entries] == [("a-1.r", "2024-01-04")]
    assert world.plan().work == (), "it is known: nothing is audited or built again"
