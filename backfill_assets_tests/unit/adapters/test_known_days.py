"""The days of a source's files are remembered: a plan reads what is new, and says what reading all of them says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.adapters import source_days as module
from backfill_assets.adapters.known_days import KnownDays
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_days import file_days, source_days, source_parts
from backfill_assets.core.model import Source

AN_HOUR = 3600


def a_source(path: Path, **more: object) -> Source:
    blank = Source(name="raw", format="json", path=str(path), time_column="at", file=path)
    return replace(blank, **more)  # type: ignore[arg-type]


def put(folder: Path, name: str, *instants: str, ago: float = AN_HOUR) -> Path:
    """A file of JSON lines that was written so many seconds ago."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("".join(f'{{"at": "{instant}"}}\n' for instant in instants))
    os.utime(file, (time.time() - ago,) * 2)
    return file


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read, in their order."""
    found: list[str] = []

    def noted(file: module.SourceFile, *rest: object, **more: object) -> object:
        found.append(file.inside[-1])
        return file_days(file, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "file_days", noted)
    return found


def test_a_file_is_read_once(tmp_path: Path, read: list[str]) -> None:
    """Another file is read, and one that was written again; the answer is that of one who knows nothing."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    put(data, "a.json", "2024-01-03 05:00:00", "2024-01-03 06:00:00")
    source = a_source(data)
    assert source_days(source, {}, known) == source_days(source, {}) and read == ["a.json"] * 2
    assert source_days(source, {}, known) == source_days(source, {}) and read == ["a.json"] * 3
    put(data, "b.json", "2024-01-09 05:00:00", ago=AN_HOUR / 2)
    assert source_days(source, {}, known) and read[3:] == ["b.json"]
    put(data, "a.json", "2024-01-05 05:00:00", ago=AN_HOUR / 3)
    assert source_days(source, {}, known) and read[4:] == ["a.json"]
    (data / "b.json").unlink()
    assert source_days(source, {}, known) == source_days(source, {}) and read[5:] == ["a.json"], "by the other"


def test_the_look_for_late_rows_reads_none_again(tmp_path: Path, read: list[str]) -> None:
    """What a plan has read; and it says of each file what it said without."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    put(data, "a.json", "2024-01-03 05:00:00")
    put(data, "2024-01-07.json")
    source = a_source(data)
    assert source_days(source, {}, known)
    del read[:]
    assert SourceChanges(known).history(source, 0) == SourceChanges().history(source, 0)
    assert read == ["2024-01-07.json", "a.json"], "by the one who knows nothing"


EDITS: dict[str, Callable[[Source], Source]] = {
    "another time column": lambda s: replace(s, time_column="until"),
    "another option": lambda s: replace(s, options={"timestampFormat": "dd/MM/yyyy"}),
    "another format": lambda s: replace(s, format="csv", options={"header": "true"}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_another_entry_is_read_anew(tmp_path: Path, read: list[str], edit: str) -> None:
    """What the former one's columns, options or format said counts for nothing."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    put(data, "a.json", "2024-01-03 05:00:00")
    source = a_source(data)
    edited = EDITS[edit](source)
    assert source_days(source, {}, known)
    assert source_days(edited, {}, known) == source_days(edited, {})
    assert source_days(source, {}, known) == source_days(source, {})


def test_what_was_just_written_is_not_remembered(tmp_path: Path, read: list[str]) -> None:
    """It may be written again within one tick of the disk's clock, in as many bytes."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    file = put(data, "a.json", "2024-01-03 05:00:00", ago=0)
    then = file.stat()
    source = a_source(data)
    assert source_days(source, {}, known)
    put(data, "a.json", "2024-01-09 05:00:00")
    os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert source_days(source, {}, known) == source_days(source, {})


def test_what_was_written_while_it_was_read_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was listed as one, read as another, and is the first one again: a restore keeps a file's time."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    file = put(data, "a.json", "2024-01-03 05:00:00")
    first, then = file.read_text(), file.stat()
    source = a_source(data)

    def overwritten(listed: module.SourceFile, *rest: object, **more: object) -> object:
        put(data, "a.json", "2024-01-09 05:00:00", ago=AN_HOUR / 2)
        return file_days(listed, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "file_days", overwritten)
    source_days(source, {}, known)
    monkeypatch.undo()
    file.write_text(first)
    os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert source_days(source, {}, known) == source_days(source, {})


def test_a_file_is_at_rest_by_the_time_of_its_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read others took longer than a tick of the clock; it was written again meanwhile."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    file = put(data, "a.json", "2024-01-03 05:00:00", ago=0.1)
    then = file.stat()
    source = a_source(data)

    def slowly(*args: object, **more: object) -> object:
        found = file_days(*args, **more)  # type: ignore[arg-type]
        time.sleep(2.1)
        return found

    monkeypatch.setattr(module, "file_days", slowly)
    source_days(source, {}, known)
    monkeypatch.undo()
    put(data, "a.json", "2024-01-09 05:00:00")
    os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert source_days(source, {}, known) == source_days(source, {})


def test_what_cannot_be_told_is_asked_again(tmp_path: Path, read: list[str]) -> None:
    """A file that cannot be read today may be read tomorrow."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    file = put(data, "a.json")
    file.write_text("no JSON\n")
    os.utime(file, (time.time() - AN_HOUR,) * 2)
    source = a_source(data)
    assert source_days(source, {}, known) is None and source_days(source, {}, known) is None
    assert read == ["a.json", "a.json"]


def test_the_parts_are_those_of_who_knows_nothing(tmp_path: Path) -> None:
    """Where a file in the middle cannot be told, nothing is said of those behind it."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    for number in (1, 2, 3):
        put(data, f"{number}.json", f"2024-01-0{number} 05:00:00")
    source = a_source(data)
    assert source_days(source, {}, known)
    put(data, "2.json").write_text("no JSON\n")
    assert source_parts(source, {}, known) == source_parts(source, {})
    assert [part.days is None for part in source_parts(source, {}) or ()] == [False, True, True]


@pytest.mark.parametrize("content", ["", "{}", '{"of": 1}', "[1, 2]", '{"of": "KEY", "files": {"PLACE": 3}}'])
def test_a_damaged_cache_counts_for_nothing(tmp_path: Path, content: str) -> None:
    """Half a file, or one of another release."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    file = put(data, "a.json", "2024-01-03 05:00:00")
    source = a_source(data)
    assert source_days(source, {}, known)
    [kept] = (tmp_path / "cache").iterdir()
    key = kept.read_text().split('"')[3]
    kept.write_text(content.replace("KEY", key).replace("PLACE", str(file)))
    assert source_days(source, {}, known) == source_days(source, {})


def test_a_cache_that_others_can_write_counts_for_nothing(tmp_path: Path, read: list[str]) -> None:
    """It may have come with a checkout."""
    data, known = tmp_path / "data", KnownDays(tmp_path / "cache")
    put(data, "a.json", "2024-01-03 05:00:00")
    source = a_source(data)
    assert source_days(source, {}, known)
    [kept] = (tmp_path / "cache").iterdir()
    kept.chmod(0o644)
    assert source_days(source, {}, known) and read == ["a.json", "a.json"]
