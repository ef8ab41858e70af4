"""What every TableLog promises: one suite for the fake in memory and the one over Delta tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from backfill_assets.adapters.table_log import DeltaTableLog, batch_metadata
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.state.tables import TableLog
from backfill_assets_tests.fakes import Cell, FakeTables, days

MODEL, VERSION = "orders", "abc"
SCHEMA = pa.schema([("ds", pa.date32()), ("id", pa.int64())])


class Tables(Protocol):
    """How the suite writes."""

    log: TableLog

    def create(self) -> None: ...
    def write(self, batch: str, interval: Interval, rows: Mapping[datetime, int]) -> None: ...
    def foreign(self) -> None: ...
    def optimize(self) -> None: ...
    def drop(self) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self.log = FakeTables()
        self.create: Callable[[], None] = lambda: self.log.create(MODEL, VERSION)
        self.foreign: Callable[[], None] = lambda: self.log.foreign(MODEL, VERSION)
        self.optimize: Callable[[], None] = lambda: self.log.optimize(MODEL, VERSION)
        self.drop: Callable[[], None] = lambda: self.log.drop(MODEL, VERSION)

    def write(self, batch: str, interval: Interval, rows: Mapping[datetime, int]) -> None:
        self.log.write(MODEL, VERSION, batch, interval, {start: Cell(rows=n, batch=batch) for start, n in rows.items()})


@dataclass
class InDelta:
    root: Path

    def __post_init__(self) -> None:
        self.log = DeltaTableLog(str(self.root))
        self.place = str(self.root / MODEL / VERSION)

    def create(self) -> None:
        from deltalake import Schema

        DeltaTable.create(self.place, Schema.from_arrow(SCHEMA), partition_by=["ds"])

    def write(self, batch: str, interval: Interval, rows: Mapping[datetime, int]) -> None:
        dates = [start.date() for start, n in rows.items() for _ in range(n)]
        write_deltalake(
            self.place,
            pa.table({"ds": dates, "id": list(range(len(dates)))}, schema=SCHEMA),
            mode="overwrite",
            predicate=f"ds >= '{interval.start:%Y-%m-%d}' AND ds < '{interval.end:%Y-%m-%d}'",
            commit_properties=CommitProperties(custom_metadata={"userMetadata": batch_metadata(batch, interval)}),
        )

    def foreign(self) -> None:
        write_deltalake(
            self.place, pa.table({"ds": [utc("2024-01-01").date()], "id": [0]}, schema=SCHEMA), mode="append"
        )

    def optimize(self) -> None:
        before = DeltaTable(self.place).version()
        DeltaTable(self.place).optimize.compact()
        assert DeltaTable(self.place).version() == before + 1

    def drop(self) -> None:
        import shutil

        shutil.rmtree(self.place)


@pytest.fixture(params=["memory", "delta"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    return InMemory() if request.param == "memory" else InDelta(tmp_path)


def test_no_table(tables: Tables) -> None:
    """Before a table is made, and after it is deleted, there are no commits and the head is -1."""
    assert tables.log.head(MODEL, VERSION) == -1
    assert tables.log.commits(MODEL, VERSION) == []
    tables.create()
    tables.drop()
    assert tables.log.head(MODEL, VERSION) == -1


def test_creating_changes_no_rows(tables: Tables) -> None:
    """A new table is at commit 0, which is no data commit; it has no rows at all."""
    tables.create()
    assert tables.log.head(MODEL, VERSION) == 0
    assert tables.log.commits(MODEL, VERSION) == []
    assert dict(tables.log.rows(MODEL, VERSION, 0)) == {}


def test_batches_are_read_back_from_the_log(tables: Tables) -> None:
    """Each data commit says its batch and interval, oldest first."""
    tables.create()
    tables.write("b1", days("01", "02"), {days("01").start: 2, days("02").start: 1})
    tables.write("b2", days("03"), {days("03").start: 1})
    found = tables.log.commits(MODEL, VERSION)
    assert [(c.table_commit, c.batch, c.interval) for c in found] == [
        (1, "b1", days("01", "02")),
        (2, "b2", days("03")),
    ]
    assert tables.log.head(MODEL, VERSION) == 2


def test_a_foreign_commit_has_no_batch(tables: Tables) -> None:
    """Rows that somebody else wrote show up, as nobody's."""
    tables.create()
    tables.foreign()
    assert [(c.table_commit, c.batch, c.interval) for c in tables.log.commits(MODEL, VERSION)] == [(1, "", None)]


def test_compaction_is_no_data_commit(tables: Tables) -> None:
    """It moves the head, and is not listed."""
    tables.create()
    tables.write("b1", days("01"), {days("01").start: 2})
    tables.write("b2", days("02"), {days("02").start: 2})
    tables.foreign()
    tables.optimize()
    assert tables.log.head(MODEL, VERSION) == 4
    assert [c.table_commit for c in tables.log.commits(MODEL, VERSION)] == [1, 2, 3]


def test_rows_are_those_of_the_commit(tables: Tables) -> None:
    """Counts per interval start at the commit asked for, whatever came later."""
    tables.create()
    tables.write("b1", days("01", "02"), {days("01").start: 2, days("02").start: 1})
    tables.write("b2", days("02"), {days("02").start: 5})
    assert dict(tables.log.rows(MODEL, VERSION, 1)) == {days("01").start: 2, days("02").start: 1}
    assert dict(tables.log.rows(MODEL, VERSION, 2)) == {days("01").start: 2, days("02").start: 5}


def test_files_change_where_rows_were_written(tables: Tables) -> None:
    """A day that a commit did not write has the same files before and after it, and another one has others."""
    tables.create()
    tables.write("b1", days("01", "02"), {days("01").start: 2, days("02").start: 1})
    tables.write("b2", days("02", "03"), {days("02").start: 1, days("03").start: 1})
    before, after = (tables.log.files(MODEL, VERSION, commit) for commit in (1, 2))
    assert set(before) == {days("01").start, days("02").start}
    assert set(after) == {days("01").start, days("02").start, days("03").start}
    assert {start for start in after if after[start] == before.get(start)} == {days("01").start}
