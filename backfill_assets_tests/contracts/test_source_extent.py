"""From when to when does a source have rows? What its log says, against the rows that were written."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.source_extent import source_extent
from backfill_assets.intervals import Interval
from backfill_assets.snapshots.model import Source

DAYS = [date(2024, 1, 3), date(2024, 2, 29), date(2024, 1, 30)]
INSTANTS = [
    datetime(2024, 1, 3, tzinfo=UTC),
    datetime(2024, 2, 29, 23, 59, tzinfo=UTC),
    datetime(2024, 2, 1, tzinfo=UTC),
]
EXTENT = Interval.of("2024-01-03", "2024-03-01")


def a_source(path: Path, column: str | None, **more: str) -> Source:
    return Source(name="raw.t", path=str(path), time_column=column, file=Path("sources.yml"), **more)


def written(path: Path, *, partition_by: list[str] | None = None) -> Path:
    write_deltalake(
        path, pa.table({"Landed": DAYS, "at": pa.array(INSTANTS), "n": [1, 2, 3]}), partition_by=partition_by
    )
    return path


@pytest.mark.parametrize("column", ["landed", "AT"])
@pytest.mark.parametrize("partition_by", [None, ["Landed"]])
def test_extent(tmp_path: Path, column: str, partition_by: list[str] | None) -> None:
    """The whole days of the lowest and the highest value, of a partition or of file statistics, whatever the case."""
    assert source_extent(a_source(written(tmp_path / "t", partition_by=partition_by), column), {"commit": 0}) == EXTENT


def test_as_it_was_when_it_was_frozen(tmp_path: Path) -> None:
    """What came after the plan's commit does not count."""
    path = written(tmp_path / "t")
    write_deltalake(
        path, pa.table({"Landed": [date(2024, 6, 1)], "at": pa.array(INSTANTS[:1]), "n": [4]}), mode="append"
    )
    assert source_extent(a_source(path, "landed"), {"commit": 0}) == EXTENT
    assert source_extent(a_source(path, "landed"), {"commit": 1}) == Interval.of("2024-01-03", "2024-06-02")


def test_what_nobody_can_tell(tmp_path: Path) -> None:
    """No time column, one that holds no time, another format, no table, a partition of NULL: not known, no guess."""
    path = written(tmp_path / "t")
    nulls = tmp_path / "nulls"
    write_deltalake(
        nulls, pa.table({"landed": pa.array([None, DAYS[0]], pa.date32()), "n": [1, 2]}), partition_by=["landed"]
    )
    for source in (
        a_source(path, None), a_source(path, "n"), a_source(path, "absent"), a_source(path, "landed", format="csv"),
        a_source(tmp_path / "nothing", "landed"), a_source(nulls, "landed"),
    ):  # fmt: skip
        assert source_extent(source, {}) is None
