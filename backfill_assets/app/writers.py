"""Use case: who writes to the tables of a warehouse in an object store, and is it still at work?"""

from __future__ import annotations

from dataclasses import dataclass

from backfill_assets.adapters.heartbeat import read_heartbeats
from backfill_assets.app.context import Context
from backfill_assets.project.object_store import is_s3
from backfill_assets.state.heartbeats import why_silent
from backfill_assets.state.writer_leases import WriterLease


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who has the lease of a table. `over` says why the process is taken for stopped; "" while it is at work."""

    lease: WriterLease
    over: str

    def __str__(self) -> str:
        if self.over:
            return f"{self.lease.model} was written by {self.lease.holder}: {self.over}, the next build takes over"
        return f"{self.lease.model} is written by {self.lease.holder}"

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        lease = self.lease
        return {
            "model": lease.model,
            "version": lease.version,
            "run": lease.run,
            "home": lease.home,
            "pid": lease.pid,
            "since": lease.since.isoformat(),
            "over": self.over,
        }


def read_writers(context: Context) -> tuple[Writer, ...]:
    """Every lease that was not given back, by model. Raises StateError, SettingsError."""
    if not is_s3(context.warehouse) or not (leases := context.control.writer_leases.all()):
        return ()
    beats = read_heartbeats(context.warehouse)
    return tuple(Writer(lease=lease, over=why_silent(beats, lease.process)) for lease in leases)
