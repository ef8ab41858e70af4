"""Who builds a batch that two runs want? Who recorded first that it begins; the other one waits, and finds it built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from backfill_assets.build.events import BatchWaits
from backfill_assets.build.recheck import current_coverage
from backfill_assets.build.worker import Worker
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.state.in_flight import OF_BATCHES, unfinished
from backfill_assets.state.ledger import Entry, Kind

LOOK_AGAIN = 1.0
"""Seconds after which a run that waits for another one looks again."""


def missing_in_turn(worker: Worker, begun: Entry, *, wait: bool) -> Ranges | None:
    """Record that a batch has begun, and say what of its interval is missing, once no other run that is at work had
    begun it before. None, and nothing is recorded, where one had and this is not to `wait` for it.

    Whoever looks first what is missing may write what another committed meanwhile once more. And whoever has begun
    waits for those only that had begun before, and does nothing else meanwhile: so one of them always goes on.
    """
    interval, told = begun.interval, ""
    if not wait and builder_of(worker, interval):
        return None
    with worker.recording():
        worker.bench.control.ledger.append([begun])
    while other := builder_of(worker, interval, begun.batch):
        if told != other.run:
            told = other.run
            worker.bench.listen(BatchWaits(model=other.model, interval=interval, run=other.run, since=other.at))
        worker.bench.sleep(LOOK_AGAIN)
        if worker.bench.stop.is_set():
            return NOTHING
    return _missing(worker, interval)


def builder_of(worker: Worker, interval: Interval, mine: str = "") -> Entry | None:
    """The batch of another run at work that builds what is missing of an interval, and had begun before the batch
    `mine` if there is one; None for none."""
    if not (others := worker.bench.others()):
        return None
    by_run = _by_run(worker)
    own = next((e for e in by_run[worker.bench.run] if mine and e.batch == mine), None)
    begun = [e for run in sorted(others) for e in unfinished(by_run[run]) if own is None or e.order < own.order]
    if not any(Ranges((entry.interval,)) & Ranges((interval,)) for entry in begun):
        return None
    missing = _missing(worker, interval)
    return next((entry for entry in begun if Ranges((entry.interval,)) & missing), None)


def let_go(worker: Worker, interval: Interval, why: str) -> None:
    """Record that nothing of an interval is under way, where an attempt failed and the next one is held: nobody waits
    for it. A routine run would wait for the very run that waits for it to end."""
    mine = unfinished(_by_run(worker)[worker.bench.run])
    if any(Ranges((entry.interval,)) & Ranges((interval,)) for entry in mine):
        with worker.recording():
            held = worker.entry(Kind.FAILED, interval, reason=f"it is tried again later: {why}")
            worker.bench.control.ledger.append([held])


def _by_run(worker: Worker) -> Mapping[str, list[Entry]]:
    """What was recorded of the batches of the job's version, oldest first."""
    job, found = worker.job, defaultdict[str, list[Entry]](list)
    for entry in worker.bench.control.ledger.entries([job.model.name], kinds=OF_BATCHES):
        if entry.version == job.version:
            found[entry.run].append(entry)
    return found


def _missing(worker: Worker, interval: Interval) -> Ranges:
    """What of it nobody built or declared empty."""
    name = worker.job.model.name
    have = current_coverage(worker.bench, name)[0][name]
    return Ranges((interval,)) - have.built - have.empty
