"""How does one process at a time write to a version's table in a bucket? By a lease, which the table's log knows of.

The lease is a row of a control table. Before its first batch its holder makes itself the table's writer, by a commit of
the table: from then on the log store refuses what an earlier holder, that was paused, still tries to commit.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from backfill_assets.adapters.commit_log import WRITER
from backfill_assets.adapters.delta_errors import delta_reason
from backfill_assets.adapters.heartbeat import check_heard, machine_name, process_token, silent_for
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import StateError, too_busy
from backfill_assets.project.object_store import is_s3
from backfill_assets.state.heartbeats import STOPPED_AFTER
from backfill_assets.state.versions import table_path
from backfill_assets.state.writer_leases import WriterLease, WriterLeases


@contextmanager
def writing(warehouse: str, leases: WriterLeases, run: str, model: str, version: str) -> Generator[Callable[[], None]]:
    """Have the lease of a version's table while the block runs; runs of one process share it. What is yielded makes the
    process the table's writer: to be called when the table is there, before a row of it is.

    Not needed but in a bucket: elsewhere Delta's log store keeps writers of all processes apart. Raises StateError when
    another process has the lease and is at work.
    """
    if not is_s3(warehouse):
        yield _nothing
        return
    mine = WriterLease(
        model=model,
        version=version,
        run=run,
        process=process_token(),
        home=machine_name(),
        pid=os.getpid(),
        since=datetime.now(UTC),
    )
    key = warehouse, model, version
    check_heard(warehouse, run)  # whose lease was taken over does not take it back
    with _LOCK:
        if not _HELD[key]:
            _take(warehouse, leases, mine)
        _HELD[key] += 1
    try:
        yield lambda: _become_writer(table_path(warehouse, model, version), leases, mine)
    finally:
        with _LOCK:
            _HELD[key] -= 1
            if not _HELD[key]:
                with suppress(OSError, StateError):  # without a sign of life it is over as well
                    leases.give_back(mine)


def _take(warehouse: str, leases: WriterLeases, mine: WriterLease) -> None:
    heard: dict[str, float | None] = {}

    def is_over(other: WriterLease) -> bool:
        heard[other.process] = silent_for(warehouse, other.process)
        return heard[other.process] is None

    if (other := leases.take(mine, is_over)) is not None:
        raise StateError(
            f"another process writes to {mine.model}",
            why=f"{other.holder}, which gave a sign of life {heard[other.process] or 0:.0f} s ago; in an object store "
            "one process at a time may write to a version's table",
            fix=f"run it again when that is over; who was killed is forgotten after {STOPPED_AFTER:.0f} s",
        )


def _become_writer(location: str, leases: WriterLeases, mine: WriterLease) -> None:
    """Look at the table, then at the lease, then commit, as the next commit or not at all: who took the lease over
    since the second look commits after this one, or makes it fail. Raises StateError when it is another's."""
    from deltalake import CommitProperties
    from deltalake.exceptions import CommitFailedError, DeltaError

    once = CommitProperties(max_commit_retries=0)
    for _ in range(_ATTEMPTS):
        table, there = open_table(location), leases.of(mine.model, mine.version)
        if there is None or there.process != mine.process:
            raise StateError(
                f"another process has taken over {mine.model}",
                why=there.holder if there else "it took this one for stopped, and is done",
                fix="see that the machine does not sleep, and run the same command again: finished batches are kept",
            )
        assert table is not None
        if table.metadata().configuration.get(WRITER) == mine.process:
            return
        with suppress(CommitFailedError):
            try:
                table.alter.set_table_properties(
                    {WRITER: mine.process}, raise_if_not_exists=False, commit_properties=once
                )
                return
            except CommitFailedError:
                raise
            except DeltaError as error:
                raise StateError(
                    f"the table of {mine.model} cannot be written",
                    why=delta_reason(error),
                    fix="run `backfill doctor`",
                ) from None
    raise too_busy(f"the table of {mine.model} is too busy")


_ATTEMPTS = 20


def _nothing() -> None:
    pass


_LOCK = threading.Lock()
_HELD = Counter[tuple[str, str, str]]()
