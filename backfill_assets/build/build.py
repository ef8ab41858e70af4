"""How is one model built over a range? Ask the ledger what is missing, then batch, write, record, audit, record."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from backfill_assets.audit.digest import audits_digest
from backfill_assets.audit.judge import Counts, judge, red
from backfill_assets.build.engine import AuditReads, Engine, Input, Job, ModelInput, SourceInput
from backfill_assets.build.events import (
    Audited,
    BatchDone,
    BatchFailed,
    BatchStarted,
    Listener,
    ModelDone,
    ModelStarted,
    silence,
)
from backfill_assets.build.outcome import Failure, Outcome, Wait
from backfill_assets.build.reads import audit_reads
from backfill_assets.errors import BackfillError, BuildError
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.plan.missing import batches, ready
from backfill_assets.plan.partial import UpstreamNow, moved, over_json
from backfill_assets.plan.patch import Patch, kept_segments, overlay
from backfill_assets.plan.plan import upstream_models
from backfill_assets.snapshots.model import UNKNOWN, Model, Project
from backfill_assets.snapshots.stored import to_definition
from backfill_assets.state.changes import Changes
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Pointer, Segment
from backfill_assets.state.ledger import DECIDING, Coverage, Entry, Kind, by_version, new_id
from backfill_assets.state.removals import Removal
from backfill_assets.state.results import AuditResult
from backfill_assets.state.tables import TableLog, version_coverage
from backfill_assets.state.versions import Version

AUDIT_AFTER = 60.0
"""Seconds of building after which what is built by then is audited. One scan of many batches costs little more than
one of a single batch, so a short build is audited once, at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """Everything that builds of one run share. `engine` opens the Spark session when it is first called, and only then.

    `pins` are the frozen source snapshots. `sleep` takes seconds; tests give one that does not wait.
    """

    project: Project
    control: Control
    log: TableLog
    engine: Callable[[], Engine]
    pins: Mapping[str, Mapping[str, object]]
    run: str
    environment: str
    now: datetime
    """Decides which intervals are over. It is no later than the pins: rows of an open interval are read through it."""
    ignore_cron: bool = False
    """Whether an open interval needs the open ones of its upstreams as well."""
    patches: Mapping[str, Patch] = field(default_factory=dict[str, Patch])
    """What is built in a revision instead of the code's version."""
    shown: Mapping[str, Pointer] | None = None
    """What corrections inputs are read with: those of these pointers (None: of what the environment shows)."""
    listen: Listener = silence
    sleep: Callable[[float], None] = time.sleep
    stop: threading.Event = field(default_factory=threading.Event)
    """Set it to stop: what runs is interrupted, what waits is not begun, what is done is kept."""

    def version(self, name: str) -> str:
        """The version of a model that is built."""
        return self.patches[name].version if name in self.patches else self.project.fingerprints[name]


def build(bench: Workbench, name: str, intervals: Ranges) -> Outcome:
    """Bring these intervals of a model's current version to built and audited; what already is stays untouched.

    One failed batch does not stop the others. Nothing missing means that no engine is opened. Raises SettingsError when
    none can be opened on this machine.
    """
    began = time.monotonic()
    model, version = bench.project.models[name], bench.version(name)
    removals = _removals(bench, name)  # before the look: a table that was seen may be removed at any time
    have, heads = _look(bench, name)
    todo = intervals - have[name].complete - have[name].unaudited
    beyond = Ranges() if name in bench.patches else todo - model.begun(bench.now)
    good, waiting = ready(
        model,
        todo - beyond,
        upstream_models(bench.project, model),
        {n: have[n].complete for n in have if n != name},
        now=bench.now,
        ignore_cron=bench.ignore_cron,
    )
    recheck = intervals & have[name].unaudited
    waits = tuple(Wait(intervals=stuck, upstream=up, needs=lack) for up, (stuck, lack) in waiting.items())
    if beyond:  # nothing to read there yet: it would pass for complete without rows
        reads = ", ".join(u.name for u in model.upstreams)
        waits = (Wait(intervals=beyond, upstream=reads or name, needs=beyond), *waits)
    nothing = Outcome(
        model=name,
        version=version,
        requested=intervals,
        green=intervals & have[name].complete,
        partial=intervals & have[name].green & have[name].partial,
        waits=waits,
    )
    if not good and not recheck:
        return nothing

    if not all(r.done for r in removals):
        return replace(nothing, failures=tuple(Failure(interval=i, error=str(_removed(name))) for i in good | recheck))
    todo = batches(model, good, bench.now)
    engine = bench.engine()
    bench.listen(ModelStarted(model=name, intervals=good.count(model.cadence), batches=len(todo)))
    try:
        heads = _create_hollow(bench, name, heads, engine) if todo else heads
        shown, beside = _own(bench, name)
        job = Job(model=model, version=version, inputs=_inputs(bench, model, heads), shown=shown, beside=beside)
        if todo:
            _create(bench, job, engine, todo[0])
    except BackfillError as error:
        bench.listen(ModelDone(model=name))
        return replace(nothing, failures=(Failure(interval=good.span or next(iter(intervals)), error=str(error)),))
    worker = _Worker(bench=bench, job=job, digest=audits_digest(model), removals=removals, engine=engine)
    for again in range(1 + model.retries):
        _run_all(worker, todo)
        worker.audit(intervals)
        have, _ = _look(bench, name)
        pending = (good | recheck) - have[name].complete - worker.settled
        if not pending or bench.stop.is_set():
            break
        # Another run wrote these meanwhile: wait for its record, else build them again; what has none is audited again.
        bench.sleep(2.0**again)
        todo = batches(model, pending - have[name].unaudited, bench.now)
    bench.listen(ModelDone(model=name))
    return Outcome(
        model=name,
        version=version,
        requested=intervals,
        green=intervals & have[name].complete,
        partial=intervals & have[name].green & have[name].partial,
        built=Ranges.of(worker.built),
        red=red(worker.results),
        failures=tuple(sorted(worker.failures, key=lambda f: f.interval)),
        waits=waits,
        results=tuple(worker.results),
        rows=worker.rows,
        bytes=worker.bytes,
        changes=worker.changes,
        wall=time.monotonic() - began,
        seconds=dict(worker.seconds),
    )


def _look(bench: Workbench, name: str) -> tuple[dict[str, Coverage], dict[tuple[str, str], int]]:
    """What the model and its upstream models have now, and the table commit at which each version was seen."""
    upstreams = upstream_models(bench.project, bench.project.models[name])
    groups = by_version(bench.control.ledger.entries([name, *upstreams], kinds=DECIDING))
    heads: dict[tuple[str, str], int] = {}

    def seen(each: str, version: str) -> Coverage:
        digest = audits_digest(bench.project.models[each])
        entries = groups.get((each, version), [])
        found, heads[each, version] = version_coverage(
            entries, bench.log, model=each, version=version, audits=digest, now=bench.now
        )
        return found

    have = {name: seen(name, bench.version(name))}
    for each in upstreams:
        have[each] = seen(each, bench.project.fingerprints[each])
        if patch := bench.patches.get(each):
            again = seen(each, patch.version)
            kept = Ranges.of(s.interval for s in patch.below) - patch.intervals
            have[each] = Coverage(green=kept | (again.green & patch.intervals))
    if have[name].partial and not bench.patches:
        have[name] = have[name].without(_stale(bench, name, have))
    return have, heads


def _stale(bench: Workbench, name: str, have: Mapping[str, Coverage]) -> Ranges:
    """What is partial of the model and would be computed from other data by this run."""
    shown = bench.control.environments.read(bench.environment).pointers
    upstreams = {
        each: UpstreamNow(
            model=upstream,
            version=bench.project.fingerprints[each],
            have=have[each],
            over=kept_segments(shown.get(each), bench.project.fingerprints[each]),
        )
        for each, upstream in upstream_models(bench.project, bench.project.models[name]).items()
    }
    return moved(bench.project.models[name], have[name], upstreams, bench.pins, run=bench.run)


def _removals(bench: Workbench, name: str) -> frozenset[Removal]:
    """What the janitor removes, or has removed, of the tables that a build of the model writes to and reads."""
    upstreams = upstream_models(bench.project, bench.project.models[name])
    tables = [(each, bench.version(each)) for each in (name, *upstreams)]
    tables += [(each, bench.project.fingerprints[each]) for each in upstreams]
    return frozenset(bench.control.removals.of(tables))


def _removed(name: str) -> BuildError:
    return BuildError(
        f"a table of {name}, or one that it reads, was not needed for longer than the retention and is being removed",
        why="the janitor came first",
        fix="let `backfill janitor --apply` finish, then run this again: it is built anew",
    )


def _inputs(bench: Workbench, model: Model, heads: Mapping[tuple[str, str], int]) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    shown = bench.control.environments.read(bench.environment).pointers if bench.shown is None else bench.shown
    for upstream in model.upstreams:
        name = upstream.name
        if name in bench.project.models:
            version, patch = bench.project.fingerprints[name], bench.patches.get(name)
            if patch:
                over = overlay(patch.below, patch.segments(heads[name, patch.version]))
            else:
                over = kept_segments(shown.get(name), version)
            inputs[name] = ModelInput(
                model=bench.project.models[name],
                version=version,
                commit=heads[name, version],
                over=over,
            )
        else:
            source = bench.project.sources[upstream.name]
            inputs[upstream.name] = SourceInput(source=source, pin=bench.pins[source.name])
    return inputs


def _own(bench: Workbench, name: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """What the environment shows of the model, and what of it stays beside the version that is built."""
    pointer, patch = bench.control.environments.read(bench.environment).pointers.get(name), bench.patches.get(name)
    shown = pointer.segments if pointer else ()
    if patch is None:
        return shown, kept_segments(pointer, bench.version(name))
    beside = [replace(s, interval=part) for s in patch.below for part in Ranges((s.interval,)) - patch.intervals]
    return shown, tuple(beside)


def _create(bench: Workbench, job: Job, engine: Engine, sample: Interval) -> None:
    columns = engine.prepare(job, sample)
    bench.control.versions.put(
        Version(
            model=job.model.name,
            version=job.version,
            upstream={n: i.version for n, i in job.inputs.items() if isinstance(i, ModelInput)},
            columns=columns,
            signature=bench.project.signatures.get(job.model.name, UNKNOWN),
            definition=to_definition(job.model),
            created=datetime.now(UTC),
        )
    )


def _create_hollow(
    bench: Workbench, name: str, heads: Mapping[tuple[str, str], int], engine: Engine
) -> dict[tuple[str, str], int]:
    """Make the tables of upstreams that nothing was built of: all that is read of them was declared empty. Returns the
    heads with those of these tables: their first commit, which holds no row."""
    found = dict(heads)
    for each, upstream in upstream_models(bench.project, bench.project.models[name]).items():
        version = bench.project.fingerprints[each]
        if found[each, version] < 0:
            above = _create_hollow(bench, each, _look(bench, each)[1], engine)
            first = upstream.cadence.ceil(upstream.start)
            job = Job(model=upstream, version=version, inputs=_inputs(bench, upstream, above))
            _create(bench, job, engine, Interval(first, upstream.cadence.shift(first, 1)))
            found[each, version] = 0
    return found


def _run_all(worker: _Worker, batches: Sequence[Interval]) -> None:
    """Run the batches, `batch_concurrency` at a time, until all are done or the bench stops; audit as they pile up."""
    stop, audited = worker.bench.stop, time.monotonic()
    with ThreadPoolExecutor(max_workers=worker.job.model.batch_concurrency, thread_name_prefix="batch") as pool:
        running: set[Future[None]] = {pool.submit(worker.batch, interval) for interval in batches}
        try:
            while running:
                done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if stop.is_set():
                    worker.engine.cancel()
                elif running and time.monotonic() - audited > AUDIT_AFTER:
                    worker.audit(Ranges.of(worker.built))
                    audited = time.monotonic()
        except BaseException:
            stop.set()
            worker.engine.cancel()
            raise


@dataclass(slots=True, kw_only=True)
class _Worker:
    """Does the batches of one job, from several threads, and gathers what came of them."""

    bench: Workbench
    job: Job
    digest: str
    removals: frozenset[Removal]
    """What was known of removals before the first look."""
    engine: Engine
    lock: threading.Lock = field(default_factory=threading.Lock)
    built: list[Interval] = field(default_factory=list[Interval])
    failures: list[Failure] = field(default_factory=list[Failure])
    results: list[AuditResult] = field(default_factory=list[AuditResult])
    rows: int = 0
    bytes: int = 0
    changes: Changes | None = None
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))

    @property
    def settled(self) -> Ranges:
        """What was tried and will not get better by trying again."""
        return Ranges.of(f.interval for f in self.failures) | red(self.results)

    def batch(self, interval: Interval) -> None:
        """Build one batch, with another attempt after an error that may pass."""
        if self.bench.stop.is_set():
            return
        try:
            self._persist(interval, lambda attempt: self._build(interval, attempt))
        except BackfillError as error:
            self._tell_failed(interval, str(error), again=False)
            self._record(self._entry(Kind.FAILED, interval, reason=str(error)))
            with self.lock:
                self.failures.append(Failure(interval=interval, error=str(error)))

    def audit(self, ranges: Ranges) -> None:
        """Audit what of these is built and has no verdict, all in one scan; again after an error that may pass.

        When audits cannot run on all of them, each batch is tried alone. Where they cannot run the rows stay,
        unaudited: the next run sees to them.
        """
        name = self.job.model.name
        have = _look(self.bench, name)[0][name]
        batches = have.batches(ranges & have.unaudited)
        pending = Ranges.of(part for part, _ in batches)
        if pending.span is None or self.bench.stop.is_set():
            return
        try:
            self._persist(pending.span, lambda _: self._audit(pending))
        except BackfillError as error:
            if len(batches) > 1 and not self.bench.stop.is_set():
                for part, _ in batches:
                    self.audit(Ranges((part,)))
                return
            self._tell_failed(pending.span, str(error), again=False)
            with self.lock:
                self.failures.append(Failure(interval=pending.span, error=str(error)))

    def _persist(self, interval: Interval, attempt_it: Callable[[int], None]) -> None:
        for attempt in Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(1 + self.job.model.retries),
            wait=wait_exponential_jitter(initial=1, max=60),
            sleep=self.bench.sleep,
            before_sleep=lambda state: self._tell_failed(interval, _error(state), again=True),
            reraise=True,
        ):
            with attempt:
                attempt_it(attempt.retry_state.attempt_number)

    def _may_pass(self, error: BaseException) -> bool:
        return isinstance(error, BackfillError) and error.retryable and not self.bench.stop.is_set()

    def _build(self, interval: Interval, attempt: int) -> None:
        have = _look(self.bench, self.job.model.name)[0][self.job.model.name]
        for piece in Ranges((interval,)) - have.built - have.empty:
            self.bench.listen(BatchStarted(model=self.job.model.name, interval=piece, attempt=attempt))
            began = time.monotonic()
            batch = new_id()
            self._record(self._entry(Kind.STARTED, piece, batch=batch, attempt=attempt))
            if _removals(self.bench, self.job.model.name) != self.removals:  # after the record: the janitor looks there
                raise _removed(self.job.model.name)
            with self._timed("write"):
                commit = self.engine.write(self.job, batch, piece)
            self._record(
                self._entry(
                    Kind.BUILT,
                    piece,
                    batch=batch,
                    attempt=attempt,
                    table_commit=commit.table_commit,
                    rows=commit.rows,
                    bytes=commit.bytes,
                    changes=commit.changes,
                    seconds=time.monotonic() - began,
                    through=self.bench.now if piece.end > self.bench.now else None,
                    inputs={name: _input_json(i) for name, i in self.job.inputs.items()},
                )
            )
            with self.lock:
                self.built.append(piece)
                self.rows += commit.rows
                self.bytes += commit.bytes
                if commit.changes is not None:
                    self.changes = (self.changes or Changes()) + commit.changes
            self.bench.listen(
                BatchDone(
                    model=self.job.model.name,
                    interval=piece,
                    intervals=self.job.model.cadence.count(piece),
                    rows=commit.rows,
                    seconds=time.monotonic() - began,
                    changes=commit.changes,
                )
            )

    def _audit(self, ranges: Ranges) -> None:
        """Audit what of these is built at the table's newest commit, and record the verdicts."""
        model, began = self.job.model, time.monotonic()
        have, heads = _look(self.bench, model.name)
        by_batch: dict[str, list[Interval]] = defaultdict(list)
        for part, entry in have[model.name].batches(ranges & have[model.name].unaudited):
            by_batch[entry.batch].append(part)
        pending = Ranges.of(part for parts in by_batch.values() for part in parts)
        if not pending:
            return
        with self._timed("audit"):
            commit = heads[model.name, self.job.version]
            reads = audit_reads(self.bench, self.job, commit, have[model.name].built, pending)
            counts = self.engine.scan(self.job, commit, pending, reads)
            results = self._judged(by_batch, counts)
            results = self._with_samples(results, commit, reads)
        entries = self._verdicts(by_batch, results, commit)
        with self._timed("record"):
            self.bench.control.results.append(results)
            self.bench.control.ledger.append(entries)
        with self.lock:
            self.results.extend(results)
        self.bench.listen(
            Audited(
                model=model.name,
                intervals=pending.count(model.cadence),
                seconds=time.monotonic() - began,
                red=red(results),
            )
        )

    def _judged(self, by_batch: Mapping[str, list[Interval]], counts: Mapping[datetime, Counts]) -> list[AuditResult]:
        """The results of every interval of these batches."""
        model, prod = self.job.model, self._prod_rows()
        return [
            result
            for batch, parts in by_batch.items()
            for result in judge(
                model,
                self.job.version,
                batch,
                Ranges.of(parts).split(model.cadence),
                counts,
                prod_rows=prod,
                at=datetime.now(UTC),
            )
        ]

    def _with_samples(self, results: list[AuditResult], commit: int, reads: AuditReads) -> list[AuditResult]:
        """The results with a few failing keys, tolerated ones too: one question for each audit that found any."""
        found: dict[str, list[Interval]] = defaultdict(list)
        for result in results:
            if result.failures:
                found[result.check].append(result.interval)
        keys = {
            check: self.engine.sample(self.job, commit, Ranges.of(parts), reads, check)
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
        for segment in pointer.segments if pointer else ():
            if segment.version == self.job.version:
                continue  # the environment shows this very version: nothing to compare
            for instant, rows in self.bench.log.rows(model.name, segment.version, segment.commit).items():
                if segment.interval.start <= instant < segment.interval.end:
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

    def _record(self, entry: Entry) -> None:
        with self._timed("record"):
            self.bench.control.ledger.append([entry])

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

    worker: _Worker
    name: str
    began: float = 0.0

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        with self.worker.lock:
            self.worker.seconds[self.name] += time.monotonic() - self.began


def _error(state: RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome else ""


def _input_json(read: Input) -> dict[str, object]:
    match read:
        case ModelInput():
            said: dict[str, object] = {"version": read.version, "commit": read.commit}
            if read.over:
                said["over"] = over_json(read.over)
            return said
        case SourceInput():
            return dict(read.pin)
