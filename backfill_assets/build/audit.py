"""How does what is built get its verdicts? Audited where it is read from, at one commit, and the verdicts recorded."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.judge import judge, red
from backfill_assets.audits.reads import audit_tables, compares_with_prod, period, reach
from backfill_assets.audits.result import AuditResult
from backfill_assets.build.attempts import persist
from backfill_assets.build.bench import Workbench
from backfill_assets.build.built_from import refused_readers
from backfill_assets.build.engine import AuditReads, Engine, Job, ShownModel, SourceInput
from backfill_assets.build.events import Audited
from backfill_assets.build.recheck import current_coverage
from backfill_assets.build.worker import Worker
from backfill_assets.core.errors import BackfillError, BuildError, RunEndedError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.pin import Pins
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.plan.patch import segments_beside
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, Coverage, Entry, Kind, by_version
from backfill_assets.state.seen import seen
from backfill_assets.state.tables import rows_of


def audit_built(worker: Worker, ranges: Ranges) -> None:
    """Audit what of these is built and has no verdict, all in one scan; again after an error that may pass.

    When audits cannot run on all of them, each batch is tried alone. Where they cannot run the rows stay,
    unaudited: the next run sees to them.
    """
    stop, name = worker.bench.stop, worker.job.model.name
    have = current_coverage(worker.bench, name)[0][name]
    batches = have.batches(ranges & have.unaudited)
    pending = Ranges.of(part for part, _ in batches)
    if pending.span is None or stop.is_set():
        return
    try:
        persist(worker, pending.span, worker.job.model.retries, lambda _: _audit(worker, pending))
    except BackfillError as error:
        if isinstance(error, RunEndedError):
            stop.set()
        if len(batches) > 1 and not stop.is_set():
            for part, _ in batches:
                audit_built(worker, Ranges((part,)))
            return
        worker.fail(pending.span, error)


def _audit(worker: Worker, ranges: Ranges) -> None:
    """Audit what of these is built, where it is read from: what is shown at another commit than the newest, and
    corrections, are audited as they are shown. Sources are read as the rows were built."""
    bench, job, name = worker.bench, worker.job, worker.job.model.name
    all_have, heads = current_coverage(bench, name)
    have = all_have[name]
    beside = NO_ROWS
    if name not in bench.patches:
        beside = segments_beside(bench.pointers().get(name), job.version, have).of_logic(job.version)
    head = heads[name, job.version]
    own = Segments.of_table(job.version, head, have.built - beside.covers)
    tables = [
        _Table(job=replace(job, version=s.version, beside=job.beside.over(own)), commit=s.commit, there=parts)
        for s, parts in beside.tables()
    ]
    for table in (*tables, _Table(job=job, commit=head, there=own.covers)):
        for part, pins in bench.read_alike(name, ranges & have.unaudited & table.there):
            _audit_alike(worker, table, have, part, pins)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table at a commit, as the audits of a job look at it: what is `there` of it."""

    job: Job
    commit: int
    there: Ranges


def _audit_alike(worker: Worker, table: _Table, have: Coverage, ranges: Ranges, pins: Pins) -> None:
    """Audit intervals of one table, which were all built from the same state of the sources."""
    bench, model, began = worker.bench, worker.job.model, time.monotonic()
    job, commit = table.job, table.commit
    by_batch: dict[str, list[Interval]] = defaultdict(list)
    for part, entry in have.batches(ranges):
        by_batch[entry.batch].append(part)
    pending = Ranges.of(part for parts in by_batch.values() for part in parts)
    if not pending:
        return
    with worker.timed("audit"):
        reads = _audit_reads(bench, job, commit, table.there, pending, pins, empty=have.empty)
        counts = worker.compute(lambda engine: engine.scan(job, commit, pending, reads), again=False)
        results = _judged(worker, job, by_batch, counts)
        hollow = [u for u in pending.split(model.cadence) if not counts.get(u.start, Counts()).rows]
        results = _with_samples(worker, job, results, commit, reads)
    entries = [replace(e, version=job.version) for e in _verdicts(worker, by_batch, results, commit)]
    why, of = f"{_failed(results)} on it", (model.name, job.version)
    refused = have.batches(red(results))
    entries += refused_readers(bench.control, bench.project, of, refused, run=bench.run, why=why)
    with worker.recording():
        bench.control.results.append(results)
        bench.control.ledger.append(entries)
    with worker.lock:
        worker.results.extend(results)
        worker.rowless.extend(Ranges.of(hollow) - red(results))
    bench.listen(
        Audited(
            model=model.name,
            intervals=pending.count(model.cadence),
            seconds=time.monotonic() - began,
            red=red(results),
            warned=len({r.interval for r in results if not r.passed and not r.blocking}),
        )
    )


def _judged(
    worker: Worker, job: Job, by_batch: Mapping[str, list[Interval]], counts: Mapping[datetime, Counts]
) -> list[AuditResult]:
    """The results of every interval of these batches."""
    model, prod = worker.job.model, _prod_rows(worker)
    return [
        result
        for batch, parts in by_batch.items()
        for result in judge(
            model,
            job.version,
            batch,
            Ranges.of(parts).split(model.cadence),
            counts,
            prod_rows=prod,
            at=datetime.now(UTC),
        )
    ]


def _prod_rows(worker: Worker) -> dict[datetime, int]:
    """Rows per interval start in the environment; empty when no audit asks for them."""
    bench, model = worker.bench, worker.job.model
    if not any(a.kind == "row_count" for a in model.audits):
        return {}
    pointer = bench.control.environments.read(bench.environment).pointers.get(model.name)
    counts: dict[datetime, int] = defaultdict(int)
    # Where the environment shows this very version, there is nothing to compare.
    others = pointer.segments.in_other_tables(worker.job.version) if pointer else NO_ROWS
    for instant, rows in rows_of(bench.log, model.name, others).items():
        counts[model.cadence.floor(instant)] += rows
    return counts


def _with_samples(
    worker: Worker, job: Job, results: list[AuditResult], commit: int, reads: AuditReads
) -> list[AuditResult]:
    """The results with a few failing keys, tolerated ones too: one question for each audit that found any."""
    found: dict[str, list[Interval]] = defaultdict(list)
    for result in results:
        if result.failures:
            found[result.check].append(result.interval)
    keys = {
        check: worker.compute(partial(_sample, job, commit, Ranges.of(parts), reads, check))
        for check, parts in found.items()
    }
    return [replace(r, sample=tuple(keys[r.check].get(r.interval.start, ()))) if r.failures else r for r in results]


def _sample(
    job: Job, commit: int, intervals: Ranges, reads: AuditReads, check: str, engine: Engine
) -> Mapping[datetime, Sequence[str]]:
    return engine.sample(job, commit, intervals, reads, check)


def _verdicts(
    worker: Worker, by_batch: Mapping[str, list[Interval]], results: list[AuditResult], commit: int
) -> list[Entry]:
    """The ledger entries that follow from results: of each batch, what passed and what did not."""
    entries: list[Entry] = []
    for batch, parts in by_batch.items():
        own = [r for r in results if r.batch == batch]
        failed = red(own)
        entries += [
            worker.entry(Kind.AUDITED, part, batch=batch, table_commit=commit, audits=worker.digest)
            for part in Ranges.of(parts) - failed
        ]
        reason = _failed(own)
        entries += [
            worker.entry(Kind.INVALIDATED, part, batch=batch, table_commit=commit, audits=worker.digest, reason=reason)
            for part in failed
        ]
    return entries


def _failed(results: Sequence[AuditResult]) -> str:
    """Which of these refuse what they looked at."""
    return ", ".join(sorted({r.check for r in results if r.blocking and not r.passed})) + " failed"


def _audit_reads(
    bench: Workbench, job: Job, commit: int, built: Ranges, judged: Ranges, pins: Pins, *, empty: Ranges = NOTHING
) -> AuditReads:
    """What is there now for audits of the intervals `judged`: of those that are `built` at the commit, beside
    those declared `empty`; of sources what the `pins` say.

    Raises BuildError for a table that neither the project nor the environment has any more.
    """
    model = job.model
    tables, around = audit_tables(model), _near(model, judged)
    compares = any(compares_with_prod(a) for a in model.audits)
    periods = Ranges.of(p.cover(part) for a in model.audits if (p := period(a)) for part in judged)
    if not (tables or around or compares):
        return AuditReads()
    shown = bench.control.environments.read(bench.environment)
    pointer = shown.pointers.get(model.name)
    below = pointer.segments if pointer else NO_ROWS
    mine = Segments.of_table(job.version, commit, built)
    return AuditReads(
        tables={name: _table(bench, shown, model, name, pins) for name in tables},
        # Where the environment shows this very version, there is nothing to compare with.
        shown=below.in_other_tables(job.version).cut(judged | periods) if compares else NO_ROWS,
        around=mine.over(below).cut(around - judged),
        built=built | judged | empty,
    )


def _near(model: Model, judged: Ranges) -> Ranges:
    """The intervals that the model's trends compare these with, and these themselves."""
    steps, shift = max(map(reach, model.audits), default=0), model.cadence.shift
    parts = (Interval(shift(part.start, -steps), shift(part.end, steps)) for part in judged)
    return Ranges.of(parts) if steps else Ranges()


def _table(bench: Workbench, shown: Environment, model: Model, name: str, pins: Pins) -> ShownModel | SourceInput:
    if name in bench.project.sources:
        return SourceInput(source=bench.project.sources[name], pin=pins[name])
    if name in bench.project.models:
        segments, empty = _segments(bench, shown, name)
        if segments:
            return ShownModel(model=bench.project.models[name], segments=segments, empty=empty)
    raise BuildError(
        f"the audits of {model.name} look at {name}, which has no rows yet",
        why=f"it is not built, and {bench.environment} does not show it",
        fix=f"build it first: backfill apply --select {name}",
    )


def _segments(bench: Workbench, shown: Environment, name: str) -> tuple[Segments, Ranges]:
    """The code's version of a model as far as it is green, as a candidate shows it, and what is declared empty of that;
    else what the environment shows."""
    pointer, logic, patch = shown.pointers.get(name), bench.project.fingerprints[name], bench.patches.get(name)
    groups = by_version(bench.control.ledger.entries([name], kinds=DECIDING))
    version = patch.version if patch else logic
    digest = audits_digest(bench.project.models[name])
    there = seen(groups, bench.log, name, version, None if patch else pointer, audits=digest)
    have = there.coverage
    green = Segments.of_table(version, there.head, have.green)
    if patch:
        return green.over(patch.below or (pointer.segments if pointer else NO_ROWS)), NOTHING
    if green:
        return segments_beside(pointer, logic, have).over(green), have.empty
    return pointer.segments if pointer else NO_ROWS, NOTHING
