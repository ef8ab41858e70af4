"""Where do records live in production? Control tables as small Delta tables, through delta-rs: no JVM, milliseconds."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.control_rows import ControlRows, predicate, younger_columns
from backfill_assets.adapters.delta_errors import delta_reason
from backfill_assets.adapters.durable import local, sync_since
from backfill_assets.adapters.growing_table import (
    JOIN_EVERY,
    PROPERTIES,
    join_files,
    joinable,
    remove_old,
    sealed,
)
from backfill_assets.adapters.log_folder import read_log
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import ConflictError, StateError, too_busy
from backfill_assets.files.no_access import no_access
from backfill_assets.project.object_store import delta_options, is_out_of_reach, is_s3, unreachable, way_back
from backfill_assets.state.columns import Columns
from backfill_assets.state.store import (
    ColumnType,
    ControlTable,
    Filter,
    Keep,
    Row,
    Sealed,
    TableSpec,
    columns_of,
    matches,
    numbered,
)

if TYPE_CHECKING:
    from arro3.core import DataType, Table
    from deltalake import DeltaTable

KEEP_FOR_EVER = {
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.deletedFileRetentionDuration": "interval 3650 days",
}


_ATTEMPTS = 1000
_SMALL = 4 * 2**20
"""Bytes of a table whose files are joined as a whole by whoever appends: what was joined is kept, unlike in tables that
grow for ever."""
_JOINS = 5
"""Attempts at joining files beside others who commit."""
_APPENDING = threading.Lock()


class Guard:
    """Watches over the control tables of a warehouse; this one lets everything pass."""

    def least(self, table: str) -> int:
        """The commit that a table has reached at least; -1: it need not be there."""
        return -1

    def before_write(self) -> None:
        """Raises StateError when the tables may not be written."""

    def after_append(self, table: str, rows: Sequence[Row]) -> None:
        """What an append wrote."""

    def after_replace(self, table: str, rows: Sequence[Row], note: Mapping[str, str], commit: int) -> None:
        """What a replacement wrote, at which commit."""


class DeltaControlTable:
    """A ControlTable in Delta. Created by its first write; `location` is a folder or a URI."""

    def __init__(self, location: str, spec: TableSpec, guard: Guard | None = None) -> None:
        self._location, self._spec, self._guard = location, spec, guard or Guard()
        self._seen: tuple[object, ControlRows] | None = None
        self._lent: ControlRows | None = None
        """What somebody may still read row by row: nobody writes to it."""
        self._taking = threading.Lock()

    def read(self, where: Filter | None = None) -> list[Row]:
        return self.read_at(where)[0]

    def read_at(self, where: Filter | None = None) -> tuple[list[Row], int]:
        opened = self._open()
        return (list(self._told(opened.rows(where))), opened.commit) if opened else ([], -1)

    def stream(self, where: Filter | None = None) -> Iterator[Row]:
        opened = self._lent = self._open()
        return self._told(opened.rows(where)) if opened else iter(())

    def columns(self, names: Collection[str], where: Filter | None = None, *, after: int = -1) -> Columns:
        opened = self._open()
        if opened is None:
            return columns_of([], self._spec, names)
        with self._readable():
            return opened.columns(names, where, after)

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> Iterator[Row]:
        opened = self._lent = self._open()
        return self._told(opened.chosen(names, keep, after)) if opened else iter(())

    def sealed(self) -> Sealed | None:
        opened = self._open()
        if opened is None or not self._spec.grows:
            return None
        with self._readable():
            return sealed(opened.table, self._location, self._spec)

    def _told(self, rows: Iterator[Row]) -> Iterator[Row]:
        with self._readable():
            yield from rows

    def revision(self) -> int:
        opened = self._open()
        return opened.commit if opened else -1

    def state(self) -> str:
        opened = self._open()
        if opened is None:
            return ""
        table = opened.table
        # Also lists what was committed since it was opened: then it is read anew next time.
        times = [commit.get("timestamp") for commit in table.history(1)]
        return f"{table.metadata().id} {opened.commit} {times}"

    def append(self, rows: Sequence[Row]) -> None:
        commit = self._append(rows)
        self._guard.after_append(self._spec.name, rows)
        if commit % JOIN_EVERY == 0:
            with suppress(StateError), _APPENDING:  # the rows are recorded: whoever comes after makes up for it
                if self._spec.grows:
                    self._tidy()
                else:
                    self._join(JOIN_EVERY // 2, most_bytes=_SMALL)

    def _append(self, rows: Sequence[Row]) -> int:
        """At which commit."""
        from deltalake import CommitProperties, write_deltalake
        from deltalake.exceptions import CommitFailedError

        # Appends never exclude each other, so delta-rs may try as often as it takes (15 times by default); beside
        # somebody who joins files it gives up, now and then. Rows that are numbered are those of one commit only.
        retries = 0 if self._spec.sequence else _ATTEMPTS
        for _ in attempts(_ATTEMPTS):
            with _APPENDING:  # threads of one process need not race each other
                table = self._whole()
                commit = table.version() + 1
                mine = numbered(rows, self._spec, commit)
                with self._durable(commit - 1), suppress(CommitFailedError):  # somebody else has that number
                    properties = CommitProperties(max_commit_retries=retries)
                    write_deltalake(table, self._arrow(mine), mode="append", commit_properties=properties)
                    self._keep(table, commit)
                    return commit
        raise too_busy(f"{self._location} is too busy")

    def replace(self, rows: Sequence[Row], *, where: Filter, revision: int, note: Mapping[str, str]) -> int:
        from deltalake import CommitProperties, write_deltalake
        from deltalake.exceptions import CommitFailedError

        assert all(matches(row, where) for row in rows)
        table = self._whole()
        if table.version() != max(revision, 0):
            raise ConflictError(f"{self._spec.name}: expected revision {revision}, found {table.version()}")
        with self._durable(table.version()):
            try:
                write_deltalake(
                    table,
                    self._arrow(numbered(rows, self._spec, table.version() + 1)),
                    mode="overwrite",
                    predicate=predicate(where),
                    commit_properties=CommitProperties(custom_metadata=dict(note), max_commit_retries=0),
                )
            except CommitFailedError as error:
                raise ConflictError(f"{self._spec.name}: somebody else committed first", why=str(error)) from None
        commit = max(revision, 0) + 1  # without retries it is this commit or none; the table may have moved on already
        self._keep(table, commit)
        self._guard.after_replace(self._spec.name, rows, note, commit)
        return commit

    def compact(self, most_files: int = 64) -> None:
        if self._spec.grows:
            self._tidy(most_files, every=True)
            return
        opened = self._open()
        if opened and joinable(opened.table, self._spec).files > most_files:
            self._join(most_files)

    def _join(self, most_files: int, most_bytes: int | None = None) -> None:
        """Join files, unless others commit each time: whoever comes after makes up for it; or they are more than so
        many bytes, which would be written once more each time."""
        from deltalake.exceptions import CommitFailedError

        for _ in range(_JOINS):
            if (table := self._newest()) is None or (found := joinable(table, self._spec)).files <= max(most_files, 1):
                return
            if most_bytes is not None and found.bytes > most_bytes:
                return
            with self._durable(table.version()), suppress(CommitFailedError):
                join_files(table, found)
                return

    def _tidy(self, most_files: int = 0, *, every: bool = False) -> None:
        """`every`: files that no log names as well."""
        from deltalake.exceptions import CommitFailedError

        self._join(most_files)
        if (table := self._newest()) is not None:
            with self._durable(table.version()), suppress(CommitFailedError):  # somebody else does it right now
                remove_old(table, self._location, every=every)

    def _whole(self) -> DeltaTable:
        """The table with every column, to write to."""
        from deltalake import Field
        from deltalake.schema import PrimitiveType

        with self._durable():
            self._guard.before_write()
        table = self._taken()
        if table is None:
            with self._durable(-1):
                table = self._create()
        if younger := younger_columns(table, self._spec):
            kinds = {"text": "string", "time": "timestamp", "int": "long", "float": "double", "bool": "boolean"}
            with self._durable(table.version()):
                table.alter.add_columns(
                    [Field(n, PrimitiveType(kinds[self._spec.columns[n]])) for n in sorted(younger)]
                )
            table = self._newest() or table
        return table

    def _open(self) -> ControlRows | None:
        """The newest state, to read from: what was opened before, where nothing was written since. To open a table is
        to read its log."""
        state, seen = self._log_state(), self._seen  # other threads read and write as well
        if seen is not None and state == seen[0]:
            self._held(seen[1].table)
            return seen[1]
        table = self._newest()
        opened = ControlRows(table, self._spec, table.version()) if table is not None else None
        self._seen = (state, opened) if opened is not None and state and state == self._log_state() else None
        return opened

    def _keep(self, table: DeltaTable, commit: int) -> None:
        """What a write left is what there is to read, where it is this commit and nobody wrote since."""
        folder = local(self._location)
        with suppress(OSError, StateError):  # it is written all the same
            if folder is not None and table.version() == commit and (log := read_log(folder)).head == commit:
                self._seen = (log.state, ControlRows(table, self._spec, commit))

    def _taken(self) -> DeltaTable | None:
        """The newest state, of the caller's own, to write to: what was opened before, where nothing was written since;
        nobody else is given it again."""
        state = self._log_state()
        with self._taking:
            seen, self._seen = self._seen, None
        if seen is None or state != seen[0] or seen[1] is self._lent:
            return self._newest()
        return self._held(seen[1].table)

    def _log_state(self) -> object:
        """Another one after whatever was written to the log; None where that costs as much as opening the table."""
        if (folder := local(self._location)) is None:
            return None
        try:
            return read_log(folder).state
        except NotADirectoryError:  # whoever opens it says so
            return None

    def _newest(self) -> DeltaTable | None:
        """The newest state, of the caller's own: writing to a table changes it."""
        return self._held(open_table(self._location))

    def _held(self, table: DeltaTable | None) -> DeltaTable | None:
        """The table, which must have reached what was recorded of it."""
        least = self._guard.least(self._spec.name)
        if (table.version() if table else -1) < least:
            raise StateError(
                f"the control table {self._location} is lost, or older than it was",
                why=f"it ends at commit {table.version()} of {least}" if table else "it is gone",
                fix="run the command again when the folder is there; `backfill doctor` says more",
            )
        return table

    @contextmanager
    def _readable(self) -> Generator[None]:
        """Say which table it is that cannot be read, and what to do."""
        try:
            yield
        except Exception as error:  # delta-rs raises no other class for a data file that is damaged
            if is_s3(self._location) and is_out_of_reach(str(error)):
                raise unreachable(self._location, delta_reason(error)) from None
            if not is_s3(self._location) and "Permission denied" in str(error):
                raise no_access(self._location) from None
            raise StateError(
                f"the control table {self._location} cannot be read",
                why=delta_reason(error),
                fix="check that the warehouse is reachable; what is damaged comes back with "
                f"{way_back(self._location)}",
            ) from None

    @contextmanager
    def _durable(self, seen: int | None = None) -> Generator[None]:
        """What is written within is on the disk at the end: every commit after `seen`. Raises StateError."""
        from deltalake.exceptions import DeltaError

        if Path(self._location).is_dir() and not os.access(self._location, os.W_OK | os.X_OK):
            raise no_access(self._location)  # delta-rs would say it in a panic of its own, on the terminal
        try:
            yield
            if seen is not None:
                sync_since(self._location, seen)
        except (OSError, DeltaError) as error:
            if is_s3(self._location):
                raise unreachable(self._location, delta_reason(error)) from None
            if "Permission denied" in str(error):
                raise no_access(getattr(error, "filename", None) or self._location) from None
            raise StateError(
                f"the control table {self._location} cannot be written; what was done before is kept",
                why=delta_reason(error),
                fix="make room on the disk, or make the folder writable; then run the same command again",
            ) from None

    def _create(self) -> DeltaTable:
        from arro3.core import Field
        from arro3.core import Schema as ArrowSchema
        from deltalake import CommitProperties, DeltaTable, Schema
        from deltalake.exceptions import CommitFailedError

        options = delta_options(self._location)
        fields = [Field(name, _arrow_type(kind), nullable=False) for name, kind in self._spec.columns.items()]
        if self._spec.secret and "://" not in self._location:
            folder = Path(self._location)
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) & ~stat.S_IRWXO)  # a shared folder's group stays
        try:
            return DeltaTable.create(
                self._location,
                schema=Schema.from_arrow(ArrowSchema(fields)),
                mode="ignore",
                partition_by=[self._spec.partition] if self._spec.partition else None,
                configuration={**KEEP_FOR_EVER, **(PROPERTIES if self._spec.grows else {})},
                # With retries, the loser of a race commits its metadata again, which fails whoever is appending.
                commit_properties=CommitProperties(max_commit_retries=0),
                storage_options=options,
            )
        except CommitFailedError:  # somebody else created it
            return DeltaTable(self._location, storage_options=options)

    def _arrow(self, rows: Sequence[Row]) -> Table:
        from arro3.core import Array, DataType, Field, Schema, Table

        arrays, fields = [], []
        for name, kind in self._spec.columns.items():
            values = [row[name] for row in rows]
            if kind == "time":
                micros = [_micros(value) for value in values]
                array = Array(micros, DataType.int64()).cast(_arrow_type("time"))
            else:
                array = Array(values, _arrow_type(kind))
            arrays.append(array)
            fields.append(Field(name, _arrow_type(kind), nullable=False))
        return Table.from_arrays(arrays, schema=Schema(fields))


class DeltaStore:
    """A Store whose tables live under `<warehouse>/_control/`."""

    def __init__(self, warehouse: str, guard: Guard | None = None) -> None:
        self._root, self._guard = f"{warehouse}/_control", guard
        self._tables: dict[str, tuple[TableSpec, DeltaControlTable]] = {}

    def table(self, spec: TableSpec) -> ControlTable:
        """The one of that name: all who ask share what was read of it."""
        known = self._tables.get(spec.name)
        if known is None or known[0] != spec:
            known = spec, DeltaControlTable(f"{self._root}/{spec.name}", spec, self._guard)
            self._tables[spec.name] = known
        return known[1]


def _arrow_type(kind: ColumnType) -> DataType:
    from arro3.core import DataType

    match kind:
        case "text":
            return DataType.utf8()
        case "time":
            return DataType.timestamp("us", tz="UTC")
        case "int":
            return DataType.int64()
        case "float":
            return DataType.float64()
        case "bool":
            return DataType.bool()


def _micros(value: object) -> int:
    assert isinstance(value, datetime)
    whole = int(value.replace(microsecond=0).timestamp())
    return whole * 1_000_000 + value.microsecond
