"""How is one model built over a range? Ask the ledger what is missing, then batch, write, record, audit, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.judge import red
from backfill_assets.build.audit import audit_built
from backfill_assets.build.batch import build_batch
from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Input, Job, ModelInput, SourceInput
from backfill_assets.build.engine_restart import on_engine
from backfill_assets.build.events import (
    ModelDone,
    ModelStarted,
)
from backfill_assets.build.outcome import FailedInterval, Outcome, Wait
from backfill_assets.build.recheck import current_coverage, refuse_lost_table, removals_of, removed
from backfill_assets.build.worker import Worker
from backfill_assets.core.errors import BackfillError, RunEndedError, StateError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import UNKNOWN, Model
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.plan.adoption import kept_older
from backfill_assets.plan.missing import batches, ready, upstream_models
from backfill_assets.plan.patch import segments_beside
from backfill_assets.project.stored import made_from, to_definition
from backfill_assets.state.ledger import Coverage, Entry, Kind
from backfill_assets.state.removals import Removal
from backfill_assets.state.versions import Version

AUDIT_AFTER = 60.0
"""Seconds of building after which what is built by then is audited. One scan of many batches costs little more than
one of a single batch, so a short build is audited once, at its end."""


def build(bench: Workbench, name: str, intervals: Ranges) -> Outcome:
    """Bring these intervals of a model's current version to built and audited; what already is stays untouched.

    One failed batch does not stop the others. Nothing missing means that no engine is opened. Raises SettingsError when
    none can be opened on this machine.
    """
    model, version = bench.project.models[name], bench.version(name)
    removals = removals_of(bench, name)  # before the look: a table that was seen may be removed at any time
    have, heads = current_coverage(bench, name)
    shown = bench.pointers()
    staying = {
        n: NOTHING
        if n in bench.patches
        else kept_older(shown.get(bench.project.models[n].name), bench.project.fingerprints[n])
        for n in have
        if n != name
    }
    todo = intervals - have[name].complete - have[name].unaudited
    beyond = Ranges() if name in bench.patches else todo - model.begun(bench.now)
    good, waiting = ready(
        model,
        todo - beyond,
        upstream_models(bench.project, model),
        {n: have[n].complete | stay for n, stay in staying.items()},
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
        return replace(
            nothing, failures=tuple(FailedInterval(interval=i, error=str(removed(name))) for i in good | recheck)
        )
    todo = _batches(bench, model, good)
    if todo and bench.hold.why():
        audited = build(bench, name, recheck) if recheck else nothing  # audits are not held
        if bench.may_begin():
            return build(bench, name, intervals)  # from how things are by then
        found = {"green": nothing.green | audited.green, "partial": nothing.partial | audited.partial}
        return replace(audited, requested=intervals, waits=waits, **found)
    if bench.stop.is_set():
        return nothing
    with ExitStack() as held:
        try:
            become_writer = held.enter_context(bench.lease(name, version))
        except StateError as error:
            span = (good | recheck).span
            assert span is not None
            return replace(nothing, failures=(FailedInterval(interval=span, error=str(error)),))
        work = _Work(good=good, recheck=recheck, todo=todo, removals=removals)
        return _carry_out(bench, nothing, work, have, heads, become_writer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What a model's build has to do: what is built, what is audited, and the batches of the former."""

    good: Ranges
    recheck: Ranges
    todo: list[Interval]
    removals: frozenset[Removal]


def _carry_out(
    bench: Workbench,
    nothing: Outcome,
    work: _Work,
    have: Mapping[str, Coverage],
    heads: Mapping[tuple[str, str], int],
    become_writer: Callable[[], None],
) -> Outcome:
    """Do it, from how things are. `nothing` is what came of it when nothing is done."""
    name, version, intervals, todo = nothing.model, nothing.version, nothing.requested, work.todo
    model, good, recheck = bench.project.models[name], work.good, work.recheck
    engine, job = bench.engine(), None
    bench.listen(ModelStarted(model=name, intervals=good.count(model.cadence), batches=len(todo)))
    try:
        heads = create_hollow(bench, name, heads) if todo else heads
        shown, beside = _own(bench, name, have[name])
        job = Job(model=model, version=version, inputs=inputs_of(bench, model, have, heads), shown=shown, beside=beside)
        if (patch := bench.patches.get(name)) and patch.scope:
            assert patch.scope.ids == (bench.ids.digest if bench.ids else ""), "other keys than those of the plan"
            job = replace(job, scope=patch.scope, ids=bench.ids, below=patch.below)
        if todo:
            create_table(bench, job.reading(bench.sources(name, todo[0])), todo[0], heads[name, version])
            become_writer()
    except BackfillError as error:
        if isinstance(error, RunEndedError):
            bench.stop.set()
        elif job and not bench.stop.is_set() and not isinstance(error, StateError):
            _record_failed(bench, job, todo, str(error))
        bench.listen(ModelDone(model=name))
        return replace(
            nothing, failures=(FailedInterval(interval=good.span or next(iter(intervals)), error=str(error)),)
        )
    worker = Worker(bench=bench, job=job, digest=audits_digest(model), removals=work.removals, engine=engine)
    began = time.monotonic()
    for again in range(1 + model.retries):
        _run_all(worker, todo)
        audit_built(worker, intervals)
        have, _ = current_coverage(bench, name)
        pending = (good | recheck) - have[name].complete - worker.settled
        if not pending or bench.stop.is_set() or bench.hold.ended:
            break
        # Another run wrote these meanwhile: wait for its record, else build them again; what has none is audited again.
        bench.sleep(2.0**again)
        if todo := _batches(bench, model, pending - have[name].unaudited):
            try:
                become_writer()
            except StateError as error:  # what is built and audited by now is, as far as this model is concerned
                worker.failures += [FailedInterval(interval=batch, error=str(error)) for batch in todo]
                break
    bench.listen(ModelDone(model=name))
    return Outcome(
        model=name,
        version=version,
        requested=intervals,
        green=(intervals & have[name].complete) - red(worker.results),
        partial=intervals & have[name].green & have[name].partial,
        built=Ranges.of(worker.built),
        red=red(worker.results),
        rowless=Ranges.of(worker.rowless),
        unsteady=worker.alone.unsteady,
        failures=tuple(sorted(worker.failures, key=lambda f: f.interval)),
        waits=nothing.waits,
        results=tuple(worker.results),
        rows=worker.rows,
        bytes=worker.bytes,
        changes=worker.changes,
        wall=time.monotonic() - began,
        seconds=dict(worker.seconds),
    )


def create_version(bench: Workbench, name: str) -> None:
    """Make sure that the table and the record of a model's version are there, before a row of it is.

    Raises BuildError, StateError when the model cannot be computed or no table can have its rows.
    """
    model = bench.project.models[name]
    removals = removals_of(bench, name)
    if not all(r.done for r in removals):
        raise removed(name)
    have, heads = current_coverage(bench, name)
    heads = create_hollow(bench, name, heads)
    first = model.cadence.ceil(model.start)
    job = Job(model=model, version=bench.version(name), inputs=inputs_of(bench, model, have, heads))
    create_table(bench, job, Interval(first, model.cadence.shift(first, 1)), heads[name, job.version])


def _batches(bench: Workbench, model: Model, intervals: Ranges) -> list[Interval]:
    """The intervals in the plan's batches; what it has none for in new ones, each of one state of the sources."""
    planned = [part for batch in bench.planned.get(model.name, ()) for part in Ranges((batch,)) & intervals]
    rest = bench.read_alike(model.name, intervals - Ranges.of(planned))
    return sorted([*planned, *(batch for part, _ in rest for batch in batches(model, part, bench.now))])


def inputs_of(
    bench: Workbench, model: Model, have: Mapping[str, Coverage], heads: Mapping[tuple[str, str], int]
) -> dict[str, Input]:
    """What a model reads, by `current_coverage`."""
    inputs: dict[str, Input] = {}
    shown = bench.pointers()
    for upstream in model.upstreams:
        name = upstream.name
        if name in bench.project.models:
            above, version = bench.project.models[name], bench.project.fingerprints[name]
            patch = bench.patches.get(name)
            if patch:
                over = patch.segments(heads[name, patch.version]).over(patch.below)
            else:
                over = segments_beside(shown.get(above.name), version, have[name])
            inputs[name] = ModelInput(
                model=above,
                version=version,
                commit=heads[name, version],
                over=over,
                columns=upstream.columns,
            )
        else:
            source = bench.project.sources[upstream.name]
            inputs[upstream.name] = SourceInput(source=source, pin=bench.pins[source.name], columns=upstream.columns)
    return inputs


def _own(bench: Workbench, name: str, have: Coverage) -> tuple[Segments, Segments]:
    """What the environment shows of the model, and what of it stays beside the version that is built."""
    pointer, patch = bench.control.environments.read(bench.environment).pointers.get(name), bench.patches.get(name)
    shown = pointer.segments if pointer else NO_ROWS
    if patch is None:
        return shown, segments_beside(pointer, bench.version(name), have)
    return shown, patch.below.without(patch.intervals)


def create_table(bench: Workbench, job: Job, sample: Interval, head: int) -> None:
    """Make sure that a job's table is there (its commit is `head`, or -1), and the record of its version. Raises
    BuildError, also where the table is gone and shown."""
    if head < 0:
        refuse_lost_table(bench, job.model.name, job.version)
    columns = on_engine(bench, job.model.name, lambda engine: engine.prepare(job, sample))
    bench.control.versions.put(
        Version(
            model=job.model.name,
            version=job.version,
            upstream={n: i.version for n, i in job.inputs.items() if isinstance(i, ModelInput)},
            columns=columns,
            signature=bench.project.signatures.get(job.model.name, UNKNOWN),
            definition=to_definition(job.model) | made_from(bench.project, job.model),
            created=datetime.now(UTC),
        )
    )


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


def create_hollow(bench: Workbench, name: str, heads: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Make the tables of upstreams that nothing was built of: all that is read of them was declared empty. Returns the
    heads with those of these tables: their first commit, which holds no row. None is made where a correction takes the
    place of all that is shown of a table that is gone. Raises BuildError where one takes the place of a part of it."""
    found = dict(heads)
    for each, upstream in upstream_models(bench.project, bench.project.models[name]).items():
        version = bench.project.fingerprints[each]
        if found[each, version] < 0:
            patch = bench.patches.get(each)
            if patch and not patch.below.without(patch.intervals).in_table(version):
                continue
            there, seen = current_coverage(bench, each)
            above = create_hollow(bench, each, seen)
            first = upstream.cadence.ceil(upstream.start)
            job = Job(model=upstream, version=version, inputs=inputs_of(bench, upstream, there, above))
            create_table(bench, job, Interval(first, upstream.cadence.shift(first, 1)), found[each, version])
            found[each, version] = 0
    return found


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
