"""Where do a version's rows go, and what are they computed from? Its table and record, and those of what it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Input, Job, ModelInput, SourceInput
from backfill_assets.build.engine_restart import on_engine
from backfill_assets.build.recheck import current_coverage, refuse_lost_table, removals_of, removed
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import UNKNOWN, Model
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.patch import segments_beside
from backfill_assets.project.stored import made_from, to_definition
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.versions import Version


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


def shown_and_beside(bench: Workbench, name: str, have: Coverage) -> tuple[Segments, Segments]:
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
    declared = bench.declared.get(job.model.name, job.model)
    model = replace(job.model, start=declared.start, end=declared.end)  # what it reads may reach further one day
    bench.control.versions.put(
        Version(
            model=job.model.name,
            version=job.version,
            upstream={n: i.version for n, i in job.inputs.items() if isinstance(i, ModelInput)},
            columns=columns,
            signature=bench.project.signatures.get(job.model.name, UNKNOWN),
            definition=to_definition(model) | made_from(bench.project, model),
            created=datetime.now(UTC),
        )
    )


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
