"""What does the new logic give for a sample of entities? Their rows, in tables that nothing but the comparison reads.

The ledger does not get to know of them: for it, and so for plans, gates and approvals, nothing was built. The janitor
removes the tables.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Engine, Input, Job, ModelInput
from backfill_assets.build.engine_restart import on_engine
from backfill_assets.build.events import BatchDone, BatchStarted, ModelDone, ModelStarted
from backfill_assets.build.recheck import current_coverage
from backfill_assets.build.version_tables import create_hollow, create_table, inputs_of
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import HeldError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.segments import NO_ROWS, Segments, revision_of
from backfill_assets.plan.missing import batches, upstream_models
from backfill_assets.plan.patch import Patch, segments_beside
from backfill_assets.plan.stages import Build
from backfill_assets.state.ledger import new_id
from backfill_assets.state.tables import DataCommit


def build_sample(bench: Workbench, builds: Sequence[Build], taken: Mapping[str, str]) -> dict[str, Segments]:
    """The rows of each model of `taken` that the builds would give, as far as its SQL condition holds for them.

    `builds` are in dependency order; each is written in batches of its model's size. Raises BuildError; HeldError where
    no batch may begin any more.
    """
    patches = {
        stage.model: Patch(
            version=revision_of(stage.version, digest("sample", bench.run)[:8]),
            intervals=stage.intervals,
            below=_below(bench, stage.model),
        )
        for stage in builds
        if stage.model in taken
    }
    bench = replace(bench, patches=patches)
    with bench.beating():
        for name in patches:
            _build(bench, name, taken[name])
    return {name: patch.segments(bench.log.head(name, patch.version)) for name, patch in patches.items()}


def _below(bench: Workbench, name: str) -> Segments:
    """What is read of a model around the sample's days, beside its version's table: what a build would read."""
    if patch := bench.patches.get(name):
        return patch.below
    have, _ = current_coverage(bench, name)
    return segments_beside(bench.pointers().get(name), bench.project.fingerprints[name], have[name])


def _build(bench: Workbench, name: str, taken: str) -> None:
    model, patch = bench.project.models[name], bench.patches[name]
    pointer = bench.pointers().get(name)
    job = Job(
        model=model,
        version=patch.version,
        inputs=_inputs(bench, name),
        shown=pointer.segments if pointer else NO_ROWS,
        taken=taken,
    )
    todo = [
        (job.reading(pins), interval)
        for part, pins in bench.read_alike(name, patch.intervals)
        for interval in batches(model, part, bench.now)
    ]
    bench.listen(ModelStarted(model=name, intervals=patch.intervals.count(model.cadence), batches=len(todo)))
    for reading, interval in todo:
        if not bench.may_begin():
            raise HeldError(
                f"the sample of {name} was not finished", why=bench.hold.ended, fix="run it again: nothing is kept"
            )
        bench.listen(BatchStarted(model=name, interval=interval, attempt=1))
        began, count = time.monotonic(), model.cadence.count(interval)
        create_table(bench, reading, interval, bench.log.head(name, reading.version))
        rows = on_engine(bench, name, partial(_write, job=reading, interval=interval)).rows
        spent = time.monotonic() - began
        bench.listen(BatchDone(model=name, interval=interval, intervals=count, rows=rows, seconds=spent))
    bench.listen(ModelDone(model=name))


def _inputs(bench: Workbench, name: str) -> dict[str, Input]:
    """What a model of the sample reads. Of a version of which nothing is built the sample's table is all there is:
    there is no need to make the version's own."""
    model = bench.project.models[name]
    have, heads = current_coverage(bench, name)
    versions = {each: (each, bench.project.fingerprints[each]) for each in upstream_models(bench.project, model)}
    alone = {
        each: bench.patches[each].version
        for each, version in versions.items()
        if each in bench.patches and heads[version] < 0
    }
    heads |= {versions[each]: heads[each, version] for each, version in alone.items()}
    inputs = inputs_of(bench, model, have, create_hollow(bench, name, heads))
    return {
        each: replace(read, version=alone[each]) if isinstance(read, ModelInput) and each in alone else read
        for each, read in inputs.items()
    }


def _write(engine: Engine, job: Job, interval: Interval) -> DataCommit:
    return engine.write(job, new_id(), interval)
