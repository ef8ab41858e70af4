"""A table that gets rows for ever stays small and loses none: beside other writers, and with a lost checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from backfill_assets.adapters import backup as backup_module
from backfill_assets.adapters import control_delta, growing_table
from backfill_assets.adapters.control_delta import KEEP_FOR_EVER, DeltaControlTable, DeltaStore
from backfill_assets.adapters.growing_table import PROPERTIES, join_files, joinable
from backfill_assets.adapters.log_folder import LOG, entry_name
from backfill_assets.core.errors import StateError
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import LEDGER, Entry, Kind
from backfill_assets.state.results import RESULTS
from backfill_assets.state.store import ControlTable, TableSpec
from backfill_assets_tests.contracts.test_identity import A1, A2, House
from backfill_assets_tests.fakes import days
from backfill_assets_tests.memory_store import MemoryStore

SPEC = TableSpec(name="events", columns={"key": "text", "number": "int"}, sequence="number", grows=True)

KEPT = TableSpec(name="kept", columns={"key": "text", "number": "int", "home": "text"}, partition="home")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What takes hundreds of commits and an hour takes a few, and no time."""
    monkeypatch.setattr(control_delta, "JOIN_EVERY", 5)
    for kept in ("_KEEP", "_KEEP_LOG"):
        monkeypatch.setattr(growing_table, kept, timedelta(0))
    monkeypatch.setattr(growing_table, "PROPERTIES", {**PROPERTIES, "delta.checkpointInterval": "7"})
    monkeypatch.setattr(control_delta, "PROPERTIES", {**PROPERTIES, "delta.checkpointInterval": "7"})
    yield


def a_table(folder: Path) -> DeltaControlTable:
    table = DeltaStore(str(folder)).table(SPEC)
    assert isinstance(table, DeltaControlTable)
    return table


def add(table: DeltaControlTable, first: int, last: int) -> None:
    for number in range(first, last):
        table.append([{"key": f"{number:04}", "number": 0}])


def in_order(table: DeltaControlTable) -> list[str]:
    rows = sorted(table.read(), key=lambda row: int(str(row["number"])))
    assert len({row["number"] for row in rows}) == len(rows)
    return [str(row["key"]) for row in rows]


def test_what_grows() -> None:
    """Batches and audits write these all the time. Of no other table is anything removed."""
    store = MemoryStore()
    Control.over(store)
    assert {name for name, table in store.tables.items() if table.spec.grows} == {LEDGER.name, RESULTS.name}


@pytest.mark.usefixtures("at_once")
def test_it_stays_small(tmp_path: Path) -> None:
    """However many rows are appended, the folder holds as many files; every row is there, in the order of commits."""
    table, sizes = a_table(tmp_path), list[int]()
    for begin in range(0, 120, 30):
        add(table, begin, begin + 30)
        sizes.append(sum(1 for _ in tmp_path.rglob("*.*")))
        assert in_order(table) == [f"{n:04}" for n in range(begin + 30)]
    assert max(sizes) < 60
    assert in_order(a_table(tmp_path)) == [f"{n:04}" for n in range(120)]


@pytest.mark.usefixtures("at_once")
def test_nothing_is_lost_beside_other_writers(tmp_path: Path) -> None:
    """Threads with tables of their own append while others join and remove."""
    add(a_table(tmp_path), 0, 1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda w: add(a_table(tmp_path), w * 20, w * 20 + 20), range(1, 5)))
    assert sorted(in_order(a_table(tmp_path))) == ["0000", *(f"{n:04}" for n in range(20, 100))]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("lost", [1, 2])
def test_the_newest_checkpoints_may_be_lost(tmp_path: Path, lost: int) -> None:
    """A disk that loses the newest checkpoints leaves those before them, and every entry since."""
    add(a_table(tmp_path), 0, 70)
    log = tmp_path / "_control" / "events" / "_delta_log"
    checkpoints = sorted(log.glob("*.checkpoint.parquet"))
    assert len(checkpoints) >= 3
    assert not (log / f"{0:020}.json").exists()
    for file in checkpoints[-lost:]:
        file.unlink()
    (log / "_last_checkpoint").unlink()
    assert in_order(a_table(tmp_path)) == [f"{n:04}" for n in range(70)]


def test_nothing_is_removed_within_an_hour(tmp_path: Path) -> None:
    """Who reads a state of the table, or copies it, does so from the files that were there."""
    table = a_table(tmp_path)
    add(table, 0, 30)
    before = {file for file in tmp_path.rglob("*") if file.is_file() and file.name != "_last_checkpoint"}
    table.compact(0)
    assert before <= set(tmp_path.rglob("*"))
    assert len(DeltaTable(tmp_path / "_control" / "events").file_uris()) == 1


def test_a_table_of_an_earlier_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made to keep everything for ten years: it is told otherwise, once."""
    with monkeypatch.context() as earlier:
        earlier.setattr(control_delta, "PROPERTIES", {})
        add(a_table(tmp_path), 0, 3)
    place = tmp_path / "_control" / "events"
    assert DeltaTable(place).metadata().configuration == KEEP_FOR_EVER
    a_table(tmp_path).compact()
    found = DeltaTable(place).metadata().configuration
    assert found == {**KEEP_FOR_EVER, **PROPERTIES}
    assert in_order(a_table(tmp_path)) == ["0000", "0001", "0002"]


@pytest.mark.usefixtures("at_once")
def test_a_backup_beside_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While tables are copied for hours, others append, and the log of what was copied first goes."""
    house = House(tmp_path)
    house.promote(A1, A2)
    reached, ledger = backup_module._reached, house.open().ledger
    first = house.warehouse / "_control" / "ledger" / "_delta_log" / f"{0:020}.json"
    ledger.append([an_entry(1)])

    def later(source: Path, target: Path) -> list[str]:
        for number in range(2, 50):
            ledger.append([an_entry(number)])
        assert not first.exists()
        return reached(source, target)

    monkeypatch.setattr(backup_module, "_reached", later)
    monkeypatch.setattr(backup_module, "missing_data", lambda *_, **__: [])  # pointers of this house show nothing
    made = backup_module.backup(str(house.warehouse), tmp_path / "copy", data=True)
    assert backup_module.read_backup(tmp_path / "copy") == made
    assert [e.table_commit for e in Control.over(DeltaStore(str(tmp_path / "copy"))).ledger.entries()] == [1]


def an_entry(commit: int) -> Entry:
    at = datetime.now(UTC)
    return Entry(kind=Kind.BUILT, model="a", version="a-1", interval=days("01"), table_commit=commit, batch="b", at=at)


def test_it_is_opened_again_after_any_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads a table that nobody wrote to does not read its log again: whoever writes is seen, and so is damage."""
    table, other, opened = a_table(tmp_path), a_table(tmp_path), list[str]()
    open_table = control_delta.open_table

    def counted(location: str) -> DeltaTable | None:
        opened.append(location)
        return open_table(location)

    add(other, 0, 3)
    monkeypatch.setattr(control_delta, "open_table", counted)
    assert in_order(table) == in_order(table) == ["0000", "0001", "0002"] and table.revision() == 3
    assert len(opened) == 1
    add(other, 3, 4)
    assert in_order(table) == ["0000", "0001", "0002", "0003"]
    log = tmp_path / "_control" / "events" / LOG
    for number in (2, 4):
        file = log / entry_name(number)
        whole = file.read_bytes()
        file.write_bytes(b"")
        with pytest.raises(StateError, match="is damaged"):
            table.read()
        file.write_bytes(whole)
        assert len(in_order(table)) == 4
    (log / entry_name(4)).rename(tmp_path / "aside")
    assert in_order(table) == ["0000", "0001", "0002"]
    shutil.rmtree(log)
    assert table.read() == []


@pytest.mark.parametrize("spec", [SPEC, KEPT], ids=lambda spec: spec.name)
def test_two_join_the_same_files(tmp_path: Path, spec: TableSpec) -> None:
    """Of two at once one does: delta-rs committed both, and every row was there twice."""
    place = DeltaStore(str(tmp_path)).table(spec)
    for number in range(10):
        place.append([{"key": f"k{number}", "number": 0, "home": "x"}])
    before = rows(place)
    seen = [DeltaTable(tmp_path / "_control" / spec.name) for _ in range(2)]
    found = [joinable(table, spec) for table in seen]
    join_files(seen[0], found[0])
    with pytest.raises(CommitFailedError):
        join_files(seen[1], found[1])
    assert rows(place) == before


@pytest.mark.parametrize("spec", [SPEC, KEPT], ids=lambda spec: spec.name)
def test_threads_that_tidy_at_once_change_no_row(tmp_path: Path, spec: TableSpec) -> None:
    """Beside somebody who appends: nothing is lost, nothing is there twice, and few files are left."""
    place = DeltaStore(str(tmp_path)).table(spec)
    for number in range(10):
        place.append([{"key": f"k{number}", "number": 0, "home": "x"}])
    gate = Barrier(4)

    def work(number: int) -> None:
        own = DeltaStore(str(tmp_path)).table(spec)
        gate.wait()
        for step in range(4):
            if number:
                own.compact(1)
            else:
                own.append([{"key": f"late{step}", "number": 0, "home": "x"}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    wanted = sorted([*(f"k{n}" for n in range(10)), *(f"late{n}" for n in range(4))])
    assert sorted(str(row["key"]) for row in place.read()) == wanted
    place.compact(1)
    assert sorted(str(row["key"]) for row in place.read()) == wanted
    assert len(DeltaTable(tmp_path / "_control" / spec.name).file_uris()) == 1


def rows(table: ControlTable) -> list[tuple[object, object]]:
    return sorted((row["key"], row["number"]) for row in table.read())  # type: ignore[type-var]


def test_large_files_are_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what came before them: rows of a ledger are joined once or twice, not with each that comes."""
    monkeypatch.setattr(growing_table, "_SEALED", 3_000)
    place = DeltaStore(str(tmp_path)).table(SPEC)
    place.append([{"key": f"{n:032x}"[::-1], "number": 0} for n in range(500)])
    large = set(DeltaTable(tmp_path / "_control" / SPEC.name).file_uris())
    for number in range(4):
        place.append([{"key": f"k{number}", "number": 0, "home": "x"}])
    before = rows(place)
    place.compact(1)
    after = set(DeltaTable(tmp_path / "_control" / SPEC.name).file_uris())
    assert large < after and len(after) == len(large) + 1 and rows(place) == before


def test_partitions_of_one_file_are_left(tmp_path: Path) -> None:
    """There may be a thousand, one an environment: nothing of these can be joined."""
    place = DeltaStore(str(tmp_path)).table(KEPT)
    for home in "1233":
        place.append([{"key": "a", "number": 0, "home": home}])
    where, before = tmp_path / "_control" / KEPT.name, rows(place)
    left = {uri for uri in DeltaTable(where).file_uris() if "home=3" not in uri}
    place.compact(1)
    after = set(DeltaTable(where).file_uris())
    assert left < after and len(after) == 3 and rows(place) == before
    place.compact(1)
    assert set(DeltaTable(where).file_uris()) == after
