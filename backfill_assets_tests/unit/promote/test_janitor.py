"""What goes and what stays. Nothing that anybody needs is lost, whoever comes in between and wherever it is killed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import ConflictError, PromotionError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.promote.janitor import Cleanup, Unreachable, find_unreachable, sweep
from backfill_assets.promote.lifecycle import abandon, open_plan
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.removals import Removals
from backfill_assets.state.tables import StoredTable
from backfill_assets_tests.fakes import NOW, Crash, Life, MortalStore, days
from backfill_assets_tests.unit.promote.office import Office

KEEP = timedelta(days=30)


def after(days: float) -> datetime:
    """So many days after all that the test does."""
    return datetime.now(UTC) + timedelta(days=days)


def look(office: Office, later: float = 31) -> Unreachable:
    return find_unreachable(office.world.control, office.world.tables, now=after(later), retention=KEEP)


def run(office: Office, later: float = 31, control: Control | None = None) -> Cleanup:
    control = control or office.world.control
    return sweep(control, office.world.tables, now=after(later), retention=KEEP, by="eva")


def there(office: Office) -> set[str]:
    return {t.version for t in office.world.tables.tables()}


def goes(office: Office, later: float = 31) -> list[str]:
    return [g.table.version for g in look(office, later).goes]


def everything_shown_is_readable(office: Office) -> bool:
    pointers = [p for n in office.world.control.environments.names() for p in office.at(n).pointers.values()]
    return all(
        not office.world.tables.readable(p.model, s.version, s.commit, s.interval).broken
        for p in pointers
        for s in p.segments
    )


def days_of(office: Office) -> Ranges:
    return office.world.project.models["a"].expected(office.now)


@pytest.fixture
def office() -> Office:
    """Version 2 of a and b replaced version 1; c is at version 1."""
    office = Office()
    office.release()
    office.change(a="2", b="2")
    office.release()
    return office


def test_superseded_tables_go_when_their_time_is_over(office: Office) -> None:
    """Not a day earlier; what is shown stays for ever; looking changes nothing."""
    assert goes(office, 29) == [] and goes(office, 31) == ["a-1", "b-1"]
    assert run(office, 29).removed == () and there(office) == {"a-1", "a-2", "b-1", "b-2", "c-1"}
    done = run(office, 31)
    assert [(r.model, r.version, r.by) for r in done.removed] == [("a", "a-1", "eva"), ("b", "b-1", "eva")]
    assert all(r.bytes > 0 for r in done.removed)
    assert there(office) == {"a-2", "b-2", "c-1"} and everything_shown_is_readable(office)
    assert run(office, 3000).removed == () and everything_shown_is_readable(office)


def test_what_keeps_a_table_is_told(office: Office) -> None:
    """By name: the environment, or the release that could be undone."""
    kept = {k.table.version: k.why for k in look(office, 1).kept}
    assert kept["a-2"] == "prod shows it"
    assert kept["a-1"].startswith(f"release {office.releases[1].id} of prod")


def test_a_rollback_begins_the_time_anew(office: Office) -> None:
    """What was rolled back from is superseded now: it stays, and what is shown again stays anyway."""
    office.back()
    assert goes(office, 29) == [] and goes(office, 31) == ["a-2", "b-2"]


def test_open_plans_keep_what_they_build(office: Office) -> None:
    """However long they are open; abandoned, their tables go after the retention."""
    world = office.world
    office.change(a="3", b="2")
    plan = world.plan(now=office.now)
    opened = open_plan(world.control, plan, by="ana", views=lambda: None)
    assert opened is not None
    apply(world.bench(), plan)
    assert "a-3" not in goes(office, 1000)
    abandon(world.control, world.tables, "/w", opened.plan.id, by="ana", views=lambda: None)
    assert "a-3" not in goes(office, 29) and "a-3" in goes(office, 31)


def test_what_a_shown_table_was_built_from_stays(office: Office) -> None:
    """Another environment still shows the old b: a-1 stays with it."""
    old = next(m.after for m in office.releases[0].moves if m.model == "b")
    assert old is not None
    environments = office.world.control.environments
    environments.flip(environments.read("audit_2024"), [old], release="copy", at=NOW)
    assert goes(office) == []
    assert {k.table.version: k.why for k in look(office).kept}["a-1"] == "b b-1 was built from it"


def test_a_running_batch_keeps_its_table(office: Office) -> None:
    """Begun and not ended within a day; what failed or ended is not running."""
    started = Entry(kind=Kind.STARTED, model="a", version="a-1", interval=days("20"), batch="x", at=datetime.now(UTC))
    office.world.control.ledger.append([started])
    assert goes(office) == ["b-1"]
    failed = Entry(kind=Kind.FAILED, model="a", version="a-1", interval=days("20"), batch="x", at=datetime.now(UTC))
    office.world.control.ledger.append([failed])
    assert goes(office) == ["a-1", "b-1"]


def test_folders_that_nobody_knows_are_left_alone(office: Office) -> None:
    """Somebody's own table in the warehouse is told, and stays."""
    office.world.tables.create("a", "by-hand")
    assert [t.version for t in look(office).unknown] == ["by-hand"]
    run(office)
    assert "by-hand" in there(office)


def test_nothing_can_be_pointed_at_what_goes(office: Office) -> None:
    """A rollback is refused while the janitor deletes, and afterwards, with the reason; prod shows what it showed."""
    before, refused = office.prod, list[str]()

    def meanwhile(model: str, version: str) -> None:
        if not refused:
            assert office.back(at_once=True).moved is None
            environments = office.world.control.environments
            for seen in (found.environment, environments.read("prod")):
                with pytest.raises(PromotionError) as error:
                    environments.flip(seen, found.pointers, release="r", at=NOW)
                refused.append(str(error.value))

    found, _ = office.look()
    office.world.tables.before_remove = meanwhile
    run(office)
    assert len(refused) == 2 and all("the janitor removes it" in text for text in refused)
    with pytest.raises(PromotionError, match="cannot show a a-1"):
        office.world.control.environments.flip(found.environment, found.pointers, release="r", at=NOW)
    ended = office.back(at_once=True)
    assert ended.moved is None and "the janitor has removed a-1" in str(ended.obstacles[0])
    assert office.prod.pointers == before.pointers


def test_whoever_points_first_keeps_the_table(office: Office) -> None:
    """A rollback between the janitor's look and its condemnation: the janitor looks again."""
    found = look(office)
    office.back()
    with pytest.raises(ConflictError):
        office.world.control.removals.mark_for_deletion({("a", "a-1"): ("", 1)}, revision=found.revision, by="eva")
    run(office)
    assert everything_shown_is_readable(office) and {"a-1", "b-1"} <= there(office)


def test_somebody_points_while_the_janitor_looks(office: Office) -> None:
    """After it knew what is needed, and before it marked: it looks again, and nothing is marked in between."""
    tables = office.world.tables
    looks: list[int] = []

    def meanwhile() -> list[StoredTable]:
        looks.append(len(looks))
        if len(looks) == 1:
            office.back()
        return type(tables).tables(tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "tables", meanwhile)
        swept = run(office)
    assert len(looks) == 2 and not swept.unmarked
    assert everything_shown_is_readable(office) and {"a-1", "b-1"} <= there(office)


def test_a_build_that_comes_second_is_refused(office: Office) -> None:
    """The janitor is deleting: nothing is written into that folder, and the next run builds the table anew."""
    office.change()
    outcomes = list[Outcome]()
    office.world.tables.before_remove = lambda m, v: outcomes.append(build(office.world.bench(), m, days_of(office)))
    office.now += timedelta(days=1)
    run(office)
    assert [o.ok for o in outcomes] == [False, False]
    assert "is being removed" in outcomes[0].failures[0].error
    assert there(office) == {"a-2", "b-2", "c-1"}
    office.world.tables.before_remove = lambda m, v: None
    office.release()
    assert str(office.prod.pointers["a"].covers) == "2024-01-01..2024-01-11"
    assert office.prod.pointers["a"].version == "a-1" and everything_shown_is_readable(office)


def test_a_build_that_comes_first_keeps_its_table(office: Office) -> None:
    """A batch runs: the janitor leaves its table, whatever its age."""
    office.change()
    office.now += timedelta(days=1)
    swept: list[Cleanup] = []

    def meanwhile(job: Job, interval: Interval) -> None:
        if not swept:
            swept.append(run(office))

    office.world.engine.before_write = meanwhile
    outcome = build(office.world.bench(), "a", days_of(office))
    assert outcome.ok, outcome.failures
    assert "a-1" in there(office)
    assert "a-1" not in {r.version for r in swept[0].removed}


def test_a_build_between_condemnation_and_deletion(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wrote down that it begins before the janitor looked again: the table is pardoned."""
    mark_for_deletion = Removals.mark_for_deletion

    def slow(self: Removals, *args: object, **named: object) -> object:
        done = mark_for_deletion(self, *args, **named)  # type: ignore[arg-type]
        started = Entry(kind=Kind.STARTED, model="a", version="a-1", interval=days("20"), batch="x", at=after(0))
        office.world.control.ledger.append([started])
        return done

    monkeypatch.setattr(Removals, "mark_for_deletion", slow)
    done = run(office)
    assert [r.version for r in done.unmarked] == ["a-1"] and [r.version for r in done.removed] == ["b-1"]
    assert office.world.control.environments.read("prod").marked_for_deletion == frozenset()


def test_a_removal_while_a_build_looks(office: Office) -> None:
    """The table goes between a build's first look and its first batch: it does not write into what is not there."""
    office.change()
    office.now += timedelta(days=1)
    office.world.engine.before_prepare = lambda job: run(office)
    outcome = build(office.world.bench(), "a", days_of(office))
    assert not outcome.ok and "is being removed" in outcome.failures[0].error
    assert office.world.tables.commits("a", "a-1") == []


def steps() -> int:
    office, life = a_year_later(), Life()
    run(office, control=Control.over(MortalStore(office.world.store, life)))
    return life.steps


def a_year_later() -> Office:
    office = Office()
    office.release()
    office.change(a="2", b="2")
    office.release()
    return office


@pytest.mark.parametrize("crash", range(8))
def test_killed_anywhere_the_next_one_finishes(crash: int) -> None:
    """Before or after any record, and between records: what is shown is whole; then all that could go is gone."""
    assert steps() >= 6
    office = a_year_later()
    life = Life(crash)
    office.world.tables.before_remove = lambda m, v: life.step()
    try:
        run(office, control=Control.over(MortalStore(office.world.store, life)))
    except Crash:
        assert everything_shown_is_readable(office)
    office.world.tables.before_remove = lambda m, v: None
    run(office)
    assert there(office) == {"a-2", "b-2", "c-1"} and everything_shown_is_readable(office)
    assert all(r.done for r in office.world.control.removals.all().values())
    assert office.prod.marked_for_deletion == frozenset()


def test_another_janitor_at_work_is_left_alone(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a living process is deleting is its own; after a day it is taken over."""
    found = look(office)
    doomed = {("a", "a-1"): ("", 1)}
    monkeypatch.setattr("backfill_assets.state.removals.socket.gethostname", lambda: "elsewhere")
    [begun] = office.world.control.removals.mark_for_deletion(doomed, revision=found.revision, by="x")
    monkeypatch.undo()
    assert look(office).unfinished == () and "a-1" not in goes(office)
    assert not begun.owned(now=after(2)) and begun.owned(now=after(0.5))
