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
from collections.abc import Mapping
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


def joinable(table: DeltaTable, spec: TableSpec) -> Joinable:
    """All files, of partitions that have several; of a table that gets rows for ever those of the newest rows, which no
    file holds that is large."""
    files = table.get_add_actions(flatten=True)
    sizes = files.column("size_bytes").to_pylist()
    if spec.partition:
        of_each = Counter(files.column(f"partition.{spec.partition}").to_pylist())
        several = {value: count for value, count in of_each.items() if count > 1}
        return Joinable(files=sum(several.values()), rows=predicate({spec.partition: sorted(several)}))
    if not spec.grows:
        return Joinable(files=len(sizes))
    low, high = f"min.{spec.sequence}", f"max.{spec.sequence}"
    if not {low, high} <= set(files.schema.names):  # made by an earlier release
        return Joinable(files=0)
    ends = [*zip(sizes, files.column(low).to_pylist(), files.column(high).to_pylist(), strict=True)]
    sealed = [last for size, _, last in ends if size >= _SEALED // 2 and last is not None]
    if not sealed:
        return Joinable(files=len(ends))
    newer = [first for _, first, _ in ends if first is not None and first > max(sealed)]
    return Joinable(files=len(newer), rows=f'"{spec.sequence}" > {max(sealed)}')


def sealed(table: DeltaTable, location: str, spec: TableSpec) -> Sealed | None:
    """The rows that are in files which are not joined any more, named by these files, their sizes and times of writing.
    None where there are none, or where others have rows among them. Raises OSError where one cannot be looked at."""
    files = table.get_add_actions(flatten=True)
    low, high = f"min.{spec.sequence}", f"max.{spec.sequence}"
    if not {low, high} <= set(files.schema.names):  # made by an earlier release
        return None
    said = [*zip(*(files.column(n).to_pylist() for n in ("path", "size_bytes", low, high)), strict=True)]
    last = max((most for _, size, _, most in said if size >= _SEALED // 2 and most is not None), default=-1)
    inside = [(path, size) for path, size, _, most in said if most is not None and most <= last]
    if last < 0 or any(least is None or least <= last for path, size, least, _ in said if (path, size) not in inside):
        return None
    here = local(location)
    found = [os.stat(f"{here}/{path}") for path, _ in sorted(inside)] if here is not None else []  # noqa: PTH116
    stamps = [(each.st_size, each.st_mtime_ns) for each in found]
    name = hashlib.sha256(repr((location, last, sorted(inside), stamps)).encode()).hexdigest()
    return Sealed(name=name, last=last)


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
