"""Which rows can still be read? What is gone or cut is lost; what a disk does not give now is not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from backfill_assets.adapters import lost_rows
from backfill_assets.adapters.lost_rows import without_lost
from backfill_assets.core.segments import Segments
from backfill_assets.state.tables import Readable
from backfill_assets.state.versions import table_path
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import Cell, a_model, days

MODEL = a_model("a")


@pytest.fixture
def shown(tmp_path: Path) -> Segments:
    """Three days of a table, a file each."""
    tables = DeltaTables(str(tmp_path))
    tables.create("a", "v1")
    for number, day in enumerate(("01", "02", "03")):
        span = days(day, day)
        tables.write("a", "v1", f"b{number}", span, {span.start: Cell(rows=3)})
    return Segments.of_table("v1", tables.head("a", "v1"), [days("01", "03")])


def file_of(root: Path, day: str) -> Path:
    (found,) = Path(table_path(str(root), "a", "v1"), f"ds=2024-01-{day}").glob("*.parquet")
    return found


def left(root: Path, shown: Segments) -> str:
    return str(without_lost(str(root), MODEL, shown).covers)


def test_all_is_there(tmp_path: Path, shown: Segments) -> None:
    assert without_lost(str(tmp_path), MODEL, shown) == shown


@pytest.mark.parametrize("cut", [False, True])
def test_a_file_is_gone_or_cut(tmp_path: Path, shown: Segments, cut: bool) -> None:
    lost = file_of(tmp_path, "02")
    os.truncate(lost, 10) if cut else lost.unlink()
    assert left(tmp_path, shown) == "2024-01-01, 2024-01-03"


def test_the_table_is_gone(tmp_path: Path, shown: Segments) -> None:
    shutil.rmtree(table_path(str(tmp_path), "a", "v1"))
    assert left(tmp_path, shown) == "nothing"


def test_what_cannot_be_read_now_is_not_lost(tmp_path: Path, shown: Segments, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it says why: its rows are not taken for new ones."""

    class Closed(lost_rows.DeltaTableStorage):
        def readable(self, *_: object, **__: object) -> Readable:
            return Readable(broken=("ds=2024-01-02/a.parquet: Permission denied",))

    monkeypatch.setattr(lost_rows, "DeltaTableStorage", Closed)
    assert without_lost(str(tmp_path), MODEL, shown) == shown
