"""What stands in for Spark where the tables are real? Version tables in Delta, written by delta-rs, without a JVM."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from backfill_assets.adapters.control_delta import KEEP_FOR_EVER
from backfill_assets.adapters.table_log import DeltaTableLog, batch_metadata, history
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.project.object_store import delta_options
from backfill_assets.state.tables import Contents, DataCommit, Readable, StoredTable
from backfill_assets.state.versions import table_path
from backfill_assets_tests.fakes import Cell, nothing

SCHEMA = pa.schema([("ds", pa.date32()), ("id", pa.int64()), ("batch", pa.string()), ("failing", pa.int64())])


class DeltaTables:
    """What `FakeTables` does, over Delta tables in a folder: a TableLog, a TableStorage, and writes by interval.

    A cell's rows are rows; each says which batch wrote it and how many of the cell's rows fail `rows_ok`.
    """

    def __init__(self, warehouse: str) -> None:
        self.warehouse = warehouse
        self.before_remove: Callable[[str, str], object] = nothing
        self._log, self._storage = DeltaTableLog(warehouse), DeltaTableStorage(warehouse)
        self._lock, self._options = threading.Lock(), delta_options(warehouse)

    def remember(self) -> None:
        """Nothing is kept."""

    def head(self, model: str, version: str) -> int:
        return self._log.head(model, version)

    def commits(self, model: str, version: str) -> list[DataCommit]:
        return self._log.commits(model, version)

    def rows(self, model: str, version: str, commit: int) -> Mapping[datetime, int]:
        return self._log.rows(model, version, commit)

    def files(self, model: str, version: str, commit: int) -> Mapping[datetime, frozenset[str]]:
        return self._log.files(model, version, commit)

    def contents(self, model: str, version: str, commit: int) -> Contents:
        return self._log.contents(model, version, commit)

    def cells(self, model: str, version: str, commit: int = -1) -> dict[datetime, Cell]:
        """Everything in the table at a commit (-1: the newest), as its rows say."""
        table = DeltaTable(
            self._path(model, version), version=None if commit < 0 else commit, storage_options=self._options
        )
        found: dict[datetime, Cell] = {}
        for row in table.to_pyarrow_table().to_pylist():
            start = utc(row["ds"])
            rows = found[start].rows + 1 if start in found else 1
            assert start not in found or found[start].batch == row["batch"], "an interval has rows of two batches"
            found[start] = Cell(rows=rows, failures={"rows_ok": row["failing"]}, batch=row["batch"])
        return found

    def create(self, model: str, version: str) -> None:
        with self._lock:
            if self.head(model, version) < 0:
                empty = SCHEMA.empty_table()
                write_deltalake(
                    self._path(model, version),
                    empty,
                    partition_by=["ds"],
                    configuration=dict(KEEP_FOR_EVER),
                    storage_options=self._options,
                )

    def write(
        self,
        model: str,
        version: str,
        batch: str,
        interval: Interval,
        cells: Mapping[datetime, Cell],
        *,
        merged: bool = False,
    ) -> DataCommit:
        """Replace the interval's rows in one commit."""
        assert not merged
        rows = [
            {"ds": start.date(), "id": n, "batch": cell.batch, "failing": cell.failures.get("rows_ok", 0)}
            for start, cell in cells.items()
            for n in range(cell.rows)
        ]
        self._replace(model, version, interval, rows, batch_metadata(batch, interval))
        return next(c for c in reversed(self.commits(model, version)) if c.batch == batch)

    def foreign(self, model: str, version: str) -> None:
        """Somebody writes a day's rows again, by hand: no batch, no interval."""
        rows = DeltaTable(self._path(model, version)).to_pyarrow_table().to_pylist()
        day: date = min((row["ds"] for row in rows), default=date(2024, 1, 1))
        start = utc(day)
        self._replace(
            model, version, Interval(start, start + timedelta(days=1)), [r for r in rows if r["ds"] == day], ""
        )

    def optimize(self, model: str, version: str) -> None:
        """A commit that changes no rows."""
        number = self.head(model, version)
        DeltaTable(self._path(model, version)).alter.set_table_properties(
            {"delta.checkpointInterval": str(10 + number)}
        )
        assert history(self._path(model, version), 1)[0]["version"] == number + 1

    def tables(self) -> list[StoredTable]:
        return self._storage.tables()

    def readable(self, model: str, version: str, commit: int, interval: Interval, *, footers: bool = True) -> Readable:
        return self._storage.readable(model, version, commit, interval, footers=footers)

    def remove(self, model: str, version: str) -> None:
        self.before_remove(model, version)
        self._storage.remove(model, version)

    def drop(self, model: str, version: str) -> None:
        """Somebody deletes the folder."""
        shutil.rmtree(self._path(model, version))

    def _path(self, model: str, version: str) -> str:
        return table_path(self.warehouse, model, version)

    def _replace(
        self, model: str, version: str, interval: Interval, rows: list[dict[str, object]], metadata: str
    ) -> None:
        within = f"ds >= '{interval.start.date()}' AND ds < '{interval.end.date()}'"
        said = CommitProperties(custom_metadata={"userMetadata": metadata} if metadata else {})
        with self._lock:
            write_deltalake(
                self._path(model, version),
                pa.Table.from_pylist(rows, schema=SCHEMA),
                mode="overwrite",
                predicate=within,
                commit_properties=said,
                storage_options=self._options,
            )
