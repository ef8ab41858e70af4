"""Is it looked whether Parquet files have the columns that are declared? CSV files: `test_csv_header.py`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill_assets.adapters import parquet_footer
from backfill_assets.adapters.source_columns import file_columns
from backfill_assets.adapters.source_days import SourceDays, source_days
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Column, Source
from backfill_assets.plan.odd_files import NANOSECONDS

AT = pa.array([utc("2024-01-03")])


def source(folder: Path, *columns: str, time_column: str | None = "at", format: str = "parquet") -> Source:
    return Source(
        name="shop.bills",
        format=format,
        path=str(folder),
        time_column=time_column,
        columns=tuple(Column(name=name, type="int") for name in columns or ("at", "net")),
        options={"header": "true"} if format == "csv" else {},
        file=Path("sources.yml"),
        line=3,
    )


def write(folder: Path, name: str, *, written: int | None = None, **columns: pa.Array) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)
    if written is not None:
        os.utime(folder / name, (written, written))


def test_a_column_that_no_file_has_is_refused_by_the_plan(tmp_path: Path) -> None:
    """It would be NULL in all rows. One that only some have is there, in any letters, or in a folder's name."""
    write(tmp_path, "a.parquet", AT=AT, net=pa.array([1]))
    with pytest.raises(PlanError) as raised:
        FilePins().pin(source(tmp_path, "at", "net", "vat"))
    assert raised.value.what == "no file of source shop.bills has the column vat"
    assert "a.parquet are: AT, net" in raised.value.why and raised.value.fix.endswith("as the files do, each once")
    write(tmp_path, "b.parquet", at=AT, Vat=pa.array([1]))
    assert FilePins().pin(source(tmp_path, "at", "net", "vat"))["count"] == 2
    write(tmp_path, "k=1/c.parquet", at=AT)
    assert FilePins().pin(source(tmp_path, "at", "net", "vat", "K"))["count"] == 3


def test_a_new_file_without_the_time_column_is_refused(tmp_path: Path) -> None:
    """All of its rows would be of no time, and gone."""
    write(tmp_path, "a.parquet", at=AT, net=pa.array([1]), written=1)
    write(tmp_path, "b.parquet", net=pa.array([1]))
    with pytest.raises(PlanError, match="lacks at, its time column"):
        FilePins().pin(source(tmp_path))


def test_what_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert FilePins().pin(source(tmp_path))["count"] == 1


def test_what_each_file_has(tmp_path: Path) -> None:
    """With its days and types; the first of all is among them, also where only the newest are looked at."""
    write(tmp_path, "k=1/a.parquet", AT=AT, net=pa.array([1], pa.int32()), written=1)
    write(tmp_path, "k=2/b.parquet", at=AT, nested=pa.array([{"a": 1}]))
    write(tmp_path, "k=3/c.parquet", at=AT[:0])
    read = source(tmp_path)
    pin = FilePins().pin(read)
    first, second, third = file_columns(read, pin, lambda: SourceDays().parts(read, pin))
    assert (first.name, first.columns) == ("k=1/a.parquet", {"at": "timestamp", "net": "int", "k": None})
    assert second.columns == {"at": "timestamp", "nested": None, "k": None}
    assert str(first.days).startswith("2024-01-03") and not third.days


def test_the_first_file_is_among_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backfill_assets.adapters.source_columns.LOOKED_AT", 1)
    for number, name in enumerate(("a", "b", "c")):
        write(tmp_path, f"{name}.parquet", at=AT, net=pa.array([1]), written=number)
    read = source(tmp_path)
    assert [f.name for f in file_columns(read, FilePins().pin(read), list)] == ["a.parquet", "c.parquet"]


def test_of_csv_files_by_their_headers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("AT,net\n2024-01-03,1\n")
    (tmp_path / "b.csv").write_text("at\n2024-01-04\n")
    read = source(tmp_path, format="csv")
    pin = FilePins().pin(read)
    found = file_columns(read, pin, lambda: SourceDays().parts(read, pin))
    assert [(f.columns, str(f.days)[:10]) for f in found] == [
        ({"at": None, "net": None}, "2024-01-03"),
        ({"at": None}, "2024-01-04"),
    ]


def test_of_csv_files_by_places(tmp_path: Path) -> None:
    """They name no columns, and may be odd all the same."""
    (tmp_path / "a.csv").write_bytes(b"at,net\n1,2\n")
    (tmp_path / "b.csv").write_bytes(b'M\xfcller,"a ""b"" c"\n1,"2\n3"\n')
    one = replace(source(tmp_path, format="csv"), options={})
    headed, odd = file_columns(one, FilePins().pin(one), lambda: None)
    assert headed.unsaid_header and not (headed.misencoded or headed.misread_quotes or headed.broken_rows)
    assert odd.misencoded and odd.misread_quotes and odd.broken_rows and not odd.unsaid_header
    assert headed.columns == odd.columns == {}


def test_a_footer_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its days and for its columns: planning is not slower by that."""
    write(tmp_path, "a.parquet", at=AT, net=pa.array([1]))
    read = source(tmp_path)
    pin = FilePins().pin(read)
    before = parquet_footer._footer.cache_info().misses
    assert source_days(read, pin) and file_columns(read, pin, list)
    assert parquet_footer._footer.cache_info().misses == before


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_nanoseconds_are_told_from_microseconds(tmp_path: Path, unit: str) -> None:
    """As pandas writes them. Only of the latter Spark has a type."""
    write(tmp_path, "a.parquet", at=AT.cast(pa.timestamp(unit, "UTC")), net=pa.array([1]))
    [file] = file_columns(source(tmp_path), {"files": "x"}, lambda: None)
    assert file.columns == {"at": NANOSECONDS if unit == "ns" else "timestamp", "net": "bigint"}


def test_a_pattern_as_a_path_is_said_to_be_none(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", at=AT)
    with pytest.raises(PlanError) as raised:
        FilePins().pin(source(tmp_path / "*.parquet"))
    assert "it is no pattern; of a folder all files are read" in raised.value.fix
    with pytest.raises(PlanError) as raised:
        FilePins().pin(source(tmp_path / "away"))
    assert "pattern" not in raised.value.fix
