"""How does one batch come into its table and the ledger? Written in one commit, then recorded; what is bad of it is
left out."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

from backfill_assets.build.attempts import persist
from backfill_assets.build.bisect import bisect
from backfill_assets.build.copying import Sources, copied_entries, copy, origins, remedy, scoped_entries
from backfill_assets.build.engine import Engine
from backfill_assets.build.events import BatchDivided, BatchDone, BatchStarted
from backfill_assets.build.recheck import current_coverage, removals_of, removed
from backfill_assets.build.turns import LOOK_AGAIN, tell_who_builds
from backfill_assets.build.worker import Worker, must_record
from backfill_assets.core.errors import BackfillError, BuildError, HeldError, RunEndedError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.segments import is_adopted
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.state.changes import Changes
from backfill_assets.state.ledger import Entry, Kind, new_id
from backfill_assets.state.tables import DataCommit


def build_batch(worker: Worker, interval: Interval, *, last: bool = False) -> None:
    """Build one batch, with another attempt after an error that may pass, and without what of it is bad. Each part
    and attempt begins when a batch may; what may not begin any more is left as it is. What another process builds is
    put off; as one of the `last`, with nothing else to do, it waits for that one."""
    stop, model = worker.bench.stop, worker.job.model
    if stop.is_set():
        return
    error = _try(worker, interval, model.retries, last)
    if error is None:
        return
    failed = [(interval, error)]
    if error.divisible and not stop.is_set() and model.cadence.count(interval) > 1:
        retries = 0 if error.retryable else model.retries
        failed = bisect(interval, error, model.cadence, lambda part: _try(worker, part, retries, last), worker.budget)
    for part, why in failed:
        if not isinstance(why, HeldError):
            _give_up(worker, part, why)


def _try(worker: Worker, interval: Interval, retries: int, last: bool) -> BuildError | None:
    """Build a batch, or a part of one, or say why that cannot be. Raises what is no refusal of ours."""
    stop, model = worker.bench.stop, worker.job.model
    if stop.is_set():
        return _interrupted(worker, interval)
    try:
        persist(worker, interval, retries, lambda attempt: _build_in_turn(worker, interval, attempt, last))
    except BackfillError as refusal:
        error = _build_error(refusal)
        if isinstance(error, RunEndedError):
            stop.set()
        elif isinstance(error, HeldError):
            return error
        elif stop.is_set():
            return _interrupted(worker, interval)
        elif error.divisible and model.cadence.count(interval) > 1:
            worker.bench.listen(BatchDivided(model=model.name, interval=interval, error=str(error)))
        return error
    return None


def _build_in_turn(worker: Worker, interval: Interval, attempt: int, last: bool) -> None:
    """Build it once that may begin, and no other process does. Who waits for one has begun nothing."""
    bench, name, told = worker.bench, worker.job.model.name, False
    while bench.may_begin():
        with bench.only_builder(name, worker.job.version, interval) as mine:
            if mine:
                _build(worker, interval, attempt)
                return
        if not last:
            worker.put_off(interval)
            return
        if not told:
            tell_who_builds(worker, interval)
        told = True
        bench.sleep(LOOK_AGAIN)
    raise HeldError(f"nothing of {name} {interval} was begun")


def _build(worker: Worker, interval: Interval, attempt: int) -> None:
    """Build what of a batch is still missing."""
    bench, name, version = worker.bench, worker.job.model.name, worker.job.version
    if is_adopted(version):
        raise BuildError(
            f"nothing is written to the adopted table of {name}",
            why=f"{interval} is not of it",
            fix=f"backfill apply --restate {name}:{interval} computes it beside",
        )
    have = current_coverage(bench, name)[0][name]
    copied = bench.copies.get(name, NO_COPY)
    if copied.version != version:  # a plan that was stored may be of other code
        copied = NO_COPY
    missing = Ranges((interval,)) - have.built - have.empty
    for piece in missing & copied.covers:
        _commit(worker, piece, attempt, copied.cut(Ranges((piece,))))
    for piece in missing - copied.covers:
        _commit(worker, piece, attempt, NO_COPY)


def _commit(worker: Worker, piece: Interval, attempt: int, copied: Copied) -> None:
    """Compute, or copy, what one commit brings, and record it."""
    bench, name, cadence = worker.bench, worker.job.model.name, worker.job.model.cadence
    job, batch = worker.job_of(piece), new_id()
    bench.listen(BatchStarted(model=name, interval=piece, attempt=attempt))
    began = time.monotonic()
    exception = bench.hold.exception()
    _record(worker, worker.entry(Kind.STARTED, piece, batch=batch, attempt=attempt, reason=exception))
    if removals_of(bench, name) != worker.removals:  # after the record: the janitor looks there
        raise removed(name)
    with must_record():
        bench.heard()
    if not copied.segments:
        worker.alone.begin(job, piece)
    made_by = _copied_from(worker, piece, copied)

    def write(engine: Engine) -> DataCommit:
        if copied.segments:
            return copy(job, batch, piece, copied, engine)
        return engine.write(job, batch, piece)

    with worker.timed("write"):
        commit = worker.compute(write, again=False)
    seconds = time.monotonic() - began
    if not copied.segments:  # before it is recorded: what is not, is not built
        at = commit.table_commit
        with worker.timed("alone"):
            worker.alone.check(job, piece, lambda: worker.compute(lambda engine: engine.one_alone(job, at, piece)))
    built = replace(
        worker.entry(Kind.BUILT, piece, batch=batch, attempt=attempt, table_commit=commit.table_commit),
        rows=commit.rows,
        bytes=commit.bytes,
        changes=commit.changes,
        seconds=seconds,
        through=bench.now if piece.end > job.model.over(bench.now) else None,
        inputs=job.inputs_json(),
    )
    if copied.segments:
        _record(worker, *copied_entries(bench, built, copied, made_by))
    elif job.scope:
        _record(worker, *scoped_entries(bench, built, job.scope, made_by))
    else:
        _record(worker, built)
    with worker.lock:
        worker.built.append(piece)
        worker.rows += commit.rows
        worker.bytes += commit.bytes
        if commit.changes is not None:
            worker.changes = (worker.changes or Changes()) + commit.changes
    bench.listen(
        BatchDone(
            model=name,
            interval=piece,
            intervals=cadence.count(piece),
            rows=commit.rows,
            seconds=seconds,
            changes=commit.changes,
        )
    )


def _copied_from(worker: Worker, piece: Interval, copied: Copied) -> Sources:
    """What computed the rows that are copied: all of them, or those outside of a scope."""
    model, job = worker.job.model, worker.job
    if copied.segments:
        return origins(worker.bench, model, piece, copied.segments, remedy(model))
    if job.scope:
        below = job.below.cut(Ranges((piece,)))
        return origins(worker.bench, model, piece, below, "restate these days whole")
    return ()


def _record(worker: Worker, *entries: Entry) -> None:
    with worker.recording():
        worker.bench.control.ledger.append(entries)


def _give_up(worker: Worker, interval: Interval, error: BuildError) -> None:
    """Record the failure; what was read says that the rows themselves may be at fault: not of an interruption."""
    read = None if worker.bench.stop.is_set() else worker.job_of(interval).inputs_json()
    worker.fail(interval, error)
    with suppress(RunEndedError):  # where nothing can be recorded, that is why it failed
        _record(worker, worker.entry(Kind.FAILED, interval, reason=str(error), inputs=read))


def _interrupted(worker: Worker, interval: Interval) -> BuildError:
    return BuildError(
        f"{worker.job.model.name} {interval} was interrupted", fix="run the same command again: it goes on from there"
    )


def _build_error(refusal: BackfillError) -> BuildError:
    if isinstance(refusal, BuildError):
        return refusal
    return BuildError(refusal.what, why=refusal.why, fix=refusal.fix)
