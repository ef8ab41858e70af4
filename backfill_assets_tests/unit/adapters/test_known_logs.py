"""A log that was listed once is listed again when a name in its folder changed, and not before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import table

from backfill_assets.adapters import known_logs, log_folder
from backfill_assets.adapters.known_logs import KnownLogs
from backfill_assets.adapters.log_folder import HINT, LOG, Listing, entry_name, list_log, read_log
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.app.context import Context
from backfill_assets.core.errors import DamagedLogError
from backfill_assets_tests.projects import small_project

TICK = 0.02
"""Longer than the clock of a disk stands still."""


def later() -> int:
    """A clock by which whatever was written was written long ago."""
    return time.time_ns() + 60 * 10**9


def a_log(root: Path, commits: int = 3) -> Path:
    folder = root / "a" / "a-1" / LOG
    folder.mkdir(parents=True)
    for commit in range(commits):
        (folder / entry_name(commit)).write_text("{}")
    time.sleep(TICK)
    return folder


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that were listed."""
    found: list[str] = []

    def listed(folder: str) -> Listing:
        found.append(folder)
        return list_log(folder)

    monkeypatch.setattr(known_logs, "list_log", listed)
    return found


def test_the_next_command_lists_what_changed(tmp_path: Path, looks: list[str]) -> None:
    """By the folder's times; the file of the cache is the account's alone."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    one = KnownLogs(file, later)
    assert one.listing(str(folder)) == Listing(commits=range(3)) == one.listing(str(folder))
    one.save()
    assert file.stat().st_mode & 0o77 == 0
    assert KnownLogs(file, later).listing(str(folder)) == Listing(commits=range(3))
    assert looks == [str(folder)]
    (folder / entry_name(3)).write_text("{}")
    assert KnownLogs(file, later).listing(str(folder)) == Listing(commits=range(4))
    assert looks == [str(folder)] * 2


CHANGES = {
    "a commit": lambda folder: (folder / entry_name(3)).write_text("{}"),
    "an entry is gone": lambda folder: (folder / entry_name(2)).unlink(),
    "one in between is gone": lambda folder: (folder / entry_name(1)).unlink(),
    "a checkpoint": lambda folder: (folder / f"{2:020}.checkpoint.parquet").write_text("x"),
    "the hint": lambda folder: (folder / HINT).write_text("{}"),
    "an entry has another name": lambda folder: (folder / entry_name(2)).rename(folder / entry_name(7)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_seen(tmp_path: Path, change: object) -> None:
    """As a listing sees it."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    one = KnownLogs(file, later)
    one.listing(str(folder))
    one.save()
    change(folder)  # type: ignore[operator]
    assert one.listing(str(folder)) == list_log(str(folder)) == KnownLogs(file, later).listing(str(folder))


def test_another_folder_of_that_name(tmp_path: Path, looks: list[str]) -> None:
    """Whose times say the same, as a restored backup's may."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    one = KnownLogs(file, later)
    one.listing(str(folder))
    then = folder.stat()
    folder.rename(tmp_path / "aside")
    folder.mkdir()
    os.utime(folder, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert one.listing(str(folder)) == Listing()
    assert len(looks) == 2


def test_a_disk_that_does_not_say_when_folders_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[str]
) -> None:
    """As a mounted bucket: a commit that came since is there all the same."""
    monkeypatch.setattr(known_logs, "_stamp", lambda folder: (1, 1, 1, 1))
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    for commits in range(3, 6):
        one = KnownLogs(file, later)
        assert one.listing(str(folder)).commits == range(commits) == one.listing(str(folder)).commits
        one.save()
        (folder / entry_name(commits)).write_text("{}")
    assert len(looks) == 3


def test_what_changed_just_now_is_not_remembered(tmp_path: Path, looks: list[str]) -> None:
    """Another change within the same tick of the disk's clock would not be seen."""
    folder = a_log(tmp_path)
    one = KnownLogs(tmp_path / "cache" / "listed.json")
    one.listing(str(folder))
    one.listing(str(folder))
    assert len(looks) == 2


def test_a_log_with_a_hole_is_listed_each_time(tmp_path: Path, looks: list[str]) -> None:
    """It is damaged: each command says so, and sees when it was restored."""
    folder = a_log(tmp_path, commits=4)
    (folder / entry_name(1)).unlink()
    time.sleep(TICK)
    one = KnownLogs(tmp_path / "cache" / "listed.json", later)
    assert one.listing(str(folder)).commits == frozenset({0, 2, 3}) == one.listing(str(folder)).commits
    assert len(looks) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"x": 1}',
        '{"x": [[1, 2, 3], 0, 3, []]}',
        '{"x": [["a"], 0, 3, []]}',
        '{"x": [[1e999, 2, 3, 4], 0, 3, []]}',
        "[" * 100_000,
    ],
)
def test_a_cache_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    """Half a file, or one of another release."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    file.parent.mkdir()
    file.touch(mode=0o600)
    file.write_text(text)
    assert KnownLogs(file, later).listing(str(folder)) == Listing(commits=range(3))


def test_a_file_that_others_can_read_counts_for_nothing(tmp_path: Path, looks: list[str]) -> None:
    """It may have come with a checkout."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    one = KnownLogs(file, later)
    one.listing(str(folder))
    one.save()
    file.chmod(0o644)
    KnownLogs(file, later).listing(str(folder))
    assert len(looks) == 2


def test_what_nobody_asks_for_is_forgotten(tmp_path: Path) -> None:
    """When something else is remembered; tables that were removed among it."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    one = KnownLogs(file, later)
    one.listing(str(folder))
    one.save()
    other = a_log(tmp_path / "more")
    two = KnownLogs(file, later)
    two.listing(str(other))
    two.save()
    assert str(folder) not in file.read_text() and str(other) in file.read_text()


def test_checkpoints_are_remembered_with_their_log(tmp_path: Path) -> None:
    """Of a log whose older entries were removed the table is told from them."""
    folder, file = a_log(tmp_path), tmp_path / "cache" / "listed.json"
    names = (f"{2:020}.checkpoint.parquet", HINT)
    for name in names:
        (folder / name).write_text("x")
    for commit in (0, 1):
        (folder / entry_name(commit)).unlink()
    time.sleep(TICK)
    one = KnownLogs(file, later)
    one.listing(str(folder))
    one.save()
    assert KnownLogs(file, later).listing(str(folder)) == Listing(commits=range(2, 3), beside=names)
    assert read_log(str(folder.parent), KnownLogs(file, later).listing).problem(2) == ""


def test_a_commit_that_comes_during_the_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the process goes on at once or sleeps meanwhile: the next look sees it."""
    folder, now = a_log(tmp_path), [time.time_ns()]
    moved = now[0]
    monkeypatch.setattr(
        known_logs, "_stamp", lambda folder: (1, 1, moved, moved)
    )  # within one tick of the disk's clock
    one = KnownLogs(tmp_path / "cache" / "listed.json", lambda: now[0])

    def slowly(place: str) -> Listing:
        found = list_log(place)
        (folder / entry_name(len(found.commits) + 1)).write_text("{}")  # a hole: the commit after it is no help
        now[0] += 60 * 10**9
        return found

    monkeypatch.setattr(known_logs, "list_log", slowly)
    assert one.listing(str(folder)).commits == range(3)
    monkeypatch.setattr(known_logs, "list_log", list_log)
    assert one.listing(str(folder)).commits == frozenset({0, 1, 2, 4})


@pytest.mark.parametrize("which", [2, 3])
def test_either_time_of_a_folder_that_moved_just_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """That of its names, or of whatever else is said of it."""
    times = [1, 1, 1, 1]
    times[which] = time.time_ns()
    monkeypatch.setattr(known_logs, "_stamp", lambda folder: tuple(times))
    one = KnownLogs(tmp_path / "cache" / "listed.json")
    one.listing(str(a_log(tmp_path)))
    one.save()
    assert not (tmp_path / "cache").exists()


def test_heads_are_what_the_log_says(tmp_path: Path, looks: list[str]) -> None:
    """Of a real table, from command to command; an entry that lost its content is found, though no name changed."""
    location, file = tmp_path / "a" / "a-1", tmp_path / "cache" / "listed.json"
    for commit in range(3):
        write_deltalake(str(location), table({"x": [commit]}), mode="append")
    time.sleep(TICK)

    def head() -> int:
        log = DeltaTableLog(str(tmp_path), KnownLogs(file, later))
        found = log.head("a", "a-1")
        log.remember()
        return found

    assert [head(), head()] == [2, 2] and len(looks) == 1
    DeltaTable(str(location)).create_checkpoint()
    write_deltalake(str(location), table({"x": [3]}), mode="append")
    time.sleep(TICK)
    assert [head(), head()] == [3, 3] and len(looks) == 2
    (location / LOG / entry_name(3)).write_text("")
    with pytest.raises(DamagedLogError, match="is empty"):
        head()
    assert DeltaTableLog(str(tmp_path), KnownLogs(file, later)).head("b", "b-1") == -1


NAMES = st.one_of(
    st.integers(0, 12).map(entry_name),
    st.integers(0, 12).map(lambda n: f"{n:020}.crc"),
    st.integers(0, 12).map(lambda n: f".{n:020}.json.crc"),
    st.integers(0, 12).map(lambda n: f"{n:020}.checkpoint.parquet"),
    st.sampled_from(
        [
            HINT,
            "000000000000000.json.json",
            "0" * 25,
            "٣" * 20 + ".json",
            "0000000000000000000x.json",
            "00000000000000000001.jsom",
            "xxxxxxxxxxxxxxxxxxxxx.json",
        ]
    ),
)


@settings(deadline=None, max_examples=300)
@given(names=st.sets(NAMES, max_size=14), first=st.integers(0, 9), length=st.integers(0, 9))
def test_a_listing_is_of_entries_by_their_names(names: set[str], first: int, length: int) -> None:
    """Whatever else is in the folder; a range where they are in a row."""
    names |= {entry_name(n) for n in range(first, first + length)}
    commits = log_folder._commits([n for n in names if len(n) == 25])
    wanted = {int(n[:20]) for n in names if is_entry(n)}
    plain = all(len(n) != 25 or is_entry(n) for n in names)
    row = not wanted or max(wanted) - min(wanted) + 1 == len(wanted)
    assert isinstance(commits, range) is (row and (plain or not wanted))


def is_entry(name: str) -> bool:
    return len(name) == 25 and name.isascii() and name.endswith(".json") and name[:20].isdecimal()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """There is no table."""
    known = KnownLogs(tmp_path / "cache" / "listed.json", later)
    assert read_log(str(tmp_path / "nothing"), known.listing).head == -1
    known.save()
    assert not (tmp_path / "cache").exists()


def test_each_look_at_how_things_are_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each warehouse in a file of its own, in the project's cache."""
    root, said = small_project(tmp_path), list[Path]()
    monkeypatch.setattr(KnownLogs, "save", lambda self: said.append(self._file))
    Context.open(root).facts()
    monkeypatch.setenv("BACKFILL_WAREHOUSE", str(tmp_path / "other"))
    Context.open(root).facts()
    assert len({*said}) == len(said) == 2 and {each.parent.name for each in said} == {"logs"}
