"""What do the logs of Delta tables say? Read through delta-rs: no JVM, milliseconds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.data_files import IntervalFile, data_files
from backfill_assets.adapters.delta_errors import delta_reason
from backfill_assets.adapters.durable import local
from backfill_assets.adapters.known_logs import KnownLogs
from backfill_assets.adapters.log_folder import check_log, damaged, list_log
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.files.no_access import no_access
from backfill_assets.project.object_store import delta_options, is_out_of_reach, is_s3, unreachable
from backfill_assets.state.changes import Changes
from backfill_assets.state.tables import Contents, DataCommit
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

HARMLESS = frozenset(
    {
        "CREATE TABLE",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "OPTIMIZE",
        "VACUUM START",
        "VACUUM END",
        "CHANGE COLUMN",
        "UPGRADE PROTOCOL",
        "COMPUTE STATS",
        "FSCK REPAIR",
    }
)
"""Operations that do not change rows (Delta protocol, `commitInfo.operation`)."""


class DeltaTableLog:
    """A TableLog over the version tables of one warehouse."""

    def __init__(self, warehouse: str, known: KnownLogs | None = None) -> None:
        """`known`: what remembers the listings of logs on a local disk."""
        self._warehouse, self._known = warehouse, known

    def head(self, model: str, version: str) -> int:
        location = table_path(self._warehouse, model, version)
        if "://" in location:
            return _head(location)
        # A listing takes microseconds, opening a table of many files milliseconds; planning asks for every model.
        return check_log(location, every=False, listing=self._known.listing if self._known else list_log)

    def remember(self) -> None:
        """Keep what was listed for the next command, where something does."""
        if self._known:
            self._known.save()

    def commits(self, model: str, version: str) -> list[DataCommit]:
        found = history(table_path(self._warehouse, model, version))
        return [data_commit(c) for c in reversed(found) if c["operation"] not in HARMLESS]

    def rows(self, model: str, version: str, commit: int) -> Mapping[datetime, int]:
        return table_rows(table_path(self._warehouse, model, version), commit)

    def files(self, model: str, version: str, commit: int) -> Mapping[datetime, frozenset[str]]:
        found: dict[datetime, set[str]] = defaultdict(set)
        for file in _files(table_path(self._warehouse, model, version), commit):
            found[file.at].add(file.path)
        return {instant: frozenset(paths) for instant, paths in found.items()}

    def contents(self, model: str, version: str, commit: int) -> Contents:
        return _counted(_files(table_path(self._warehouse, model, version), commit))


def table_rows(location: str, commit: int) -> Mapping[datetime, int]:
    """Rows per value of the interval column at a commit, from file statistics, whichever commits wrote the files."""
    counts: dict[datetime, int] = defaultdict(int)
    for file in _files(location, commit):
        counts[file.at] += file.rows
    return counts


def rows_within(location: str, commit: int, interval: Interval) -> int:
    """The rows of an interval at a commit, likewise."""
    return sum(rows for at, rows in table_rows(location, commit).items() if interval.holds(at))


def table_contents(table: DeltaTable) -> Contents:
    """Files and rows of an opened table, by value of the interval column."""
    return _counted(data_files(table))


def _counted(found: Iterable[IntervalFile]) -> Contents:
    files, rows = defaultdict[datetime, int](int), defaultdict[datetime, int](int)
    for file in found:
        files[file.at] += 1
        rows[file.at] += file.rows
    return Contents(files=files, rows=rows)


def _files(location: str, commit: int) -> Iterator[IntervalFile]:
    """The files of each interval. Raises StateError when the table is gone."""
    table = open_table(location, commit)
    if table is None:
        raise StateError(
            f"a version's table is gone: {location}",
            why="the folder is not there",
            fix="restore the folder from a backup, or build and promote again",
        )
    yield from data_files(table)


def open_table(location: str, commit: int | None = None) -> DeltaTable | None:
    """The Delta table at a folder or URI, at a commit (None: newest); None when there is no table.

    Raises StateError when its log is damaged, or does not reach to the commit.
    """
    folder = local(location)
    if folder is not None and check_log(folder, commit) < 0:
        return None
    from deltalake import DeltaTable  # not before: a first plan has no table to open
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        table = DeltaTable(location, version=commit, storage_options=delta_options(location))
    except TableNotFoundError:
        return None
    except PermissionError:
        raise no_access(location) from None
    except OSError as error:
        if not is_s3(location):
            raise
        raise unreachable(location, delta_reason(error)) from None
    except DeltaError as error:
        if is_s3(location) and is_out_of_reach(str(error)):
            raise unreachable(location, delta_reason(error)) from None
        raise damaged(location, delta_reason(error)) from None
    if commit is not None and table.version() != commit:
        raise damaged(location, f"commit {commit} was wanted, and {table.version()} was found")
    return table


def history(location: str, limit: int | None = None) -> list[dict[str, Any]]:
    """The table's commits, newest first, each with its number in `version`; none when there is no table.

    delta-rs numbers them backwards from the version that it loaded, but also lists what was committed since: with a
    concurrent writer the numbers are off. They are right when nobody committed in between.
    """
    while (table := open_table(location)) is not None:
        found, folder = table.history(limit), local(location)
        now = _head(location) if folder is None else check_log(folder, every=False)
        if now == table.version():
            return found
    return []


def _head(location: str) -> int:
    table = open_table(location)
    return table.version() if table else -1


def batch_metadata(batch: str, interval: Interval) -> str:
    """What a batch writes in its commit's `userMetadata`."""
    return json.dumps({"backfill_batch": batch, "start": interval.start.isoformat(), "end": interval.end.isoformat()})


def data_commit(info: Mapping[str, Any]) -> DataCommit:
    """A history record as a DataCommit; one that this system did not write has no batch."""
    batch, interval = "", None
    try:
        said = json.loads(info.get("userMetadata") or "{}")
        batch, interval = said["backfill_batch"], Interval(utc(said["start"]), utc(said["end"]))
    except (ValueError, KeyError, TypeError):
        batch, interval = "", None
    metrics = info.get("operationMetrics") or {}
    merged = info.get("operation") == "MERGE"
    return DataCommit(
        table_commit=int(info["version"]),
        batch=batch,
        interval=interval,
        rows=int(metrics.get("numOutputRows") or 0),
        bytes=int(metrics.get("numTargetBytesAdded" if merged else "numOutputBytes") or 0),
        changes=Changes(
            inserted=int(metrics.get("numTargetRowsInserted") or 0),
            updated=int(metrics.get("numTargetRowsUpdated") or 0),
            deleted=int(metrics.get("numTargetRowsDeleted") or 0),
            copied=int(metrics.get("numTargetRowsCopied") or 0),
        )
        if merged
        else None,
    )
