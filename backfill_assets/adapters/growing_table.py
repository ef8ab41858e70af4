"""How does a control table that gets rows for ever stay as small and as fast as on its first day?

Each append leaves a small file and a log entry; each checkpoint of the log names every file, and every removed one as
long as it is remembered. So small files are joined as part of appending, up to a size from which on they are not
touched again; what was joined is removed an hour later, and entries of the log below the checkpoints kept a day later.
Nobody goes back to an earlier state of such a table: what happened is in its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.durable import local
from backfill_assets.adapters.log_folder import LOG, entry_name, read_log

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


def join_files(table: DeltaTable) -> None:
    """Join small files in one commit. Raises CommitFailedError when somebody else joins right now."""
    table.optimize.compact(target_size=_SEALED)


def small_files(table: DeltaTable) -> int:
    """How many files could be joined."""
    sizes = table.get_add_actions().column("size_bytes").to_pylist()
    return sum(size < _SEALED // 2 for size in sizes)


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
