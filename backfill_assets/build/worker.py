"""How does one batch get built, recorded and audited? The steps of a model's build, from several threads."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.judge import judge, red
from backfill_assets.audits.result import AuditResult
from backfill_assets.build.bench import Workbench
from backfill_assets.build.bisect import Budget, bisect
from backfill_assets.build.copying import Sources, copied_entries, copy, origins, remedy, scoped_entries
from backfill_assets.build.engine import AuditReads, Engine, Job
from backfill_assets.build.engine_restart import on_engine
from backfill_assets.build.events import Audited, BatchDivided, BatchDone, BatchFailed, BatchStarted
from backfill_assets.build.outcome import Failure
from backfill_assets.build.reads import audit_reads
from backfill_assets.build.recheck import current_coverage, removals_of, removed
from backfill_assets.core.errors import (
    BackfillError,
    BuildError,
    EngineDiedError,
    EngineOutOfMemoryError,
    HeldError,
    RunEndedError,
    StateError,
)
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.pin import Pins
from backfill_assets.core.segments import NO_ROWS, Segments, is_adopted
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.patch import segments_beside
from backfill_assets.state.changes import Changes
from backfill_assets.state.ledger import Coverage, Entry, Kind, new_id
from backfill_assets.state.removals import Removal
from backfill_assets.state.tables import DataCommit, rows_of

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Worker:
    """Does the batches of one job, from several threads, and gathers what came of them."""

    bench: Workbench
    job: Job
    digest: str
    removals: frozenset[Removal]
    """What was known of removals before the first look."""
    engine: Engine
    """The one that was used last."""
    budget: Budget = field(default_factory=Budget)
    lock: threading.Lock = field(default_factory=threading.Lock)
    built: list[Interval] = field(default_factory=list[Interval])
    failures: list[Failure] = field(default_factory=list[Failure])
    results: list[AuditResult] = field(default_factory=list[AuditResult])
    rowless: list[Interval] = field(default_factory=list[Interval])
    rows: int = 0
    bytes: int = 0
    changes: Changes | None = None
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))

    @property
    def settled(self) -> Ranges:
        """What was tried and will not get better by trying again."""
        return Ranges.of(f.interval for f in self.failures) | red(self.results)

    def batch(self, interval: Interval) -> None:
        """Build one batch, with another attempt after an error that may pass, and without what of it is bad. Each part
        and attempt begins when a batch may; what may not begin any more is left as it is."""
        if self.bench.stop.is_set():
            return
        error = self._try(interval, self.job.model.retries)
        if error is None:
            return
        cadence, failed = self.job.model.cadence, [(interval, error)]
        if error.divisible and not self.bench.stop.is_set() and cadence.count(interval) > 1:
            retries = 0 if error.retryable else self.job.model.retries
            failed = bisect(interval, error, cadence, lambda part: self._try(part, retries), self.budget)
        for part, why in failed:
            if not isinstance(why, HeldError):
                self._give_up(part, why)

    def _try(self, interval: Interval, retries: int) -> BuildError | None:
        """Build a batch, or a part of one, or say why that cannot be. Raises what is no refusal of ours."""
        if self.bench.stop.is_set():
            return self._interrupted(interval)
        try:
            self._persist(interval, retries, lambda attempt: self._begin(interval, attempt))
        except BackfillError as refusal:
            error = _build_error(refusal)
            if isinstance(error, RunEndedError):
                self.bench.stop.set()
            elif isinstance(error, HeldError):
                return error
            elif self.bench.stop.is_set():
                return self._interrupted(interval)
            elif error.divisible and self.job.model.cadence.count(interval) > 1:
                self.bench.listen(BatchDivided(model=self.job.model.name, interval=interval, error=str(error)))
            return error
        return None

    def _interrupted(self, interval: Interval) -> BuildError:
        return BuildError(
            f"{self.job.model.name} {interval} was interrupted", fix="run the same command again: it goes on from there"
        )

    def _job(self, interval: Interval) -> Job:
        """The job with the sources as the interval reads them."""
        return self.job.reading(self.bench.sources(self.job.model.name, interval))

    def _give_up(self, interval: Interval, error: BuildError) -> None:
        """Record the failure; what was read says that the rows themselves may be at fault: not of an interruption."""
        read = None if self.bench.stop.is_set() else self._job(interval).inputs_json()
        self._tell_failed(interval, str(error), again=False)
        with self.lock:
            self.failures.append(Failure(interval=interval, error=str(error)))
        with suppress(RunEndedError):  # where nothing can be recorded, that is why it failed
            self._record(self._entry(Kind.FAILED, interval, reason=str(error), inputs=read))

    def audit(self, ranges: Ranges) -> None:
        """Audit what of these is built and has no verdict, all in one scan; again after an error that may pass.

        When audits cannot run on all of them, each batch is tried alone. Where they cannot run the rows stay,
        unaudited: the next run sees to them.
        """
        name = self.job.model.name
        have = current_coverage(self.bench, name)[0][name]
        batches = have.batches(ranges & have.unaudited)
        pending = Ranges.of(part for part, _ in batches)
        if pending.span is None or self.bench.stop.is_set():
            return
        try:
            self._persist(pending.span, self.job.model.retries, lambda _: self._audit(pending))
        except BackfillError as error:
            if isinstance(error, RunEndedError):
                self.bench.stop.set()
            if len(batches) > 1 and not self.bench.stop.is_set():
                for part, _ in batches:
                    self.audit(Ranges((part,)))
                return
            self._tell_failed(pending.span, str(error), again=False)
            with self.lock:
                self.failures.append(Failure(interval=pending.span, error=str(error)))

    def _persist(self, interval: Interval, retries: int, attempt_it: Callable[[int], None]) -> None:
        deaths = 0

        def enough(state: RetryCallState) -> bool:
            nonlocal deaths  # a dead engine is no fault of the batch: another one is opened, a limited number of times
            deaths += isinstance(state.outcome.exception() if state.outcome else None, EngineDiedError)
            return state.attempt_number - deaths > retries

        for attempt in Retrying(
            retry=retry_if_exception(lambda error: self._may_pass(error, interval)),
            stop=enough,
            wait=wait_exponential_jitter(initial=1, max=60),
            sleep=self.bench.sleep,
            before_sleep=lambda state: self._tell_failed(interval, _error(state), again=True),
            reraise=True,
        ):
            with attempt:
                attempt_it(attempt.retry_state.attempt_number)

    def _may_pass(self, error: BaseException, interval: Interval) -> bool:
        if isinstance(error, EngineOutOfMemoryError) and self.job.model.cadence.count(interval) > 1:
            return False  # the same again would end the next engine as well: it is divided
        return isinstance(error, BackfillError) and error.retryable and not self.bench.stop.is_set()

    def _compute(self, do: Callable[[Engine], T], *, again: bool = True) -> T:
        def noted(engine: Engine) -> T:
            self.engine = engine
            return do(engine)

        return on_engine(self.bench, self.job.model.name, noted, again=again)

    def _begin(self, interval: Interval, attempt: int) -> None:
        if not self.bench.may_begin():
            raise HeldError(f"nothing of {self.job.model.name} {interval} was begun")
        self._build(interval, attempt)

    def _build(self, interval: Interval, attempt: int) -> None:
        if is_adopted(self.job.version):
            raise BuildError(
                f"nothing is written to the adopted table of {self.job.model.name}",
                why=f"{interval} is not of it",
                fix=f"backfill apply --restate {self.job.model.name}:{interval} computes it beside",
            )
        have = current_coverage(self.bench, self.job.model.name)[0][self.job.model.name]
        copied = self.bench.copies.get(self.job.model.name, NO_COPY)
        if copied.version != self.job.version:  # a plan that was stored may be of other code
            copied = NO_COPY
        missing = Ranges((interval,)) - have.built - have.empty
        for piece in missing & copied.covers:
            self._piece(piece, attempt, copied.cut(Ranges((piece,))))
        for piece in missing - copied.covers:
            self._piece(piece, attempt, NO_COPY)

    def _piece(self, piece: Interval, attempt: int, copied: Copied) -> None:
        """Compute, or copy, what one commit brings, and record it."""
        name, job, batch = self.job.model.name, self._job(piece), new_id()
        self.bench.listen(BatchStarted(model=name, interval=piece, attempt=attempt))
        began = time.monotonic()
        exception = self.bench.hold.exception()
        self._record(self._entry(Kind.STARTED, piece, batch=batch, attempt=attempt, reason=exception))
        if removals_of(self.bench, name) != self.removals:  # after the record: the janitor looks there
            raise removed(name)
        with _recording():
            self.bench.heard()
        made_by = self._copied_from(piece, copied)
        with self._timed("write"):
            write = partial(copy, job, batch, piece, copied) if copied.segments else partial(_write, job, batch, piece)
            commit = self._compute(write, again=False)
        built = replace(
            self._entry(Kind.BUILT, piece, batch=batch, attempt=attempt, table_commit=commit.table_commit),
            rows=commit.rows,
            bytes=commit.bytes,
            changes=commit.changes,
            seconds=time.monotonic() - began,
            through=self.bench.now if piece.end > job.model.over(self.bench.now) else None,
            inputs=job.inputs_json(),
        )
        if copied.segments:
            self._record(*copied_entries(self.bench, built, copied, made_by))
        elif job.scope:
            self._record(*scoped_entries(self.bench, built, job.scope, made_by))
        else:
            self._record(built)
        with self.lock:
            self.built.append(piece)
            self.rows += commit.rows
            self.bytes += commit.bytes
            if commit.changes is not None:
                self.changes = (self.changes or Changes()) + commit.changes
        self.bench.listen(
            BatchDone(
                model=name,
                interval=piece,
                intervals=job.model.cadence.count(piece),
                rows=commit.rows,
                seconds=time.monotonic() - began,
                changes=commit.changes,
            )
        )

    def _copied_from(self, piece: Interval, copied: Copied) -> Sources:
        """What computed the rows that are copied: all of them, or those outside of a scope."""
        model, job = self.job.model, self.job
        if copied.segments:
            return origins(self.bench, model, piece, copied.segments, remedy(model))
        if job.scope:
            below = job.below.cut(Ranges((piece,)))
            return origins(self.bench, model, piece, below, "restate these days whole")
        return ()

    def _audit(self, ranges: Ranges) -> None:
        """Audit what of these is built, where it is read from: what is shown at another commit than the newest, and
        corrections, are audited as they are shown. The verdicts are recorded."""
        all_have, heads = current_coverage(self.bench, self.job.model.name)
        have = all_have[self.job.model.name]
        beside = NO_ROWS
        if self.job.model.name not in self.bench.patches:
            pointer = self.bench.pointers().get(self.job.model.name)
            beside = segments_beside(pointer, self.job.version, have).of_logic(self.job.version)
        head = heads[self.job.model.name, self.job.version]
        own = Segments.of_table(self.job.version, head, have.built - beside.covers)
        for segment, parts in beside.tables():
            correction = replace(self.job, version=segment.version, beside=self.job.beside.over(own))
            self._audit_at(correction, segment.commit, have, parts, ranges)
        self._audit_at(self.job, head, have, own.covers, ranges)

    def _audit_at(self, job: Job, commit: int, have: Coverage, there: Ranges, asked: Ranges) -> None:
        """The same for what is `there`, in one table at one commit; sources are read as the rows were built."""
        for part, pins in self.bench.read_alike(job.model.name, asked & have.unaudited & there):
            self._audit_alike(job, commit, have, there, part, pins)

    def _audit_alike(self, job: Job, commit: int, have: Coverage, there: Ranges, ranges: Ranges, pins: Pins) -> None:
        model, began = self.job.model, time.monotonic()
        by_batch: dict[str, list[Interval]] = defaultdict(list)
        for part, entry in have.batches(ranges):
            by_batch[entry.batch].append(part)
        pending = Ranges.of(part for parts in by_batch.values() for part in parts)
        if not pending:
            return
        with self._timed("audit"):
            reads = audit_reads(self.bench, job, commit, there, pending, pins, empty=have.empty)
            counts = self._compute(lambda engine: engine.scan(job, commit, pending, reads), again=False)
            results = self._judged(job, by_batch, counts)
            hollow = [u for u in pending.split(model.cadence) if not counts.get(u.start, Counts()).rows]
            results = self._with_samples(job, results, commit, reads)
        entries = [replace(e, version=job.version) for e in self._verdicts(by_batch, results, commit)]
        with self._timed("record"), _recording():
            self.bench.control.results.append(results)
            self.bench.control.ledger.append(entries)
        with self.lock:
            self.results.extend(results)
            self.rowless.extend(Ranges.of(hollow) - red(results))
        self.bench.listen(
            Audited(
                model=model.name,
                intervals=pending.count(model.cadence),
                seconds=time.monotonic() - began,
                red=red(results),
            )
        )

    def _judged(
        self, job: Job, by_batch: Mapping[str, list[Interval]], counts: Mapping[datetime, Counts]
    ) -> list[AuditResult]:
        """The results of every interval of these batches."""
        model, prod = self.job.model, self._prod_rows()
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

    def _with_samples(self, job: Job, results: list[AuditResult], commit: int, reads: AuditReads) -> list[AuditResult]:
        """The results with a few failing keys, tolerated ones too: one question for each audit that found any."""
        found: dict[str, list[Interval]] = defaultdict(list)
        for result in results:
            if result.failures:
                found[result.check].append(result.interval)
        keys = {
            check: self._compute(partial(_sample, job, commit, Ranges.of(parts), reads, check))
            for check, parts in found.items()
        }
        return [replace(r, sample=tuple(keys[r.check].get(r.interval.start, ()))) if r.failures else r for r in results]

    def _verdicts(self, by_batch: Mapping[str, list[Interval]], results: list[AuditResult], commit: int) -> list[Entry]:
        """The ledger entries that follow from results: of each batch, what passed and what did not."""
        entries: list[Entry] = []
        for batch, parts in by_batch.items():
            own = [r for r in results if r.batch == batch]
            failed = red(own)
            entries += [
                self._entry(Kind.AUDITED, part, batch=batch, table_commit=commit, audits=self.digest)
                for part in Ranges.of(parts) - failed
            ]
            reason = ", ".join(sorted({r.check for r in own if r.blocking and not r.passed})) + " failed"
            entries += [
                self._entry(Kind.INVALIDATED, part, batch=batch, table_commit=commit, audits=self.digest, reason=reason)
                for part in failed
            ]
        return entries

    def _prod_rows(self) -> dict[datetime, int]:
        """Rows per interval start in the environment; empty when no audit asks for them."""
        model = self.job.model
        if not any(a.kind == "row_count" for a in model.audits):
            return {}
        pointer = self.bench.control.environments.read(self.bench.environment).pointers.get(model.name)
        counts: dict[datetime, int] = defaultdict(int)
        # Where the environment shows this very version, there is nothing to compare.
        others = pointer.segments.in_other_tables(self.job.version) if pointer else NO_ROWS
        for instant, rows in rows_of(self.bench.log, model.name, others).items():
            counts[model.cadence.floor(instant)] += rows
        return counts

    def _entry(self, kind: Kind, interval: Interval, **more: object) -> Entry:
        blank = Entry(
            kind=kind,
            model=self.job.model.name,
            version=self.job.version,
            interval=interval,
            run=self.bench.run,
            at=datetime.now(UTC),
        )
        return replace(blank, **more)  # pyright: ignore[reportArgumentType]

    def _record(self, *entries: Entry) -> None:
        with self._timed("record"), _recording():
            self.bench.control.ledger.append(entries)

    def _tell_failed(self, interval: Interval, error: str, *, again: bool) -> None:
        self.bench.listen(
            BatchFailed(
                model=self.job.model.name,
                interval=interval,
                intervals=self.job.model.cadence.count(interval),
                error=error,
                again=again,
            )
        )

    def _timed(self, phase: str) -> _Phase:
        return _Phase(self, phase)


@dataclass(slots=True)
class _Phase:
    """Adds the time spent inside to one of the worker's phases."""

    worker: Worker
    name: str
    began: float = 0.0

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        with self.worker.lock:
            self.worker.seconds[self.name] += time.monotonic() - self.began


def _write(job: Job, batch: str, interval: Interval, engine: Engine) -> DataCommit:
    return engine.write(job, batch, interval)


def _sample(
    job: Job, commit: int, intervals: Ranges, reads: AuditReads, check: str, engine: Engine
) -> Mapping[datetime, Sequence[str]]:
    return engine.sample(job, commit, intervals, reads, check)


@contextmanager
def _recording() -> Generator[None]:
    """A ledger that cannot be written ends the run: whatever is built from then on would be unknown."""
    try:
        yield
    except (StateError, OSError) as error:
        refusal = (
            error if isinstance(error, BackfillError) else StateError("cannot record what was done", why=str(error))
        )
        fix = refusal.fix or "see that the disk of the warehouse has room and can be written"
        raise RunEndedError(
            refusal.what, why=refusal.why, fix=f"{fix}; then run the same command again: finished batches are kept"
        ) from error


def _build_error(refusal: BackfillError) -> BuildError:
    if isinstance(refusal, BuildError):
        return refusal
    return BuildError(refusal.what, why=refusal.why, fix=refusal.fix)


def _error(state: RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome else ""
