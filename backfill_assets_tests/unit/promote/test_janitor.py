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
from backfill_assets.promote.lifecycle import end_abandoned, store_plan
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.removals import Removals
from backfill_assets.state.tables import StoredTable
from backfill_assets_tests.fakes import NOW, Crash, Life, MortalStore, days
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

KEEP = timedelta(days=30)


def after(days: float) -> datetime:
    """So many days after all that the test does."""
    return datetime.now(UTC) + timedelta(days=days)


def look(history: ProjectHistory, later: float = 31) -> Unreachable:
    return find_unreachable(history.world.control, history.world.tables, now=after(later), retention=KEEP)


def run(history: ProjectHistory, later: float = 31, control: Control | None = None) -> Cleanup:
    control = control or history.world.control
    return sweep(control, history.world.tables, now=after(later), retention=KEEP, by="eva")


def there(history: ProjectHistory) -> set[str]:
    return {t.version for t in history.world.tables.tables()}


def goes(history: ProjectHistory, later: float = 31) -> list[str]:
    return [g.table.version for g in look(history, later).goes]


def everything_shown_is_readable(history: ProjectHistory) -> bool:
    pointers = [p for n in history.world.control.environments.names() for p in history.at(n).pointers.values()]
    return all(
        not history.world.tables.readable(p.model, s.version, s.commit, s.interval).broken
        for p in pointers
        for s in p.segments
    )


def days_of(history: ProjectHistory) -> Ranges:
    return history.world.project.models["a"].expected(history.now)


@pytest.fixture
def history() -> ProjectHistory:
    """Version 2 of a and b replaced version 1; c is at version 1."""
    history = ProjectHistory()
    history.release()
    history.change(a="2", b="2")
    history.release()
    return history


def test_superseded_tables_go_when_their_time_is_over(history: ProjectHistory) -> None:
    """Not a day earlier; what is shown stays for ever; looking changes nothing."""
    assert goes(history, 29) == [] and goes(history, 31) == ["a-1", "b-1"]
    assert run(history, 29).removed == () and there(history) == {"a-1", "a-2", "b-1", "b-2", "c-1"}
    done = run(history, 31)
    assert [(r.model, r.version, r.by) for r in done.removed] == [("a", "a-1", "eva"), ("b", "b-1", "eva")]
    assert all(r.bytes > 0 for r in done.removed)
    assert there(history) == {"a-2", "b-2", "c-1"} and everything_shown_is_readable(history)
    assert run(history, 3000).removed == () and everything_shown_is_readable(history)


def test_what_keeps_a_table_is_told(history: ProjectHistory) -> None:
    """By name: the environment, or the release that could be undone."""
    kept = {k.table.version: k.why for k in look(history, 1).kept}
    assert kept["a-2"] == "prod shows it"
    assert kept["a-1"].startswith(f"release {history.releases[1].id} of prod")


def test_a_rollback_begins_the_time_anew(history: ProjectHistory) -> None:
    """What was rolled back from is superseded now: it stays, and what is shown again stays anyway."""
    history.back()
    assert goes(history, 29) == [] and goes(history, 31) == ["a-2", "b-2"]


def test_open_plans_keep_what_they_build(history: ProjectHistory) -> None:
    """However long they are open; abandoned, their tables go after the retention."""
    world = history.world
    history.change(a="3", b="2")
    plan = world.plan(now=history.now)
    opened = store_plan(world.control, plan, by="ana", views=lambda: None, code=world.project.fingerprints)
    assert opened is not None
    apply(world.bench(), plan)
    assert "a-3" not in goes(history, 1000)
    end_abandoned(world.control, world.tables, "/w", opened.plan.id, by="ana", views=lambda: None)
    assert "a-3" not in goes(history, 29) and "a-3" in goes(history, 31)


def test_what_a_shown_table_was_built_from_stays(history: ProjectHistory) -> None:
    """Another environment still shows the old b: a-1 stays with it."""
    old = next(m.after for m in history.releases[0].moves if m.model == "b")
    assert old is not None
    environments = history.world.control.environments
    environments.flip(environments.read("audit_2024"), [old], release="copy", at=NOW)
    assert goes(history) == []
    assert {k.table.version: k.why for k in look(history).kept}["a-1"] == "b b-1 was built from it"


def test_a_running_batch_keeps_its_table(history: ProjectHistory) -> None:
    """Begun and not ended within a day; what failed or ended is not running."""
    started = Entry(kind=Kind.STARTED, model="a", version="a-1", interval=days("20"), batch="x", at=datetime.now(UTC))
    history.world.control.ledger.append([started])
    assert goes(history) == ["b-1"]
    failed = Entry(kind=Kind.FAILED, model="a", version="a-1", interval=days("20"), batch="x", at=datetime.now(UTC))
    history.world.control.ledger.append([failed])
    assert goes(history) == ["a-1", "b-1"]


def test_folders_that_nobody_knows_are_left_alone(history: ProjectHistory) -> None:
    """Somebody's own table in the warehouse is told, and stays."""
    history.world.tables.create("a", "by-hand")
    assert [t.version for t in look(history).unknown] == ["by-hand"]
    run(history)
    assert "by-hand" in there(history)


def test_nothing_can_be_pointed_at_what_goes(history: ProjectHistory) -> None:
    """A rollback is refused while the janitor deletes, and afterwards, with the reason; prod shows what it showed."""
    before, refused = history.prod, list[str]()

    def meanwhile(model: str, version: str) -> None:
        if not refused:
            assert history.back(at_once=True).moved is None
            environments = history.world.control.environments
            for seen in (found.environment, environments.read("prod")):
                with pytest.raises(PromotionError) as error:
                    environments.flip(seen, found.pointers, release="r", at=NOW)
                refused.append(str(error.value))

    found, _ = history.look()
    history.world.tables.before_remove = meanwhile
    run(history)
    assert len(refused) == 2 and all("the janitor removes it" in text for text in refused)
    with pytest.raises(PromotionError, match="cannot show a a-1"):
        history.world.control.environments.flip(found.environment, found.pointers, release="r", at=NOW)
    ended = history.back(at_once=True)
    assert ended.moved is None and "the janitor has removed a-1" in str(ended.obstacles[0])
    assert history.prod.pointers == before.pointers


def test_whoever_points_first_keeps_the_table(history: ProjectHistory) -> None:
    """A rollback between the janitor's look and its condemnation: the janitor looks again."""
    found = look(history)
    history.back()
    with pytest.raises(ConflictError):
        history.world.control.removals.mark_for_deletion({("a", "a-1"): ("", 1)}, revision=found.revision, by="eva")
    run(history)
    assert everything_shown_is_readable(history) and {"a-1", "b-1"} <= there(history)


def test_somebody_points_while_the_janitor_looks(history: ProjectHistory) -> None:
    """After it knew what is needed, and before it marked: it looks again, and nothing is marked in between."""
    tables = history.world.tables
    looks: list[int] = []

    def meanwhile() -> list[StoredTable]:
        looks.append(len(looks))
        if len(looks) == 1:
            history.back()
        return type(tables).tables(tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "tables", meanwhile)
        swept = run(history)
    assert len(looks) == 2 and not swept.unmarked
    assert everything_shown_is_readable(history) and {"a-1", "b-1"} <= there(history)


def test_a_build_that_comes_second_is_refused(history: ProjectHistory) -> None:
    """The janitor is deleting: nothing is written into that folder, and the next run builds the table anew."""
    history.change()
    outcomes = list[Outcome]()
    history.world.tables.before_remove = lambda m, v: outcomes.append(build(history.world.bench(), m, days_of(history)))
    history.now += timedelta(days=1)
    run(history)
    assert [o.ok for o in outcomes] == [False, False]
    assert "is being removed" in outcomes[0].failures[0].error
    assert there(history) == {"a-2", "b-2", "c-1"}
    history.world.tables.before_remove = lambda m, v: None
    history.release()
    assert str(history.prod.pointers["a"].covers) == "2024-01-01..2024-01-11"
    assert history.prod.pointers["a"].version == "a-1" and everything_shown_is_readable(history)


def test_a_build_that_comes_first_keeps_its_table(history: ProjectHistory) -> None:
    """A batch runs: the janitor leaves its table, whatever its age."""
    history.change()
    history.now += timedelta(days=1)
    swept: list[Cleanup] = []

    def meanwhile(job: Job, interval: Interval) -> None:
        if not swept:
            swept.append(run(history))

    history.world.engine.before_write = meanwhile
    outcome = build(history.world.bench(), "a", days_of(history))
    assert outcome.ok, outcome.failures
    assert "a-1" in there(history)
    assert "a-1" not in {r.version for r in swept[0].removed}


def test_a_build_between_condemnation_and_deletion(history: ProjectHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wrote down that it begins before the janitor looked again: the table is pardoned."""
    mark_for_deletion = Removals.mark_for_deletion

    def slow(self: Removals, *args: object, **named: object) -> object:
        done = mark_for_deletion(self, *args, **named)  # type: ignore[arg-type]
        started = Entry(kind=Kind.STARTED, model="a", version="a-1", interval=days("20"), batch="x", at=after(0))
        history.world.control.ledger.append([started])
        return done

    monkeypatch.setattr(Removals, "mark_for_deletion", slow)
    done = run(history)
    assert [r.version for r in done.unmarked] == ["a-1"] and [r.version for r in done.removed] == ["b-1"]
    assert history.world.control.environments.read("prod").marked_for_deletion == frozenset()


def test_a_removal_while_a_build_looks(history: ProjectHistory) -> None:
    """The table goes between a build's first look and its first batch: it does not write into what is not there."""
    history.change()
    history.now += timedelta(days=1)
    history.world.engine.before_prepare = lambda job: run(history)
    outcome = build(history.world.bench(), "a", days_of(history))
    assert not outcome.ok and "is being removed" in outcome.failures[0].error
    assert history.world.tables.commits("a", "a-1") == []


def steps() -> int:
    history, life = a_year_later(), Life()
    run(history, control=Control.over(MortalStore(history.world.store, life)))
    return life.steps


def a_year_later() -> ProjectHistory:
    history = ProjectHistory()
    history.release()
    history.change(a="2", b="2")
    history.release()
    return history


@pytest.mark.parametrize("crash", range(8))
def test_killed_anywhere_the_next_one_finishes(crash: int) -> None:
    """Before or after any record, and between records: what is shown is whole; then all that could go is gone."""
    assert steps() >= 6
    history = a_year_later()
    life = Life(crash)
    history.world.tables.before_remove = lambda m, v: life.step()
    try:
        run(history, control=Control.over(MortalStore(history.world.store, life)))
    except Crash:
        assert everything_shown_is_readable(history)
    history.world.tables.before_remove = lambda m, v: None
    run(history)
    assert there(history) == {"a-2", "b-2", "c-1"} and everything_shown_is_readable(history)
    assert all(r.done for r in history.world.control.removals.all().values())
    assert history.prod.marked_for_deletion == frozenset()


def test_another_janitor_at_work_is_left_alone(history: ProjectHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a living process is deleting is its own; after a day it is taken over."""
    found = look(history)
    doomed = {("a", "a-1"): ("", 1)}
    monkeypatch.setattr("backfill_assets.state.removals.socket.gethostname", lambda: "elsewhere")
    [begun] = history.world.control.removals.mark_for_deletion(doomed, revision=found.revision, by="x")
    monkeypatch.undo()
    assert look(history).unfinished == () and "a-1" not in goes(history)
    assert not begun.owned(now=after(2)) and begun.owned(now=after(0.5))
