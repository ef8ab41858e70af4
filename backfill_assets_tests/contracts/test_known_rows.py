"""What is remembered of a ledger is what those of its files say that nobody writes again, while they are the same."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from backfill_assets.adapters import growing_table
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.known_rows import KnownRowsFile
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.state.history import History
from backfill_assets.state.ledger import LEDGER, Entry, Kind, Ledger
from backfill_assets.state.ledger_rows import AllRows, VersionRows

T0 = utc("2024-01-01")
SEALED = 40_000
"""Bytes of which half is a large file here: some two hundred days."""


def entry(day: int, kind: Kind = Kind.BUILT, batch: str = "", model: str = "m") -> Entry:
    start = T0 + timedelta(days=day)
    return Entry(
        kind=kind, model=model, version="v", interval=Interval(start, start + timedelta(days=1)), table_commit=day + 1,
        batch=batch or f"b{day}", audits="now" if kind is Kind.AUDITED else "", at=start, rows=day,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger of three hundred days in a large file, and two in small ones."""
    monkeypatch.setattr(growing_table, "_SEALED", SEALED)
    ledger = opened(tmp_path)
    ledger.append([e for day in range(300) for e in (entry(day), entry(day, Kind.AUDITED))])
    for day in (300, 301):
        ledger.append([entry(day)])
    return tmp_path


def opened(folder: Path) -> Ledger:
    return Ledger(DeltaStore(str(folder)), KnownRowsFile(folder / "cache" / "rows.arrow"))


def plain(rows: AllRows) -> dict[object, list[tuple[object, ...]]]:
    """The rows, as values, in any order."""
    return {
        key: sorted(zip(*(getattr(mine, f.name).tolist() for f in fields(VersionRows)), strict=True))
        for key, mine in rows.items()
    }


def as_read(folder: Path) -> dict[object, list[tuple[object, ...]]]:
    return plain(Ledger(DeltaStore(str(folder))).rows())


def data_files(folder: Path) -> list[Path]:
    return sorted(Path(uri) for uri in DeltaTable(folder / "_control" / "ledger").file_uris())


def test_it_is_what_is_read(folder: Path) -> None:
    """At first, and when it is remembered; also of versions and digests that came later, and of a day that is built
    again."""
    assert plain(opened(folder).rows()) == as_read(folder)
    assert len(opened(folder).rows().parts[0].rows) == 600
    opened(folder).append([entry(3, batch="again"), entry(0, model="another"), entry(301, Kind.AUDITED)])
    assert plain(opened(folder).rows()) == as_read(folder)
    ledger = opened(folder)
    assert plain(ledger.rows()) == plain(ledger.rows()) == as_read(folder)
    history, right = History(opened(folder)), History(Ledger(DeltaStore(str(folder))))
    for key in right:
        assert history[key].coverage("now", None) == right[key].coverage("now", None)


def test_large_files_are_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is newer is: not even where these were joined, or cannot be read any more."""
    right = plain(opened(folder).rows())
    [large] = [f for f in data_files(folder) if f.stat().st_size > SEALED / 2]
    times = large.stat()
    large.write_bytes(b"?" * times.st_size)
    os.utime(large, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert plain(opened(folder).rows()) == right
    with pytest.raises(StateError, match="cannot be read"):
        as_read(folder)


def test_another_file_is_read(folder: Path) -> None:
    """One that was written since, though it has the name and the size: what is in it counts, or that it is damaged."""
    opened(folder).rows()
    [large] = [f for f in data_files(folder) if f.stat().st_size > SEALED / 2]
    large.write_bytes(b"?" * large.stat().st_size)
    os.utime(large, ns=(1, 1))
    with pytest.raises(StateError, match="cannot be read"):
        opened(folder).rows()


def test_small_files_are_joined(folder: Path) -> None:
    """Those that are remembered stay as they are, and the others become large in their turn."""
    before = opened(folder).rows().parts[0].last
    opened(folder).append([entry(day) for day in range(302, 304)])
    DeltaStore(str(folder)).table(LEDGER)._join(1)  # type: ignore[attr-defined]
    assert opened(folder).rows().parts[0].last == before
    assert plain(opened(folder).rows()) == as_read(folder)
    opened(folder).append([entry(day) for day in range(304, 800)])
    assert opened(folder).rows().parts[0].last > before
    assert plain(opened(folder).rows()) == as_read(folder)


def test_what_is_no_memory(folder: Path) -> None:
    """Half a file, one that others may read, that of another ledger, an older format: nothing of it is believed."""
    right, cache = plain(opened(folder).rows()), folder / "cache" / "rows.arrow"
    whole = cache.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"ARROW1", whole.replace(b'"format": 1', b'"format": 9')):
        cache.write_bytes(content)
        assert plain(opened(folder).rows()) == right
        assert cache.read_bytes() == whole
    cache.write_bytes(whole.replace(b'"m"', b'"x"'))
    assert ("x", "v") in opened(folder).rows()
    cache.chmod(0o644)
    assert plain(opened(folder).rows()) == right
    other = folder / "other"
    opened(other).append([entry(day) for day in range(500)])
    there = Ledger(DeltaStore(str(other)), KnownRowsFile(cache))
    assert plain(there.rows()) == as_read(other)


def test_where_nothing_can_be_kept(folder: Path) -> None:
    """A folder that cannot be made: it is read each time."""
    (folder / "cache").write_text("a file")
    assert plain(opened(folder).rows()) == as_read(folder)


def test_rows_among_others(folder: Path) -> None:
    """Where a small file has a row that is older than one of a large file, all is read: it may be joined once more."""
    table = DeltaTable(folder / "_control" / "ledger")
    assert growing_table.sealed(table, str(folder / "_control" / "ledger"), LEDGER)
    for ends in ([5], [None]):
        assert growing_table.sealed(Among(table, ends), str(folder), LEDGER) is None  # type: ignore[arg-type]


@dataclass
class Among:
    """A table of a large file, and of small ones whose rows have these numbers at the least."""

    table: DeltaTable
    least: Sequence[int | None]

    def get_add_actions(self, *, flatten: bool) -> pa.Table:
        said = pa.table(self.table.get_add_actions(flatten=flatten))
        [most] = [
            m
            for m, size in zip(*(said.column(n).to_pylist() for n in ("max.sequence", "size_bytes")), strict=True)
            if size > SEALED / 2
        ]
        return pa.table(
            {
                "path": ["large", *map(str, self.least)],
                "size_bytes": [SEALED, *(10 for _ in self.least)],
                "min.sequence": [5, *self.least],
                "max.sequence": [most, *(most + 9 for _ in self.least)],
            }
        )


def test_a_large_file_that_was_cut_or_says_nothing(folder: Path) -> None:
    """Its size is looked at, though its time is as it was; and a log without counts is read all the same."""
    opened(folder).rows()
    [large] = [f for f in data_files(folder) if f.stat().st_size > SEALED / 2]
    whole, times = large.read_bytes(), large.stat()
    large.write_bytes(whole[:-100])
    os.utime(large, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(StateError, match="cannot be read"):
        opened(folder).rows()
    large.write_bytes(whole)
    right = as_read(folder)
    log = folder / "_control" / "ledger" / "_delta_log" / "00000000000000000002.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert plain(opened(folder).rows()) == as_read(folder) == right


def test_kinds_of_another_release(folder: Path) -> None:
    """What an older release did not know is no kind in what it remembered: all is read again."""
    right, cache = plain(opened(folder).rows()), folder / "cache" / "rows.arrow"
    cache.write_bytes(cache.read_bytes().replace(b'"withdrawn"', b'"forgotten"'))
    assert plain(opened(folder).rows()) == right
    assert b'"forgotten"' not in cache.read_bytes()


def test_two_large_files(folder: Path) -> None:
    """Both are remembered; the second does not hide the first."""
    opened(folder).append([e for day in range(302, 900) for e in (entry(day), entry(day, Kind.AUDITED))])
    assert len(opened(folder).rows().parts[0].rows) == 600 + 2 + 2 * 598
    assert plain(opened(folder).rows()) == as_read(folder)
