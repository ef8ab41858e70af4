"""Which process writes to a version's table in an object store? A row per table, put there by one commit or by none.

Who wants to write takes the lease of the table; of two who want it, the second loses its race, looks again and finds
the first. It is given back at the end. Who ended without that gives no sign of life any more: then the next one takes
it over. That the one before cannot go on writing when it wakes, the table's own log sees to (decision 0050).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import ConflictError, too_busy
from backfill_assets.state.store import Filter, Records, Row, TableSpec

WRITER_LEASES = TableSpec(
    name="writer_leases",
    columns={
        "target": "text",
        "model": "text",
        "version": "text",
        "run": "text",
        "process": "text",
        "home": "text",
        "pid": "int",
        "since": "time",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterLease:
    """That a process may write to a version's table, for a run, since an instant.

    `process` tells it from all others, wherever they run; `home` and `pid` are for people.
    """

    model: str
    version: str
    run: str
    process: str
    home: str
    pid: int
    since: datetime

    @property
    def holder(self) -> str:
        """Who has it, as people read it."""
        at = f"{self.since:%Y-%m-%d %H:%M:%S} UTC"
        return f"run {self.run}, process {self.pid} of {self.home.partition('/')[0]}, since {at}"


class WriterLeases(Records):
    """The leases that somebody has, or has left."""

    spec = WRITER_LEASES

    def all(self) -> list[WriterLease]:
        """Every lease that was not given back, by model and version."""
        return sorted(map(_lease, self._table.read()), key=lambda lease: (lease.model, lease.version))

    def of(self, model: str, version: str) -> WriterLease | None:
        """The lease of a table."""
        return next(map(_lease, self._table.read(_where(model, version))), None)

    def take(self, mine: WriterLease, is_over: Callable[[WriterLease], bool]) -> WriterLease | None:
        """Take the lease of a table, also from another process whose lease `is_over`; None when it is `mine` now, else
        who has it. Raises StateError when every attempt loses its race."""
        where = _where(mine.model, mine.version)
        for _ in attempts():
            rows, revision = self._table.read_at(where)
            there = next(map(_lease, rows), None)
            if there is not None and there.process != mine.process and not is_over(there):
                return there
            with suppress(ConflictError):
                self._table.replace([_row(mine)], where=where, revision=revision, note={"lease": mine.run})
                return None
        raise too_busy("the leases are too busy")

    def give_back(self, mine: WriterLease) -> None:
        """It is over; what another one took over meanwhile stays its own. Raises StateError."""
        where = _where(mine.model, mine.version)
        for _ in attempts():
            rows, revision = self._table.read_at(where)
            if not any(_lease(row).process == mine.process for row in rows):
                return
            with suppress(ConflictError):
                self._table.replace([], where=where, revision=revision, note={"lease": mine.run})
                return
        raise too_busy("the leases are too busy")


def _where(model: str, version: str) -> Filter:
    return {"target": [f"{model}/{version}"]}


def _row(lease: WriterLease) -> Row:
    return {
        "target": f"{lease.model}/{lease.version}",
        "model": lease.model,
        "version": lease.version,
        "run": lease.run,
        "process": lease.process,
        "home": lease.home,
        "pid": lease.pid,
        "since": lease.since,
    }


def _lease(row: Row) -> WriterLease:
    return WriterLease(
        model=cast(str, row["model"]),
        version=cast(str, row["version"]),
        run=cast(str, row["run"]),
        process=cast(str, row["process"]),
        home=cast(str, row["home"]),
        pid=cast(int, row["pid"]),
        since=cast(datetime, row["since"]),
    )
