"""What if another process builds the same batch? It is left to that one, and found built: each is computed once."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

from backfill_assets.build.events import BatchWaits
from backfill_assets.build.worker import Worker
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.state.in_flight import OF_BATCHES, unfinished
from backfill_assets.state.ledger import Entry

LOOK_AGAIN = 1.0
"""Seconds after which who waits for another process looks again."""


def tell_who_builds(worker: Worker, interval: Interval) -> None:
    """Tell who listens that another process builds some of an interval, and which run that is, as far as the ledger
    knows."""
    job, by_run = worker.job, defaultdict[str, list[Entry]](list)
    with suppress(StateError):  # who builds it is for people
        for entry in worker.bench.control.ledger.entries([job.model.name], kinds=OF_BATCHES):
            if entry.version == job.version and entry.run != worker.bench.run:
                by_run[entry.run].append(entry)
    begun = [e for found in by_run.values() for e in unfinished(found) if Ranges((e.interval,)) & Ranges((interval,))]
    newest = max(begun, key=lambda e: e.order, default=None)
    worker.bench.listen(BatchWaits(model=job.model.name, interval=interval, other=newest))
