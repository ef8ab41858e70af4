"""What a TableStorage over Delta promises: each file is looked at; a killed deletion leaves an older table, or none."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from backfill_assets.adapters import table_storage
from backfill_assets.adapters.caches import old_cache_files, remove_cache_files
from backfill_assets.adapters.known_files import KnownFiles, all_there
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.files.no_access import NoAccessError
from backfill_assets.state.tables import Readable
from backfill_assets_tests.fakes import days

MODEL, VERSION = "orders", "abc"
DAYS = 5


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table of five days, three rows each, a commit a day; then the third day once more, with four."""
    folder = tmp_path / MODEL / VERSION
    for number in [*range(1, DAYS + 1), 3]:
        rows = 4 if folder.exists() and number == 3 and DeltaTable(folder).version() == DAYS - 1 else 3
        day = date(2024, 1, number)
        table = pa.table({"ds": [day] * rows, "id": list(range(rows))})
        predicate = {"predicate": f"ds = '{day}'"} if folder.exists() else {}
        write_deltalake(folder, table, partition_by=["ds"], mode="overwrite" if predicate else "error", **predicate)
    (tmp_path / "_control" / "ledger" / "_delta_log").mkdir(parents=True)
    (tmp_path / MODEL / "notes").mkdir()
    return tmp_path


def test_what_looks_like_a_table_is_found(place: Path) -> None:
    """Records and other folders are none; all of its files count, also those of older commits."""
    [found] = DeltaTableStorage(str(place)).tables()
    files = [f for f in (place / MODEL / VERSION).rglob("*") if f.is_file()]
    assert (found.model, found.version, found.files) == (MODEL, VERSION, len(files))
    assert found.bytes == sum(f.stat().st_size for f in files)
    assert DeltaTableStorage(str(place / "nowhere")).tables() == []


def test_files_are_those_of_the_commit_and_the_interval(place: Path) -> None:
    """An older commit has the older file of a day that was written again."""
    storage = DeltaTableStorage(str(place))
    assert [
        (found.files, found.rows, found.broken)
        for found in (storage.readable(MODEL, VERSION, c, days("02", "04")) for c in (DAYS - 1, DAYS))
    ] == [(3, 9, ()), (3, 10, ())]
    assert storage.readable(MODEL, VERSION, DAYS, days("20")).files == 0


def file_of(place: Path, day: str, commit: int) -> Path:
    table = DeltaTable(place / MODEL / VERSION, version=commit)
    [path] = [p for p in table.file_uris() if f"ds={day}" in p]
    return Path(path)


def test_each_kind_of_damage_is_told(place: Path) -> None:
    """Gone, shorter, not Parquet any more, or another file under the same name; other commits are as they were."""
    storage, file = DeltaTableStorage(str(place)), file_of(place, "2024-01-03", DAYS - 1)
    whole = file.read_bytes()

    def told() -> str:
        found = storage.readable(MODEL, VERSION, DAYS - 1, days("01", "05"))
        assert storage.readable(MODEL, VERSION, DAYS, days("01", "05")).broken == ()
        assert found.files == DAYS and len(found.broken) == 1
        return found.broken[0]

    file.unlink()
    assert told().endswith("is missing")
    file.write_bytes(whole[:-1])
    assert f"has {len(whole) - 1} bytes" in told()
    file.write_bytes(whole[:-4] + b"BUMM")
    assert "ds=2024-01-03" in told()
    pq.write_table(pa.table({"id": [1]}), file)
    small = file.read_bytes()
    file.write_bytes(b"PAR1" + b"\0" * (len(whole) - len(small)) + small[4:])
    assert "has 1 rows, not 3" in told() or "ds=2024-01-03" in told()
    file.write_bytes(whole)
    assert storage.readable(MODEL, VERSION, DAYS - 1, days("01", "05")).broken == ()


def test_damage_is_told_without_a_look_into_files(place: Path) -> None:
    """Every plan asks about the sizes of all shown files: one that is gone, cut short, longer, or a folder is named
    with its day, and where all are whole nothing is; a link to a file is a file."""
    storage, file = DeltaTableStorage(str(place)), file_of(place, "2024-01-03", DAYS)
    whole, at = file.read_bytes(), frozenset({datetime(2024, 1, 3, tzinfo=UTC)})

    def told() -> tuple[tuple[str, ...], frozenset[datetime]]:
        found = storage.readable(MODEL, VERSION, DAYS, days("01", "05"), footers=False)
        assert (found.files, found.rows) == (DAYS, 16)
        return found.broken, found.at

    assert told() == ((), frozenset())
    name = f"ds=2024-01-03/{file.name}"
    for content, why in (
        (whole[:-1], f"{name} has {len(whole) - 1} bytes, not {len(whole)}"),
        (whole + b"!", f"{name} has {len(whole) + 1} bytes, not {len(whole)}"),
    ):
        file.write_bytes(content)
        assert told() == ((why,), at)
    file.unlink()
    assert told() == ((f"{name} is missing",), at)
    file.mkdir()
    assert told() == ((f"{name} is missing",), at)
    file.rmdir()
    (place / "elsewhere").write_bytes(whole)
    file.symlink_to(place / "elsewhere")
    assert told() == ((), frozenset())


def test_a_folder_is_no_file_of_its_size(tmp_path: Path) -> None:
    """The quick look at sizes is not content with anything but a file."""
    assert not all_there([(str(tmp_path), tmp_path.stat().st_size)])


def look(place: Path) -> Readable:
    """As a plan does, with what was remembered before."""
    return DeltaTableStorage(str(place), KnownFiles(place / "cache")).readable(
        MODEL, VERSION, DAYS, days("02", "05"), footers=False
    )


def test_what_is_remembered_is_what_the_log_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of as many files, rows and bytes; the table is not opened for it again."""
    first = look(place)
    assert first == DeltaTableStorage(str(place)).readable(MODEL, VERSION, DAYS, days("02", "05"))
    assert (first.files, first.rows, first.broken) == (4, 13, ())
    with monkeypatch.context() as patched:
        patched.setattr(table_storage, "open_table", never)
        assert look(place) == first
    write_deltalake(place / MODEL / VERSION, pa.table({"ds": [date(2024, 1, 9)], "id": [1]}), mode="append")
    with monkeypatch.context() as patched:  # a later commit is another one's
        patched.setattr(table_storage, "open_table", never)
        assert look(place) == first


def test_it_is_remembered_when_somebody_looked(place: Path) -> None:
    """Each time that all was found; as never, where something was not. Nothing is where nothing can be kept."""
    storage, part = DeltaTableStorage(str(place), KnownFiles(place / "cache")), (MODEL, VERSION, days("02", "05"))
    assert (storage.last_look(*part), DeltaTableStorage(str(place)).last_look(*part)) == (1.0, None)
    look(place)
    [kept] = (place / "cache").glob("*.json")
    os.utime(kept, (5, 5))
    assert storage.last_look(*part) == 5
    look(place)
    assert storage.last_look(*part) == kept.stat().st_mtime > 5
    file = file_of(place, "2024-01-03", DAYS)
    file.rename(place / "away")
    assert look(place).broken
    assert storage.last_look(*part) == 0.0
    (place / "away").rename(file)
    look(place)
    assert storage.last_look(*part) > 5
    (place / "closed").write_text("a file")
    assert DeltaTableStorage(str(place), KnownFiles(place / "closed" / "cache")).last_look(*part) is None


def test_a_part_of_which_nothing_can_be_remembered_is_looked_at_in_turn(place: Path) -> None:
    """Files that are elsewhere, as those of an adopted table: when somebody looked is known all the same. A clock that
    was ahead hides nothing."""
    part = (MODEL, VERSION, days("02", "05"))
    log = place / MODEL / VERSION / "_delta_log"
    for entry in log.glob("*.json"):
        text = entry.read_text()
        entry.write_text(text.replace('"path":"ds=', f'"path":"{place}/{MODEL}/{VERSION}/ds='))
    storage = DeltaTableStorage(str(place), KnownFiles(place / "cache"))
    assert storage.last_look(*part) == 1.0
    assert look(place).broken == ()
    [kept] = (place / "cache").glob("*.json")
    assert storage.last_look(*part) == kept.stat().st_mtime > 5
    assert look(place).files == 4
    os.utime(kept, (2**32, 2**32))
    assert storage.last_look(*part) == 1.0


def never(*_: object) -> NoReturn:
    raise AssertionError("the table was opened")


@pytest.mark.parametrize("damage", ["gone", "shorter", "other folder"])
def test_damage_is_seen_by_whoever_remembers(place: Path, damage: str) -> None:
    assert look(place).broken == ()
    [file] = (place / MODEL / VERSION / "ds=2024-01-04").glob("*.parquet")
    if damage == "shorter":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
        if damage == "other folder":
            file.mkdir()
    found = look(place)
    assert len(found.broken) == 1 and file.name in found.broken[0] and found.at == {datetime(2024, 1, 4, tzinfo=UTC)}
    assert look(place) == found, "what is damaged is not remembered"


def test_another_log_is_read_again(place: Path) -> None:
    """As of a table that was put in its place, or of which an entry lost its content."""
    assert look(place).broken == ()
    entry = place / MODEL / VERSION / "_delta_log" / f"{DAYS:020}.json"
    said = entry.read_text()
    entry.write_text("")
    assert "damaged" in look(place).broken[0] or "empty" in look(place).broken[0]
    entry.write_text(said)
    assert look(place).broken == ()


def test_what_others_put_into_the_cache_counts_for_nothing(place: Path) -> None:
    look(place)
    [kept] = (place / "cache").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    for text in ("", "[]", "{}", '{"of": 1}'):
        kept.write_text(text)
        assert look(place).files == 4
    kept.write_text(kept.read_text().replace(".parquet", ".x"))
    kept.chmod(0o644)
    assert look(place).broken == ()


def test_tables_and_commits_that_are_not_there(place: Path) -> None:
    """Told as such, not raised."""
    storage = DeltaTableStorage(str(place))
    assert "no table" in storage.readable(MODEL, "other", 1, days("01")).broken[0]
    assert "no commit 99" in storage.readable(MODEL, VERSION, 99, days("01")).broken[0]


def test_a_removal_that_is_killed_leaves_an_older_table(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each file that goes, what is left is readable as some older commit, or is no table; again finishes it."""
    from deltalake.exceptions import TableNotFoundError

    folder = place / MODEL / VERSION
    DeltaTable(folder).create_checkpoint()
    storage = DeltaTableStorage(str(place))
    log = sorted((p for p in (folder / "_delta_log").iterdir()), key=lambda p: p.name, reverse=True)
    seen: list[int] = []
    for file in log:  # the order in which `remove` deletes them
        file.unlink()
        try:
            table = DeltaTable(folder)
            table.to_pyarrow_table()
            seen.append(table.version())
        except TableNotFoundError:
            seen.append(-1)
    assert seen == sorted(seen, reverse=True) and seen[0] == DAYS and seen[-1] == -1
    storage.remove(MODEL, VERSION)
    assert not folder.exists() and (place / MODEL / "notes").exists()
    storage.remove(MODEL, VERSION)


def test_removal_deletes_the_log_newest_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pointer to the checkpoint, then commits backwards, then the rest."""
    gone: list[str] = []
    real, root = table_storage.arrow_path(str(place / MODEL / VERSION))

    class Told:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def delete_file(self, path: str) -> None:
            gone.append(Path(path).name)
            real.delete_file(path)

    DeltaTable(place / MODEL / VERSION).create_checkpoint()
    monkeypatch.setattr(table_storage, "arrow_path", lambda location: (Told(), root))
    DeltaTableStorage(str(place)).remove(MODEL, VERSION)
    commits = [name for name in gone if name.endswith(".json")]
    assert gone[0] == "_last_checkpoint"
    assert commits == [f"{n:020}.json" for n in range(DAYS, -1, -1)]
    assert not (place / MODEL / VERSION).exists()


def test_a_folder_that_the_account_may_not_empty(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one's: it is named, with whose it is; nothing for the maintainers."""
    real, root = table_storage.arrow_path(str(place / MODEL / VERSION))
    closed = next(p for p in (place / MODEL / VERSION).iterdir() if "=" in p.name)
    access = os.access

    class Theirs:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def delete_dir(self, path: str) -> None:
            raise PermissionError(13, "Cannot delete directory entry")

    monkeypatch.setattr(table_storage, "arrow_path", lambda location: (Theirs(), root))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and access(path, mode))
    with pytest.raises(NoAccessError) as refused:
        DeltaTableStorage(str(place)).remove(MODEL, VERSION)
    assert str(closed) in refused.value.what and f"{closed} is of" in refused.value.why


def test_only_our_old_cache_files_go(tmp_path: Path) -> None:
    """By their age; what others put beside them stays."""
    old = (datetime.now(UTC) - timedelta(days=40)).timestamp()
    for name in ("project/a.pickle", "project/b.pickle", "python/c", "logs/f", "elsewhere/d", "e"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
        if not name.endswith("b.pickle"):
            os.utime(file, (old, old))
    found = old_cache_files(tmp_path, before=datetime.now(UTC) - timedelta(days=30))
    assert [f.path.name for f in found] == ["a.pickle", "c", "f"] and all(f.bytes == 1 for f in found)
    remove_cache_files(found)
    remove_cache_files(found)
    assert sorted(f.name for f in tmp_path.rglob("*") if f.is_file()) == ["b.pickle", "d", "e"]
    assert old_cache_files(tmp_path / "nowhere", before=datetime.now(UTC)) == []
