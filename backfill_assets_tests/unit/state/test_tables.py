"""What a version's table amounts to, when its log and the ledger are held against each other."""

from __future__ import annotations

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Interval
from backfill_assets.state.ledger import Coverage, Dirt, Entry, Kind
from backfill_assets.state.tables import OneLook, compare_log, version_coverage
from backfill_assets_tests.fakes import Cell, FakeTables, World, a_model, days, ranges
from backfill_assets_tests.unit.state.test_ledger import AUDITS, built, entry


@pytest.fixture
def tables() -> FakeTables:
    made = FakeTables()
    made.create("m", "v")
    return made


def write(tables: FakeTables, batch: str, interval: Interval) -> list[Entry]:
    """Commit a batch; the entries that should follow."""
    commit = tables.write("m", "v", batch, interval, {interval.start: Cell()})
    return built(interval, commit.table_commit, batch)


def dirt(entries: list[Entry], tables: FakeTables) -> list[Dirt]:
    """The data commits that no BUILT entry speaks for."""
    return compare_log(entries, tables, "m", "v", tables.head("m", "v"))[1]


def look(entries: list[Entry], tables: FakeTables) -> tuple[Coverage, int]:
    return version_coverage(entries, tables, model="m", version="v", audits=AUDITS)


def test_a_recorded_table_is_clean(tables: FakeTables) -> None:
    """Every data commit has its entry: no dirt, and the log need not be read commit by commit."""
    entries = [*write(tables, "a", days("01")), *write(tables, "b", days("02"))]
    assert dirt(entries, tables) == []
    tables.commits = None  # type: ignore[method-assign,assignment]
    assert dirt(entries, tables) == []


def test_a_commit_without_an_entry_is_dirt(tables: FakeTables) -> None:
    """Who died between the commit and the ledger left rows that nobody vouches for; only they count as missing."""
    entries = write(tables, "a", days("01", "03"))
    write(tables, "dead", days("02"))
    assert dirt(entries, tables) == [Dirt(table_commit=2, interval=days("02"), batch="dead")]
    found, head = look(entries, tables)
    assert (str(found.green), head) == ("2024-01-01, 2024-01-03", 2)
    entries += write(tables, "c", days("02"))
    assert str(look(entries, tables)[0].green) == "2024-01-01..2024-01-03"


def test_a_foreign_commit_is_dirt_everywhere(tables: FakeTables) -> None:
    """Somebody wrote into a version's table by hand: nothing older can be trusted."""
    entries = write(tables, "a", days("01", "03"))
    tables.foreign("m", "v")
    assert dirt(entries, tables) == [Dirt(table_commit=2, interval=None)]
    entries += write(tables, "b", days("05"))
    assert str(look(entries, tables)[0].green) == "2024-01-05"


def test_compaction_is_no_dirt(tables: FakeTables) -> None:
    """Commits that change no rows need no entry; and they hide no dirt either."""
    entries = write(tables, "a", days("01"))
    tables.optimize("m", "v")
    assert dirt(entries, tables) == []
    assert look(entries, tables)[1] == 2
    write(tables, "dead", days("01"))
    assert str(look(entries, tables)[0].green) == "nothing"


def test_started_alone_does_not_vouch(tables: FakeTables) -> None:
    """A batch that was begun and killed after its commit is dirt: only BUILT speaks for a commit."""
    tables.write("m", "v", "a", days("01"), {})
    started = entry(Kind.STARTED, days("01"), -1, "a")
    assert [d.batch for d in dirt([started], tables)] == ["a"]


def test_a_vanished_table_covers_nothing(tables: FakeTables) -> None:
    """Somebody deleted the folder: whatever the ledger says is built is missing; declared empties stay declared."""
    entries = [*write(tables, "a", days("01")), entry(Kind.EMPTY, days("05"), -1, minute=9)]
    tables.drop("m", "v")
    found, head = look(entries, tables)
    assert head == -1
    assert (str(found.built), str(found.empty)) == ("nothing", "2024-01-05")


def test_a_table_made_anew_does_not_inherit_the_old_ones_entries(tables: FakeTables) -> None:
    """After the folder was deleted and a build began again, only what is in the new table counts, although the new
    commits have the old ones' numbers."""
    old = [*write(tables, "a", days("01", "03")), *write(tables, "b", days("04", "06"))]
    tables.drop("m", "v")
    tables.create("m", "v")
    assert str(look(old, tables)[0].built) == "nothing"
    new = write(tables, "c", days("04", "06"))  # the other batch comes first this time
    assert str(look([*old, *new], tables)[0].green) == "2024-01-04..2024-01-06"


def test_entries_newer_than_the_table_was_seen_do_not_count(tables: FakeTables) -> None:
    """An entry for a commit beyond the head (a table restored from a backup) is about rows that are not there."""
    entries = [*write(tables, "a", days("01")), *built(days("02"), 5, "gone")]
    assert str(look(entries, tables)[0].green) == "2024-01-01"


def test_one_look_at_each_table(tables: FakeTables) -> None:
    """The newest commit is that of the first look, for each table; the rest is asked each time."""
    write(tables, "a", days("01"))
    log = OneLook(tables)
    assert (log.head("m", "v"), log.head("m", "other")) == (1, -1)
    write(tables, "b", days("02"))
    assert (log.head("m", "v"), OneLook(tables).head("m", "v")) == (1, 2)
    assert [c.batch for c in log.commits("m", "v")] == ["a", "b"]
    assert log.rows("m", "v", 2) == tables.rows("m", "v", 2)
    assert log.files("m", "v", 2) == tables.files("m", "v", 2)
    assert log.contents("m", "v", 2) == tables.contents("m", "v", 2)


def test_what_was_seen_is_handed_on() -> None:
    """Facts say which commit each table had when they were read; whoever looks by them asks no log for it again."""
    world = World(a_model("m"))
    apply(world.bench(), world.plan())
    facts, version = world.facts(), world.project.fingerprints["m"]
    world.tables.drop("m", version)
    look, head = facts.tables.look(world.tables), facts.tables.heads["m"]
    assert look.head("m", version) == head > 0 > world.tables.head("m", version)
    assert look.head("m", "another") == -1


def test_who_commits_between_two_looks_is_no_dirt_yet(tables: FakeTables) -> None:
    """What somebody else writes after the newest commit was looked up counts the next time: nothing of it is shown."""
    entries = [*write(tables, "a", days("01")), *write(tables, "b", days("02"))]
    log = OneLook(tables)
    assert log.head("m", "v") == 2
    tables.write("m", "v", "", days("01"), {days("01").start: Cell()})
    found, head = version_coverage(entries[:2], log, model="m", version="v", audits=AUDITS)
    assert (found.built, head) == (ranges(days("01")), 2)
    assert not version_coverage(entries, tables, model="m", version="v", audits=AUDITS)[0].built
