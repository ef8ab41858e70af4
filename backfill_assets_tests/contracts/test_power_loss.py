"""What a loss of power leaves, at any moment: what was acknowledged is there, and what is damaged is refused.

On real Delta tables, written by delta-rs; `power.py` takes away what was not synced.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from backfill_assets.adapters.control_delta import DeltaControlTable
from backfill_assets.adapters.durable import sync_commits
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.log_entry import flaw
from backfill_assets.adapters.log_folder import LOG, check_log, entry_name
from backfill_assets.adapters.table_log import DeltaTableLog, open_table
from backfill_assets.adapters.warehouse import open_store
from backfill_assets.core.errors import StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.settings import Settings
from backfill_assets.promote.promote import promote
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Promotion
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.store import Row, TableSpec
from backfill_assets.state.versions import table_path
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import Cell, a_pointer, days
from backfill_assets_tests.power import watched

BOTH = pytest.mark.parametrize("empty", [False, True], ids=["names gone", "names empty"])
A1, A2 = (a_pointer("a", v, days("01", "05")) for v in ("a-1", "a-2"))


def opened(warehouse: Path) -> Control:
    """The records of a warehouse, as every command opens them."""
    settings = Settings(name="tests", warehouse=str(warehouse))
    return Control.over(open_store(settings, warehouse.parent / f"{warehouse.name}-project", remember=False))


def shown(warehouse: Path) -> dict[str, Pointer]:
    return dict(opened(warehouse).environments.read("prod").pointers)


def test_what_is_not_synced_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The imitation takes away what delta-rs writes by itself: without our syncing, these tests would fail."""
    with watched(tmp_path, monkeypatch) as disk:
        tables = DeltaTables(str(tmp_path / "warehouse"))
        tables.create("a", "a-1")
        assert not list(disk.crash(tmp_path.parent / "gone", empty=False).rglob("*"))
        left = disk.crash(tmp_path.parent / "empty", empty=True)
        assert {f.stat().st_size for f in left.rglob("*") if f.is_file()} == {0}


@BOTH
def test_a_promotion_that_returned_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: bool) -> None:
    """Ledger, pointers and packet files, the moment after each of them is acknowledged."""
    warehouse, crashed = tmp_path / "warehouse", tmp_path.parent / f"{tmp_path.name}-crashed"
    warehouse.mkdir()
    with watched(warehouse, monkeypatch) as disk:
        control = opened(warehouse)
        promote(control.environments, control.environments.read("prod"), [A1], None)
        assert shown(disk.crash(crashed, empty=empty)) == {"a": A1}
        promote(control.environments, control.environments.read("prod"), [A2], None)
        assert shown(disk.crash(crashed, empty=empty)) == {"a": A2}
        for number in range(12):
            entry = Entry(kind=Kind.BUILT, model="a", version="a-2", interval=days("01"), batch=f"b{number}",
                          table_commit=number, at=datetime.now(UTC))  # fmt: skip
            control.ledger.append([entry])
            left = opened(disk.crash(crashed, empty=empty)).ledger.entries()
            assert [e.batch for e in left] == [f"b{n}" for n in range(number + 1)]
        control.compact()
        assert len(opened(disk.crash(crashed, empty=empty)).ledger.entries()) == 12
        ArrowFolder(f"{warehouse}/evidence/p1").write("packet.json", b"{}")
        assert ArrowFolder(f"{disk.crash(crashed, empty=empty)}/evidence/p1").read("packet.json") == b"{}"


@BOTH
def test_at_every_moment_of_a_promotion_it_happened_or_not_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: bool
) -> None:
    """Power is lost at each single sync: what is found shows the old release or the new one, or says that it is
    damaged; it never shows anything else."""
    warehouse, crashed = tmp_path / "warehouse", tmp_path.parent / f"{tmp_path.name}-crashed"
    warehouse.mkdir()
    found: list[object] = []

    def look() -> None:
        try:
            found.append(shown(disk.crash(crashed, empty=empty)))
        except StateError as error:
            found.append(error.what)

    with watched(warehouse, monkeypatch) as disk:
        control = opened(warehouse)
        promote(control.environments, control.environments.read("prod"), [A1], None)
        disk.after = look
        promote(control.environments, control.environments.read("prod"), [A2], None)
    states = [f for f in found if isinstance(f, dict)]
    assert states and all(s in ({"a": A1}, {"a": A2}) for s in states)
    assert found[-1] == {"a": A2}
    assert all("damaged" in f or "cannot be read" in f for f in found if isinstance(f, str)), found
    assert empty or len(states) == len(found), "names that are not there yet damage nothing"


@BOTH
def test_a_batch_that_the_ledger_may_name_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: bool) -> None:
    """Once a commit is synced, its rows are there after a crash; also when an earlier one of somebody else was not."""
    warehouse, crashed = tmp_path / "warehouse", tmp_path.parent / f"{tmp_path.name}-crashed"
    warehouse.mkdir()
    with watched(warehouse, monkeypatch) as disk:
        tables = DeltaTables(str(warehouse))
        tables.create("a", "a-1")
        for number, day in enumerate(("01", "02", "03", "04")):
            commit = tables.write("a", "a-1", f"b{number}", days(day), {days(day).start: Cell(rows=3, failures={})})
            if number % 2:  # the others belong to a writer that dies before it syncs
                sync_commits(table_path(str(warehouse), "a", "a-1"), [commit.table_commit])
                left = DeltaTableLog(str(disk.crash(crashed, empty=empty)))
                assert left.rows("a", "a-1", commit.table_commit)[days(day).start] == 3
                table = open_table(table_path(str(crashed), "a", "a-1"), commit.table_commit)
                assert table is not None
                parts = [f for f in table.file_uris() if f"ds={days(day).start.date()}" in f]
                assert parts and all(Path(p).stat().st_size for p in parts)


def a_table(warehouse: Path, commits: int = 6) -> str:
    """A version's table with a day a commit; its folder."""
    tables = DeltaTables(str(warehouse))
    tables.create("a", "a-1")
    for number in range(commits):
        day = days(f"{number + 1:02}")
        tables.write("a", "a-1", f"b{number}", day, {day.start: Cell(rows=3, failures={})})
    return table_path(str(warehouse), "a", "a-1")


def entry(location: str, number: int) -> Path:
    return Path(location, LOG, entry_name(number))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def zeros(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def empty_it(path: Path) -> None:
    path.write_bytes(b"")


def blanks(path: Path) -> None:
    path.write_bytes(b" \n")


def nothing_done(path: Path) -> None:
    path.write_bytes(b"{}\n")


def first_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])


def last_line(path: Path) -> None:
    """All but it is left."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


CUTS = [empty_it, cut, zeros, blanks, nothing_done, first_line, last_line]


@pytest.mark.parametrize("damage", CUTS)
def test_a_damaged_newest_entry_is_refused_by_every_reader(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """Planning's look, opening, counting rows: none takes the table for one with fewer rows; older commits can be
    read."""
    location = a_table(tmp_path)
    damage(entry(location, 6))
    log = DeltaTableLog(str(tmp_path))
    for look in (
        lambda: log.head("a", "a-1"),
        lambda: log.commits("a", "a-1"),
        lambda: log.rows("a", "a-1", 6),
        lambda: open_table(location),
    ):
        with pytest.raises(StateError, match="is damaged; nothing is read from it"):
            look()
    assert sum(log.rows("a", "a-1", 5).values()) == 15


def test_a_hole_and_an_empty_entry_in_the_middle_are_refused(tmp_path: Path) -> None:
    """What lies before them is still there."""
    location = a_table(tmp_path)
    empty_it(entry(location, 3))
    log = DeltaTableLog(str(tmp_path))
    with pytest.raises(StateError) as refused:
        log.head("a", "a-1")
    assert refused.value.why == f"{entry_name(3)} is empty"
    entry(location, 3).unlink()
    with pytest.raises(StateError) as refused:
        log.rows("a", "a-1", 5)
    assert refused.value.why == f"{entry_name(3)} is missing"
    assert sum(log.rows("a", "a-1", 2).values()) == 6


@pytest.mark.parametrize("damage", CUTS)
def test_a_damaged_older_entry_is_refused_by_who_opens_it(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """Also when it was looked at before, in the same process."""
    location = a_table(tmp_path)
    log = DeltaTableLog(str(tmp_path))
    assert sum(log.rows("a", "a-1", 6).values()) == 18
    damage(entry(location, 3))
    for look in (lambda: log.commits("a", "a-1"), lambda: log.rows("a", "a-1", 6), lambda: open_table(location)):
        with pytest.raises(StateError, match="is damaged; nothing is read from it"):
            look()
    assert sum(log.rows("a", "a-1", 2).values()) == 6


def test_every_kind_of_commit_that_is_whole_can_be_read_and_no_line_of_it_can_be_lost(tmp_path: Path) -> None:
    """What control tables go through: made, written, a column of a later release, replaced, joined."""
    spec = TableSpec(name="notes", columns={"model": "text", "at": "int"}, partition="model")
    later = replace(spec, columns=dict(spec.columns) | {"why": "text"})
    table = DeltaControlTable(str(tmp_path), spec)
    table.append([{"model": "a", "at": 1}, {"model": "b", "at": 2}])
    table = DeltaControlTable(str(tmp_path), later)
    for number in range(3):
        table.append([{"model": "a", "at": number, "why": "w"}])
    rows: list[Row] = [{"model": "a", "at": 7, "why": "x"}, {"model": "a", "at": 8, "why": "y"}]
    table.replace(rows, where={"model": ["a"]}, revision=table.revision(), note={})
    for number in range(3):
        table.append([{"model": "b", "at": number, "why": "w"}])
    table.compact(most_files=1)
    found = table.read()
    info = [json.loads(first.read_text().splitlines()[0]) for first in sorted(Path(tmp_path, LOG).glob("*.json"))]
    done = [one["commitInfo"]["operation"] for one in info]
    assert set(done) == {"CREATE TABLE", "WRITE", "ADD COLUMN"} and len(DeltaTable(tmp_path).file_uris()) == 2
    for number, operation in enumerate(done):
        path = entry(str(tmp_path), number)
        lines = path.read_text().splitlines(keepends=True)
        for kept in range(len(lines)):
            path.write_text("".join(lines[:kept]))
            with pytest.raises(StateError, match="is damaged"):
                DeltaControlTable(str(tmp_path), later).read()
        for lost in range(1, len(lines)):
            path.write_text("".join(lines[:lost] + lines[lost + 1 :]))
            with pytest.raises(StateError, match="is damaged"):
                DeltaControlTable(str(tmp_path), later).read()
        path.write_text("".join(lines))
        assert len(lines) > 1 and DeltaControlTable(str(tmp_path), later).read() == found, operation


def test_files_of_changed_rows_count_as_added(tmp_path: Path) -> None:
    """delta-rs counts them so where a table has a change data feed: none of its lines is missing, and none may be."""
    location = str(tmp_path)
    rows = pa.table({"id": pa.array(range(10)), "day": ["1", "2"] * 5})
    write_deltalake(location, rows, partition_by=["day"], configuration={"delta.enableChangeDataFeed": "true"})
    write_deltalake(location, rows.slice(0, 4), mode="overwrite", predicate="id < 4")
    lines = entry(location, 1).read_bytes().splitlines(keepends=True)
    assert any(line.startswith(b'{"cdc"') for line in lines)
    assert check_log(location) == 1
    for lost in range(1, len(lines)):
        entry(location, 1).write_bytes(b"".join(lines[:lost] + lines[lost + 1 :]))
        with pytest.raises(StateError, match="lost lines"):
            check_log(location)


INFO = b'{"commitInfo":{"operation":"WRITE","operationMetrics":{"numFiles":1,"numOutputRows":3}}}\n'


@pytest.mark.parametrize(
    "content",
    [
        INFO + b'{"add":{}}\n\n \r\n',
        INFO + b'{ "add": {"path":"x"}}',
        INFO + b'{"remove":null,"add":{"path":"x"}}',
        b'{"commitInfo":{"operation":"WRITE","operationMetrics":"{}"}}',
        b'{"commitInfo":"none"}',
        INFO.replace(b":1,", b":2,") + b'{"add":{"stats":"{\\"numRecords\\":3}"}}\n{"add":{"stats":"null"}}',
        INFO.replace(b":1,", b":3,") + b'{"add":{"stats":"{\\"numRecords\\":3}"}}\n{ "add":{"stats":"null"}}\n5',
    ],
    ids=["blank lines", "a space", "not first", "metrics as text", "no object", "no statistics", "files without rows"],
)
def test_entries_that_other_writers_write_are_whole(content: bytes) -> None:
    """What the protocol allows, or says nothing of, is not taken for damage."""
    assert flaw(content, 1) == ""


def test_what_they_lose_is_lost() -> None:
    assert flaw(INFO + b'{ "remove": {"path":"x"}}', 1) == "lost lines: it names 0 of 1 files that it added"
    unknown = INFO.replace(b":1,", b":2,") + b'{"add":{"path":"x","stats":"null"}}'
    assert flaw(unknown, 1) == "lost lines: it names 1 of 2 files that it added"


@pytest.mark.parametrize("newest", [True, False])
def test_a_release_whose_entry_lost_lines_is_no_new_environment(tmp_path: Path, newest: bool) -> None:
    """Its name alone is left in the log: nobody takes prod for one that has never shown anything."""
    control = opened(tmp_path)
    promote(control.environments, control.environments.read("prod"), [A1], None)
    location = str(tmp_path / "_control" / "environments")
    release = DeltaTable(location).version()
    if not newest:
        promote(control.environments, control.environments.read("test"), [A1], None)
    first_line(entry(location, release))
    with pytest.raises(StateError, match="environments is damaged"):
        opened(tmp_path)


def test_a_noted_release_is_one_that_its_entry_adds(tmp_path: Path) -> None:
    """Behind a checkpoint nobody reads the entry; it is compared with the note all the same."""
    control = opened(tmp_path)
    promote(control.environments, control.environments.read("prod"), [A1], None)
    location = str(tmp_path / "_control" / "environments")
    DeltaTable(location).create_checkpoint()
    release = DeltaTable(location).version()
    control.environments.open(control.environments.read("prod"), Promotion(
        release="r", models=(), opened=datetime.now(UTC), host="h", pid=1))  # fmt: skip
    first_line(entry(location, release))
    with pytest.raises(StateError, match="are lost, or older than they were"):
        opened(tmp_path)


def test_a_commit_that_the_log_does_not_reach_is_refused(tmp_path: Path) -> None:
    """A pointer may name a commit whose entry was lost."""
    location = a_table(tmp_path)
    entry(location, 6).unlink()
    with pytest.raises(StateError, match="is damaged"):
        open_table(location, 6)
    assert DeltaTableLog(str(tmp_path)).head("a", "a-1") == 5


@pytest.mark.parametrize("damage", [empty_it, cut, Path.unlink])
def test_a_damaged_checkpoint_is_refused_or_done_without(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """Every row is there, or nothing is read; entries that only a whole checkpoint stands for may be gone."""
    location = a_table(tmp_path)
    DeltaTable(location).create_checkpoint()
    checkpoint = next(Path(location, LOG).glob("*.checkpoint.parquet"))
    entry(location, 2).unlink()
    log = DeltaTableLog(str(tmp_path))
    assert log.head("a", "a-1") == 6 and sum(log.rows("a", "a-1", 6).values()) == 18
    damage(checkpoint)
    with pytest.raises(StateError, match="damaged"):
        log.rows("a", "a-1", 6)


def test_a_missing_part_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    """Spark writes big checkpoints in parts: without one of them the others stand for nothing."""
    location = a_table(tmp_path)
    DeltaTable(location).create_checkpoint()
    checkpoint = next(Path(location, LOG).glob("*.checkpoint.parquet"))
    checkpoint.rename(checkpoint.with_name(f"{6:020}.checkpoint.0000000001.0000000002.parquet"))
    assert check_log(location) == 6, "every entry is still there"
    entry(location, 2).unlink()
    with pytest.raises(StateError, match="damaged"):
        check_log(location)


def test_an_entry_that_is_written_during_the_look_is_no_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing that shows a newer entry without an older one is taken again."""
    from backfill_assets.adapters import log_folder

    location, real, looks = a_table(tmp_path), log_folder.read_log, [0]

    def first_without(where: str, *_: object) -> log_folder.LogFolder:
        found, looks[0] = real(where), looks[0] + 1
        entries = log_folder.Entries(f"{where}/_delta_log", frozenset({*found.entries} - {4}))
        return replace(found, entries=entries) if looks[0] == 1 else found

    monkeypatch.setattr(log_folder, "read_log", first_without)
    assert check_log(location) == 6
    assert looks[0] == 2


@pytest.mark.parametrize("damage", [empty_it, cut, zeros, Path.unlink])
def test_damaged_files_of_control_tables_are_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """A log entry or a data file: StateError, which names the table."""
    control = opened(tmp_path)
    for pointer in (A1, A2):
        promote(control.environments, control.environments.read("prod"), [pointer], None)
    folder = tmp_path / "_control" / "environments"
    data = next(Path(f) for f in DeltaTable(folder).file_uris() if "environment=prod/" in f)
    damage(data)
    with pytest.raises(StateError, match="environments cannot be read"):
        control.environments.read("prod")
