"""What audits look at beside the rows that they judge: which tables, which of their intervals, built when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from backfill_assets.audits.counts import Counts
from backfill_assets.build.apply import apply
from backfill_assets.build.engine import AuditReads, Job, ShownModel, SourceInput
from backfill_assets.build.ledger_edits import declare_empty
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit, Model
from backfill_assets.core.segments import Segment
from backfill_assets.plan.facts import read_facts
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import NOW, Cell, World, a_model, a_pointer, a_project, a_source, days, ranges
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

ALL = ranges(days("01", "10"))


def audited(kind: str, *, batch_size: int = 10, **arguments: object) -> Model:
    return a_model("a", audits=(Audit(name="check", kind=kind, arguments=arguments),), batch_size=batch_size)


def go(world: World) -> dict[str, Outcome]:
    return apply(world.bench(), world.plan())


def shows(world: World, *, version: str) -> None:
    """prod shows days 1 to 4 of a in this version."""
    world.control.environments.flip(
        world.control.environments.read("prod"), [a_pointer("a", version, days("01", "04"))], release="r", at=NOW
    )


def test_what_audits_look_at_is_built_first() -> None:
    """`a` reads nothing of `b`; its audit does: b is complete when a is audited, and is seen as far as it is green."""
    world = World(a_model("b", batch_size=10), audited("relationships", columns=("id",), to="b"))
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(job.model.name == "b" and unit == days("03"))})
    outcomes = go(world)
    assert outcomes["a"].ok
    assert [name for name, _ in world.engine.scans] == ["b", "a"]
    read = world.engine.audit_reads["a"].tables["b"]
    assert isinstance(read, ShownModel) and read.model.name == "b"
    assert {(s.version, s.commit) for s in read.segments} == {("b-1", world.tables.head("b", "b-1"))}
    assert Ranges.of(s.interval for s in read.segments) == ALL - ranges(days("03"))


def test_another_models_day_that_is_declared_empty_is_no_gap() -> None:
    """Its month is whole; a day that is not there at all is one."""
    world = World(a_model("b", batch_size=10), audited("reconcile", metric="count(*)", of="b", period="monthly"))
    quiet = days("03")
    request = Request(start=quiet.start, end=quiet.end, select=("b",))
    assert declare_empty(world.control, world.tables, world.project, world.facts(), request, by="ana") == {
        "b": ranges(quiet)
    }
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(job.model.name == "b" and unit == days("05"))})
    go(world)
    read = world.engine.audit_reads["a"].tables["b"]
    assert isinstance(read, ShownModel) and read.empty == ranges(quiet)
    assert ALL - read.segments.covers - read.empty == ranges(days("05"))


def test_what_is_nowhere_is_a_failure_that_says_so() -> None:
    """The rows stay, unaudited; once the other table is built, they are audited without being built again."""
    world = World(a_model("b", batch_size=10), audited("relationships", columns=("id",), to="b"))
    only = world.plan(Request(select=("a",)))
    outcome = apply(world.bench(), only)["a"]
    [failure] = outcome.failures
    assert "look at b, which has no rows yet" in failure.error and "backfill apply --select b" in failure.error
    assert not outcome.green
    outcomes = go(world)
    assert outcomes["a"].ok and not outcomes["a"].built and outcomes["a"].green == ALL


def test_an_older_release_stands_in_for_what_is_not_built() -> None:
    """The code's b has no rows yet: the audit looks at what prod shows of it."""
    world = World(a_model("b"), audited("relationships", columns=("id",), to="b"), versions={"b": "2"})
    pointer = a_pointer("b", "b-1", days("01", "04"))
    world.control.environments.flip(world.control.environments.read("prod"), [pointer], release="r", at=NOW)
    apply(world.bench(), world.plan(Request(select=("a",))))
    read = world.engine.audit_reads["a"].tables["b"]
    assert isinstance(read, ShownModel) and read.segments == pointer.segments


def test_a_source_that_only_audits_read_is_frozen_too() -> None:
    """It is pinned by the plan like any other."""
    world = World(audited("relationships", columns=("id",), to="raw.ids"))
    world.project = type(world.project)(
        **{f: getattr(world.project, f) for f in type(world.project).__dataclass_fields__}
        | {"sources": {"raw.ids": a_source("raw.ids")}}
    )
    facts = read_facts(world.project, world.control, world.tables, world.pins, now=NOW, environment="prod")
    assert facts.sources.pins == {"raw.ids": {"commit": 1}}
    assert go(world)["a"].ok
    read = world.engine.audit_reads["a"].tables["raw.ids"]
    assert isinstance(read, SourceInput) and read.pin == {"commit": 1}


def test_prod_is_compared_where_it_shows_another_version() -> None:
    """Its segments, cut to what is judged; of this very version there is nothing to compare with."""
    for version, expected in (("a-0", ranges(days("01", "04"))), ("a-1", Ranges())):
        world = World(audited("reconcile", metric="count(*)", of="prod"))
        shows(world, version=version)
        go(world)
        shown = world.engine.audit_reads["a"].shown
        assert Ranges.of(s.interval for s in shown) == expected & ranges(*(i for _, r in world.engine.scans for i in r))


def test_neighbours_are_built_or_shown() -> None:
    """A day that is judged alone is seen among what the table has, and what prod shows where the table has nothing."""
    world = World(audited("trend", metric="count(*)", max_change_percent=50.0, neighbours=3))
    shows(world, version="a-0")
    apply(world.bench(), world.plan(Request(start=days("06").start, end=days("07").end)))
    first = world.engine.audit_reads["a"].around
    assert first == (Segment(version="a-0", commit=1, interval=days("03", "04")),)
    apply(world.bench(), world.plan(Request(start=days("05").start, end=days("05").end)))
    head = world.tables.head("a", "a-1")
    assert world.engine.audit_reads["a"].around == (
        Segment(version="a-0", commit=1, interval=days("02", "04")),
        Segment(version="a-1", commit=head, interval=days("06", "07")),
    )


def test_audits_of_the_rows_alone_read_nothing_else() -> None:
    """Not even the environment."""
    world = World(audited("range", column="id", min=0))
    go(world)
    assert world.engine.audit_reads["a"].tables == {} and world.engine.audit_reads["a"].around == ()


WEEKLY = Audit(name="week", kind="reconcile", arguments={"metric": "sum(x)", "of": "raw", "period": "weekly"})


def test_a_week_with_a_day_declared_empty_is_whole() -> None:
    """What is complete without rows is no gap in what an audit of whole weeks looks at."""
    world = World(a_model("a", "raw", audits=(WEEKLY,), batch_size=10))
    quiet = days("03")
    declared = declare_empty(
        world.control, world.tables, world.project, world.facts(), Request(start=quiet.start, end=quiet.end), by="ana"
    )
    assert declared == {"a": ranges(quiet)}
    go(world)
    assert world.engine.audit_reads["a"].built == ALL


def test_a_corrected_day_is_audited_beside_all_others() -> None:
    """A new audit of what is shown: the day's own table, and around it the version's, make whole weeks."""
    history = ProjectHistory()
    world = history.world
    world.project = a_project(a_model("a", "raw"))
    history.release()
    history.release(Request(restate=(("a", days("02")),)))
    world.project = a_project(a_model("a", "raw", audits=(*a_model("a").audits, WEEKLY)))
    real, seen = world.engine.scan, dict[str, Ranges]()

    def scan(job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> Mapping[datetime, Counts]:
        seen[str(intervals)] = reads.built | job.beside.covers
        return real(job, commit, intervals, reads)

    world.engine.scan = scan  # type: ignore[method-assign]
    go(world)
    assert seen.keys() >= {"2024-01-02"} and set(seen.values()) == {ALL}


def test_failing_keys_are_asked_for_once_an_audit() -> None:
    """All days of an audit that failed in one question."""
    world = World(a_model("a", batch_size=10))
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(unit in (days("03"), days("07"), days("08")))})
    outcome = go(world)["a"]
    assert world.engine.samples == [(str(ranges(days("03"), days("07", "08"))), "rows_ok")]
    assert {str(r.interval): r.sample for r in outcome.results if not r.passed} == {
        f"2024-01-{n}": (f"rows_ok@2024-01-{n}",) for n in ("03", "07", "08")
    }
