"""What a pointer of several tables shows, as Arrow: each table by its own letters."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.reader import read_pointer
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.state.versions import table_path
from backfill_assets_tests.fakes import days

OLD, NEW = (
    (("ds", "date"), ("cust", "bigint"), ("amt", "bigint")),
    (("DS", "date"), ("cust", "bigint"), ("Amt", "bigint")),
)


@pytest.mark.parametrize("columns", [None, ["Amt", "DS"]])
def test_letters_that_a_restatement_changed(tmp_path: Path, columns: list[str] | None) -> None:
    """Spark takes both for one column. Arrow tells them apart: the rows of the other table were NULL."""
    for version, names, first in (("1", OLD, 1), ("2", NEW, 3)):
        at = [date(2024, 1, first), date(2024, 1, first + 1)]
        rows = dict(zip([name for name, _ in names], (at, [1, 2], [10 * first, 10 * first + 1]), strict=True))
        path = table_path(str(tmp_path), "m", version)
        write_deltalake(path, pa.table(rows), partition_by=[names[0][0]])
    older = Segment(version="1", commit=0, interval=days("01", "02"), columns=OLD)
    newer = Segment(version="2", commit=0, interval=days("03", "04"))
    shown = Pointer(model="m", time_column="DS", timestamps=False, columns=NEW, segments=Segments([older, newer]))
    found = read_pointer(shown, str(tmp_path), columns=columns, start="2024-01-02", end="2024-01-04").sort_by("DS")
    assert found.column_names == (columns or ["DS", "cust", "Amt"])
    assert found["Amt"].to_pylist() == [11, 30] and found["DS"].to_pylist() == [date(2024, 1, 2), date(2024, 1, 3)]
