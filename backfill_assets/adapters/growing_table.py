"""How does a control table that gets rows for ever stay as small and as fast as on its first day?

Each append leaves a small file and a log entry; each checkpoint of the log names every file, and every removed one as
long as it is remembered. So small files are joined as part of appending, up to a size from which on they are not
touched again; what was joined is removed an hour later, and entries of the log below the checkpoints kept a day later.
Nobody goes back to an earlier state of such a table: what happened is in its rows.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.control_rows import predicate
from backfill_assets.adapters.durable import local
from backfill_assets.adapters.log_folder import LOG, entry_name, read_log
from backfill_assets.state.store import Sealed, TableSpec

if TYPE_CHECKING:
    from deltalake import DeltaTable

JOIN_EVERY = 64
"""Commits after which small files are joined, by whoever made the last of them."""
PROPERTIES: Mapping[str, str] = {
    "delta.deletedFileRetentionDuration": "interval 7 days",  # longer than _KEEP: vacuum only knows what is named
    "delta.enableExpiredLogCleanup": "false",  # delta-rs would do it before the checkpoint is on the disk
}
_SEALED = 8 * 2**20
"""Bytes of a file that is not joined with others any more."""
_KEEP = timedelta(hours=1)
"""Longer than anybody reads the files of a state of the table, or copies them for a backup."""
_KEEP_LOG = timedelta(days=1)
"""Longer than a backup takes, and than a machine sleeps between two steps of an append."""
_FORGOTTEN = timedelta(days=7)
"""Longer than anybody has a file that is not committed yet."""
_CHECKPOINTS = 3
"""Kept at least: should the disk lose the newest, the table is told from the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joinable:
    """How many files of a table could be joined, and the condition of their rows; "": all of it."""

    files: int
    rows: str = ""
    bytes: int = 0
    """Of all files of the table."""


def joinable(table: DeltaTable, spec: TableSpec) -> Joinable:
    """All files, of partitions that have several; of a table that gets rows for ever those of the newest rows, which no
    file holds that is large."""
    files = table.get_add_actions(flatten=True)
    sizes = files.column("size_bytes").to_pylist()
    if spec.partition:
        of_each = Counter(files.column(f"partition.{spec.partition}").to_pylist())
        several = {value: count for value, count in of_each.items() if count > 1}
        condition = predicate({spec.partition: sorted(several)})
        return Joinable(files=sum(several.values()), rows=condition, bytes=sum(sizes))
    if not spec.grows:
        return Joinable(files=len(sizes), bytes=sum(sizes))
    if not (numbered := _numbered(table, spec)):  # made by an earlier release
        return Joinable(files=0)
    if (last := _sealed_until(numbered)) < 0:
        return Joinable(files=len(numbered))
    newer = [each for each in numbered if each.first is not None and each.first > last]
    return Joinable(files=len(newer), rows=f'"{spec.sequence}" > {last}')


@dataclass(frozen=True, slots=True, kw_only=True)
class _NumberedFile:
    """A data file, and the smallest and the largest number of its rows; None where its statistics do not say it."""

    path: str
    size: int
    first: int | None
    last: int | None


def _numbered(table: DeltaTable, spec: TableSpec) -> list[_NumberedFile]:
    """The files of a table that numbers its rows; none where no statistics say the numbers."""
    files = table.get_add_actions(flatten=True)
    names = ("path", "size_bytes", f"min.{spec.sequence}", f"max.{spec.sequence}")
    if not set(names) <= set(files.schema.names):
        return []
    said = zip(*(files.column(name).to_pylist() for name in names), strict=True)
    return [_NumberedFile(path=path, size=size, first=first, last=last) for path, size, first, last in said]


def _sealed_until(files: Iterable[_NumberedFile]) -> int:
    """The largest number in files that are not joined any more; -1 where there are none."""
    return max((f.last for f in files if f.size >= _SEALED // 2 and f.last is not None), default=-1)


def sealed(table: DeltaTable, location: str, spec: TableSpec) -> Sealed | None:
    """The rows that are in files which are not joined any more, named by these files, their sizes and times of writing.
    None where there are none, or where others have rows among them. Raises OSError where one cannot be looked at."""
    files = _numbered(table, spec)
    last = _sealed_until(files)
    inside = sorted((f.path, f.size) for f in files if f.last is not None and f.last <= last)
    others = (f for f in files if f.last is None or f.last > last)
    if last < 0 or any(f.first is None or f.first <= last for f in others):
        return None
    here = local(location)
    found = [os.stat(f"{here}/{path}") for path, _ in inside] if here is not None else []  # noqa: PTH116
    stamps = [(each.st_size, each.st_mtime_ns) for each in found]
    return Sealed(name=hashlib.sha256(repr((location, last, inside, stamps)).encode()).hexdigest(), last=last)


def join_files(table: DeltaTable, found: Joinable) -> None:
    """Write these rows again, in one commit. Raises CommitFailedError when somebody else commits right now.

    delta-rs's own `optimize` commits beside another one that joined the same files, and every row is there twice then
    (seen with deltalake 1.6, each time): it looks at the table anew right before it commits.
    """
    from deltalake import CommitProperties, QueryBuilder, write_deltalake

    where = f" WHERE {found.rows}" if found.rows else ""
    write_deltalake(
        table,
        QueryBuilder().register("t", table).execute(f"SELECT * FROM t{where}"),
        mode="overwrite",
        predicate=found.rows or None,
        target_file_size=_SEALED,
        commit_properties=CommitProperties(max_commit_retries=0),
    )


def remove_old(table: DeltaTable, location: str, *, every: bool = False) -> None:
    """Remove files that were joined, and log entries that nobody needs, after a while; `every`: files that the log has
    forgotten as well. Raises CommitFailedError when somebody else does right now."""
    said = table.metadata().configuration
    if any(said.get(name) != value for name, value in PROPERTIES.items()):  # made by an earlier release
        table.alter.set_table_properties(dict(PROPERTIES))
    # Only what the log says was removed: a file of a writer that is about to commit is in no log yet.
    age = _FORGOTTEN if every else _KEEP
    table.vacuum(int(age / timedelta(hours=1)), dry_run=False, enforce_retention_duration=False, full=every)
    if (folder := local(location)) is not None:
        _trim(folder, datetime.now(UTC) - _KEEP_LOG)


def _trim(folder: str, before: datetime) -> None:
    """Remove entries and checkpoints below those that are kept, the oldest first, if they were written before."""
    log = read_log(folder)
    kept = sorted(log.checkpoints)[-_CHECKPOINTS:]
    if len(kept) < _CHECKPOINTS:
        return
    for commit in sorted(n for n in {*log.entries, *log.checkpoints} if n < kept[0]):
        if commit in log.entries and log.entries[commit][1] >= before.timestamp() * 1e9:
            return
        for file in [Path(folder, LOG, entry_name(commit)), *Path(folder, LOG).glob(f"{commit:020}.checkpoint*")]:
            with suppress(FileNotFoundError):
                file.unlink()
