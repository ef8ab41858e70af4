"""Whatever is not as the packet says is told by its name: files and commits, of a state and of a real Delta table."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from backfill_assets.adapters.table_files import _AT_ONCE, DeltaTableFiles
from backfill_assets.adapters.table_log import batch_metadata
from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.evidence.make import make
from backfill_assets.evidence.tables import TableCommit, TableState, table_differences
from backfill_assets.evidence.verify import verify
from backfill_assets.evidence.write import write_packet
from backfill_assets_tests.fakes import days
from backfill_assets_tests.packets import MemoryFolder, MemoryTables, a_subject, a_table, some_inputs

NAMED = a_table()
FIRST = NAMED.files[0]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (NAMED, []),
        (None, ["table performance/new is gone, or has no commit 1 any more"]),
        (
            replace(NAMED, files=(replace(FIRST, sha256="0"), *NAMED.files[1:])),
            [f"file performance/new/{FIRST.path} was changed"],
        ),
        (
            replace(NAMED, files=(replace(FIRST, bytes=-1, sha256=""), *NAMED.files[1:])),
            [f"file performance/new/{FIRST.path} is gone"],
        ),
        (replace(NAMED, files=NAMED.files[1:]), [f"file performance/new/{FIRST.path} is gone"]),
        (
            replace(NAMED, files=(*NAMED.files, replace(FIRST, path="ds=2024-01-09/x.parquet"))),
            ["file performance/new/ds=2024-01-09/x.parquet is new in commit 1"],
        ),
        (replace(NAMED, commits=()), ["commit 1 of performance/new is gone"]),
        (
            replace(NAMED, commits=(replace(NAMED.commits[0], batch=""),)),
            ["commit 1 of performance/new is foreign: something else than this system wrote it"],
        ),
        (
            replace(NAMED, commits=(replace(NAMED.commits[0], batch="b2"),)),
            ["commit 1 of performance/new is another: it was batch b1"],
        ),
        (
            replace(NAMED, commits=(TableCommit(commit=0, batch=""), *NAMED.commits)),
            ["commit 0 of performance/new was not there when the packet was written"],
        ),
    ],
)
def test_differences(found: object, said: list[str]) -> None:
    """Nothing for the same table; else one line a difference."""
    assert table_differences(NAMED, found) == said  # type: ignore[arg-type]


def test_a_size_alone_is_compared_with_a_hash() -> None:
    """A large table's files have no hash: their size must be the same."""
    unhashed = replace(NAMED, files=tuple(replace(f, sha256="") for f in NAMED.files))
    assert table_differences(unhashed, NAMED) == []
    grown = replace(NAMED, files=(replace(FIRST, bytes=FIRST.bytes + 1), *NAMED.files[1:]))
    assert table_differences(unhashed, grown) == [f"file performance/new/{FIRST.path} was changed"]


def test_many_differences_are_summed_up() -> None:
    """A table whose folder is empty does not fill the screen."""
    big = a_table(files=9)
    assert table_differences(big, replace(big, files=()))[-1] == "and 4 more files of performance/new"


def test_a_packet_is_held_against_its_tables() -> None:
    """Verified with the tables as they were; not with others; and it says so when there are none to look at."""
    folder = MemoryFolder()
    write_packet(folder, "7f3c", make(some_inputs())[1], sealed=False)
    found = verify(folder, MemoryTables(NAMED))
    assert found.ok and (found.tables, found.data_files, found.hashed) == (1, 4, 4)
    assert verify(folder, None).ok and verify(folder, None).tables is None
    gone = verify(folder, MemoryTables())
    assert gone.problems == ("table performance/new is gone, or has no commit 1 any more",)


def test_a_table_that_is_gone_is_no_table() -> None:
    """A packet can be written for what the janitor removed; there is nothing to hold it against then."""
    made, written = make(some_inputs(subjects=(a_subject(days("01", "04"), table=None),)))
    assert made.models[0].table is None and "is gone" in " ".join(made.summary.mind)
    folder = MemoryFolder()
    write_packet(folder, "7f3c", written, sealed=False)
    assert verify(folder, MemoryTables()).tables == 0


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """An hourly table of two batches: its partition folders hold characters that logs and URLs escape."""
    rows = pa.table(
        {
            "at": pa.array([datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in range(4)], pa.timestamp("us", "UTC")),
            "id": pa.array(range(4)),
        }
    )
    place = str(tmp_path / "m" / "v")
    DeltaTable.create(place, pa.schema(rows.schema), partition_by=["at"])
    for batch in range(2):
        note = CommitProperties(custom_metadata={"userMetadata": batch_metadata(f"b{batch}", days("01"))})
        write_deltalake(place, rows.slice(2 * batch, 2), mode="append", commit_properties=note)
    return tmp_path


def test_a_real_table(warehouse: Path) -> None:
    """Its data commits with their batches, and each file with its size and hash; later commits do not matter."""
    reader = DeltaTableFiles(str(warehouse))
    state = reader.state("m", "v", 2)
    assert state is not None
    assert [(c.commit, c.batch) for c in state.commits] == [(1, "b0"), (2, "b1")]
    assert len(state.files) == 4 and all(f.bytes > 0 and len(f.sha256) == 64 for f in state.files)
    assert state.bytes == sum(p.stat().st_size for p in warehouse.rglob("*.parquet"))
    assert from_plain(TableState, to_plain(state)) == state
    first = reader.state("m", "v", 1)
    assert first is not None and len(first.files) == 2 and len(first.commits) == 1
    assert reader.state("m", "v", 3) is None and reader.state("m", "w", 0) is None
    unhashed = reader.state("m", "v", 2, hash_up_to=-1)
    assert unhashed is not None and table_differences(state, unhashed) == [] and not unhashed.files[0].sha256


def test_harm_to_a_real_table_is_told(warehouse: Path) -> None:
    """One byte of one file, a deleted file, a log that was rewritten, a commit that is gone."""
    reader = DeltaTableFiles(str(warehouse))
    state = reader.state("m", "v", 2)
    assert state is not None
    one, other = sorted(warehouse.rglob("*.parquet"))[:2]
    content = bytearray(one.read_bytes())
    content[len(content) // 2] ^= 1
    one.write_bytes(content)
    other.unlink()
    told = table_differences(state, reader.state("m", "v", 2))
    below = warehouse / "m" / "v"
    assert set(told) == {
        f"file m/v/{other.relative_to(below)} is gone",
        f"file m/v/{one.relative_to(below)} was changed",
    }
    log = warehouse / "m" / "v" / "_delta_log" / f"{1:020}.json"
    log.write_text(log.read_text().replace("backfill_batch", "something_else"))
    assert "commit 1 of m/v is foreign: something else than this system wrote it" in table_differences(
        state, reader.state("m", "v", 2)
    )
    os.unlink(warehouse / "m" / "v" / "_delta_log" / f"{2:020}.json")  # noqa: PTH108
    assert table_differences(state, reader.state("m", "v", 2)) == ["table m/v is gone, or has no commit 2 any more"]


@pytest.mark.parametrize("small", [True, False])
def test_every_file_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: bool) -> None:
    """Of more than one thread hashes one after the other, and of large ones, which each hashes alone."""
    if not small:
        monkeypatch.setattr("backfill_assets.adapters.table_files._SMALL", 1)
    place, files = tmp_path / "a" / "a-1", 2 * _AT_ONCE + 3
    write_deltalake(str(place), pa.table({"x": range(files), "y": range(files)}), partition_by=["x"])
    state = DeltaTableFiles(str(tmp_path)).state("a", "a-1", 0)
    assert state is not None and len(state.files) == files
    there = {str(p.relative_to(place)): p.read_bytes() for p in place.glob("x=*/*.parquet")}
    assert {f.path: (f.bytes, f.sha256) for f in state.files} == {
        path: (len(content), hashlib.sha256(content).hexdigest()) for path, content in there.items()
    }
    assert [f.path for f in state.files] == sorted(there)
