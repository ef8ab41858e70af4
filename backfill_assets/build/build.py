"""How is one model built over a range? Ask the ledger what is missing, then batch, write, record, audit, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.judge import red
from backfill_assets.build.audit import audit_built
from backfill_assets.build.batch import build_batch
from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Job
from backfill_assets.build.events import ModelDone, ModelStarted
from backfill_assets.build.missing_work import MissingWork, batches_of, find_work
from backfill_assets.build.outcome import FailedInterval, Outcome
from backfill_assets.build.recheck import current_coverage, removed
from backfill_assets.build.version_tables import create_hollow, create_table, inputs_of, shown_and_beside
from backfill_assets.build.worker import Worker
from backfill_assets.core.errors import BackfillError, RunEndedError, StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.state.ledger import Coverage, Entry, Kind

AUDIT_AFTER = 60.0
"""Seconds of building after which what is built by then is audited. One scan of many batches costs little more than
one of a single batch, so a short build is audited once, at its end."""


def build(bench: Workbench, name: str, intervals: Ranges) -> Outcome:
    """Bring these intervals of a model's current version to built and audited; what already is stays untouched.

    One failed batch does not stop the others. Nothing missing means that no engine is opened. Raises SettingsError when
    none can be opened on this machine.
    """
    work = find_work(bench, name, intervals)
    if not work.missing:
        return work.untouched()
    if not all(r.done for r in work.removals):
        why = str(removed(name))
        return work.untouched(*(FailedInterval(interval=each, error=why) for each in work.missing))
    batches = batches_of(bench, work.model, work.to_compute)
    if batches and bench.hold.why():
        return _build_later(bench, work)
    if bench.stop.is_set():
        return work.untouched()
    with ExitStack() as held:
        try:
            become_writer = held.enter_context(bench.lease(name, work.version))
        except StateError as error:
            return work.refused(str(error))
        return _carry_out(bench, work, batches, become_writer)


def _build_later(bench: Workbench, work: MissingWork) -> Outcome:
    """Audit what is built, which is not held; then build from how things are once that may begin."""
    name = work.model.name
    audited = build(bench, name, work.to_audit) if work.to_audit else work.untouched()
    if bench.may_begin():
        return build(bench, name, work.requested)
    before = work.untouched()
    return replace(
        audited,
        requested=work.requested,
        waits=work.waits,
        green=before.green | audited.green,
        partial=before.partial | audited.partial,
    )


def _carry_out(
    bench: Workbench, work: MissingWork, batches: Sequence[Interval], become_writer: Callable[[], None]
) -> Outcome:
    """Compute the batches and audit, in an engine. Where that cannot begin, it is recorded of each batch why."""
    model, version = work.model, work.version
    engine, job = bench.engine(), None
    count = work.to_compute.count(model.cadence)
    bench.listen(ModelStarted(model=model.name, intervals=count, batches=len(batches)))
    try:
        job = _job_of(bench, work, made=bool(batches))
        if batches:
            sample, head = batches[0], work.heads[model.name, version]
            create_table(bench, job.reading(bench.sources(model.name, sample)), sample, head)
            become_writer()
    except BackfillError as error:
        if isinstance(error, RunEndedError):
            bench.stop.set()
        elif job and not bench.stop.is_set() and not isinstance(error, StateError):
            _record_failed(bench, job, batches, str(error))
        bench.listen(ModelDone(model=model.name))
        return work.refused(str(error))
    worker = Worker(bench=bench, job=job, digest=audits_digest(model), removals=work.removals, engine=engine)
    began = time.monotonic()
    have = _until_settled(worker, work, batches, become_writer)
    bench.listen(ModelDone(model=model.name))
    return Outcome(
        model=model.name,
        version=version,
        requested=work.requested,
        green=(work.requested & have.complete) - red(worker.results),
        partial=work.requested & have.green & have.partial,
        built=Ranges.of(worker.built),
        red=red(worker.results),
        rowless=Ranges.of(worker.rowless),
        unsteady=worker.alone.unsteady,
        failures=tuple(sorted(worker.failures, key=lambda f: f.interval)),
        waits=work.waits,
        results=tuple(worker.results),
        rows=worker.rows,
        bytes=worker.bytes,
        changes=worker.changes,
        wall=time.monotonic() - began,
        seconds=dict(worker.seconds),
    )


def _job_of(bench: Workbench, work: MissingWork, *, made: bool) -> Job:
    """What an engine is told to compute, or only to audit: then no table is made of what it reads."""
    name, model = work.model.name, work.model
    heads = create_hollow(bench, name, work.heads) if made else work.heads
    shown, beside = shown_and_beside(bench, name, work.coverage[name])
    inputs = inputs_of(bench, model, work.coverage, heads)
    job = Job(model=model, version=work.version, inputs=inputs, shown=shown, beside=beside)
    if (patch := bench.patches.get(name)) and patch.scope:
        assert patch.scope.ids == (bench.ids.digest if bench.ids else ""), "other keys than those of the plan"
        job = replace(job, scope=patch.scope, ids=bench.ids, below=patch.below)
    return job


def _until_settled(
    worker: Worker, work: MissingWork, batches: Sequence[Interval], become_writer: Callable[[], None]
) -> Coverage:
    """Run the batches and audit; what another run wrote meanwhile, and did not record, is built again. Returns how
    things are then."""
    bench, model = worker.bench, work.model
    again = 0
    while True:
        _run_all(worker, batches)
        audit_built(worker, work.requested)
        have = current_coverage(bench, model.name)[0][model.name]
        pending = work.missing - have.complete - worker.settled
        if not pending or bench.stop.is_set() or bench.hold.ended or again == model.retries:
            return have
        bench.sleep(2.0**again)  # another run wrote these: its record may come yet
        again += 1
        if batches := batches_of(bench, model, pending - have.unaudited):
            try:
                become_writer()
            except StateError as error:  # what is built and audited by now is, as far as this model is concerned
                worker.failures += [FailedInterval(interval=batch, error=str(error)) for batch in batches]
                return have


def _record_failed(bench: Workbench, job: Job, batches: Sequence[Interval], why: str) -> None:
    """None of the batches could begin: what was read may be at fault."""
    entries = [
        Entry(
            kind=Kind.FAILED,
            model=job.model.name,
            version=job.version,
            interval=batch,
            run=bench.run,
            reason=why,
            inputs=job.reading(bench.sources(job.model.name, batch)).inputs_json(),
            at=datetime.now(UTC),
        )
        for batch in batches
    ]
    with suppress(StateError):
        bench.control.ledger.append(entries)


def _run_all(worker: Worker, batches: Sequence[Interval]) -> None:
    """Run the batches, `batch_concurrency` at a time, until all are done or the bench stops: those that another process
    builds when there is nothing else to do."""
    _run_some(worker, batches, last=False)
    if later := worker.take_later():
        _run_some(worker, later, last=True)


def _run_some(worker: Worker, batches: Sequence[Interval], *, last: bool) -> None:
    """Run them; audit as they pile up."""
    stop, audited = worker.bench.stop, time.monotonic()
    with ThreadPoolExecutor(max_workers=worker.job.model.batch_concurrency, thread_name_prefix="batch") as pool:
        running: set[Future[None]] = {pool.submit(build_batch, worker, interval, last=last) for interval in batches}
        try:
            while running:
                done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if stop.is_set():
                    worker.engine.cancel()
                elif running and time.monotonic() - audited > AUDIT_AFTER:
                    audit_built(worker, Ranges.of(worker.built))
                    audited = time.monotonic()
        except BaseException:
            stop.set()
            worker.engine.cancel()
            raise
