"""A table that gives, at a commit, something else than what was promoted is noticed: by readers, watch and promotion.

On real Delta tables; a line of a log entry is lost, which no reader of the Delta protocol can notice by itself.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.adapters.log_folder import LOG, entry_name
from backfill_assets.adapters.reader import read_pointer
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.adapters.warehouse import open_store
from backfill_assets.core.errors import StateError
from backfill_assets.core.pointer import Pointer, pointer_from_json
from backfill_assets.core.segments import IntervalCounts, Segment, Segments
from backfill_assets.core.settings import Settings
from backfill_assets.promote.promote import promote
from backfill_assets.promote.rehearsal import rehearse
from backfill_assets.state.control import Control
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.table_contents import with_counts
from backfill_assets.state.versions import table_path
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import Cell, days


def opened(warehouse: Path) -> Control:
    """The records of a warehouse, as every command opens them."""
    settings = Settings(name="tests", warehouse=str(warehouse))
    return Control.over(open_store(settings, warehouse.parent / f"{warehouse.name}-project"))


@pytest.fixture
def pointer(tmp_path: Path) -> Pointer:
    """A promoted model of six days with three rows each."""
    environments = opened(tmp_path).environments
    environments.flip(environments.read("prod"), [], release="first", at=datetime.now(UTC), note=ReleaseNote(by="ana"))
    tables = DeltaTables(str(tmp_path))
    tables.create("a", "a-1")
    parts = days("01", "06")
    for day in (days(f"0{n}") for n in range(1, 7)):
        tables.write("a", "a-1", f"b{day}", day, {day.start: Cell(rows=3, failures={})})
    columns = (("ds", "date"), ("id", "bigint"), ("batch", "string"), ("failing", "bigint"))
    segment = Segment(version="a-1", commit=6, interval=parts)
    bare = Pointer(model="a", time_column="ds", timestamps=False, columns=columns, segments=(segment,))
    promote(environments, environments.read("prod"), with_counts(DeltaTableLog(str(tmp_path)), [bare]), None)
    return environments.read("prod").pointers["a"]


def lose_a_line(warehouse: Path, commit: int, *, counted: bool) -> None:
    """A log entry keeps its beginning: whole lines, without the file that the commit added. `counted`: it says how
    many there were, as most writers do."""
    path = Path(table_path(str(warehouse), "a", "a-1"), LOG, entry_name(commit))
    kept = [action for line in path.read_text().splitlines() if "add" not in (action := json.loads(line))]
    if not counted:
        del kept[0]["commitInfo"]["operationMetrics"]
    path.write_text("".join(f"{json.dumps(action)}\n" for action in kept))


def test_a_promotion_writes_down_what_it_points_at(tmp_path: Path, pointer: Pointer) -> None:
    """Files and rows of each segment; the counts take no part in what a pointer is."""
    (segment,) = pointer.segments
    assert segment.held == IntervalCounts(interval=days("01", "06"), files=6, rows=18)
    assert pointer_from_json(pointer.to_json()).segments[0].held == segment.held
    bare = replace(pointer, segments=(replace(segment, held=None),))
    assert bare == pointer and bare.id == pointer.id
    assert read_pointer(pointer, str(tmp_path)).num_rows == 18


def test_lost_rows_are_refused_by_readers_promotions_and_the_watch(tmp_path: Path, pointer: Pointer) -> None:
    """Also for a part of what was promoted, and for a range that the lost rows are not in."""
    lose_a_line(tmp_path, 4, counted=False)
    log, storage = DeltaTableLog(str(tmp_path)), DeltaTableStorage(str(tmp_path))
    why = "15 rows in 5 files of 2024-01-01..2024-01-06; 18 in 6 were promoted"
    ledger = opened(tmp_path).ledger
    other = Segments.of_table("x", 0, [days("06")])
    part = replace(pointer, segments=other.over(pointer.segments)[:1])
    for broken in (pointer, part):
        with pytest.raises(StateError) as refused:
            read_pointer(broken, str(tmp_path), start="2024-01-01", end="2024-01-02")
        assert why in refused.value.why
        with pytest.raises(StateError, match="does not give at commit 6 what was promoted"):
            with_counts(log, [broken])
        (found,) = rehearse([broken], storage, log, ledger)
        assert found.broken == (f"commit 6 of a-1 has {why}",)


def test_rows_that_were_lost_before_they_were_promoted_are_not_published(tmp_path: Path, pointer: Pointer) -> None:
    """Nothing counted them before: the entry does, the promotion, the watch and readers refuse it."""
    bare = replace(pointer, segments=tuple(replace(s, held=None) for s in pointer.segments))
    lose_a_line(tmp_path, 4, counted=True)
    log, why = DeltaTableLog(str(tmp_path)), f"{entry_name(4)} lost lines: it names 0 of 1 files that it added"
    with pytest.raises(StateError) as refused:
        with_counts(log, [bare])
    assert refused.value.why == why
    (found,) = rehearse([bare], DeltaTableStorage(str(tmp_path)), log, opened(tmp_path).ledger)
    assert why in found.broken[0]
    with pytest.raises(StateError, match="is damaged"):
        read_pointer(bare, str(tmp_path))


def test_a_log_that_ends_before_what_is_shown_is_a_finding_and_refused(tmp_path: Path, pointer: Pointer) -> None:
    """The newest entry is gone."""
    Path(table_path(str(tmp_path), "a", "a-1"), LOG, entry_name(6)).unlink()
    with pytest.raises(StateError, match="is damaged"):
        read_pointer(pointer, str(tmp_path))
    ledger = opened(tmp_path).ledger
    (found,) = rehearse([pointer], DeltaTableStorage(str(tmp_path)), DeltaTableLog(str(tmp_path)), ledger)
    assert entry_name(6) in found.broken[0]


@pytest.mark.parametrize("content", [b"", b"PAR1", None])
def test_a_data_file_that_cannot_be_read_is_said(tmp_path: Path, pointer: Pointer, content: bytes | None) -> None:
    """StateError that names the model and the commit, no error of a library."""
    (file,) = Path(table_path(str(tmp_path), "a", "a-1"), "ds=2024-01-03").glob("*.parquet")
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(StateError, match="a a-1 does not give at commit 6 what was promoted"):
        read_pointer(pointer, str(tmp_path))
