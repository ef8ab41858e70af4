"""Flipped bits, which neither the log nor a footer tells, are found by a full read; lost rows by the counts."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backfill_assets.adapters.whole import look_at_all
from backfill_assets_tests.contracts.test_backup import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    for number in (1, 2, 3):
        made.release(number)
    return made


def data_file(house: House) -> Path:
    return next(Path(house.warehouse, "a", "a-1", "ds=2024-01-02").glob("*.parquet"))


@pytest.mark.parametrize("every_file", [True, False])
def test_a_whole_warehouse(house: House, every_file: bool) -> None:
    """All records, pointers and files are read, and nothing is found."""
    found = look_at_all(house.open(), house.warehouse, every_file=every_file)
    assert found.problems == ()
    assert (found.pointers, found.files, found.rows) == (1, 3, 9) and found.records > 0


def test_a_flipped_bit_is_found(house: House) -> None:
    """In a page whose checksum Spark would write; size, footer and row count stay as they are."""
    file = data_file(house)
    pq.write_table(pq.ParquetFile(file).read(), file, write_page_checksum=True, compression="none")
    log = next(p for p in Path(house.warehouse, "a", "a-1", "_delta_log").glob("*.json") if file.name in p.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["size"] = file.stat().st_size
    log.write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert look_at_all(house.open(), house.warehouse, every_file=True).problems == ()
    content = bytearray(file.read_bytes())
    column = pq.ParquetFile(file).metadata.row_group(0).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    content[begin + column.total_compressed_size - 1] ^= 1
    file.write_bytes(bytes(content))
    (problem,) = look_at_all(house.open(), house.warehouse, every_file=True).problems
    assert file.name in problem


def test_missing_and_cut_files_are_found(house: House) -> None:
    """By name."""
    file = data_file(house)
    file.write_bytes(file.read_bytes()[:-1])
    (problem,) = look_at_all(house.open(), house.warehouse, every_file=False).problems
    assert file.name in problem and "bytes" in problem
    file.unlink()
    (problem,) = look_at_all(house.open(), house.warehouse, every_file=False).problems
    assert file.name in problem
