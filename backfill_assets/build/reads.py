"""What do a model's audits look at beside the rows that they judge? Other tables, prod, and intervals near by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.reads import audit_tables, compares_with_prod, period, reach
from backfill_assets.build.engine import AuditReads, Job, ShownModel, SourceInput
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.pin import Pins
from backfill_assets.core.segments import NO_ROWS, Segments
from backfill_assets.plan.patch import segments_beside
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, by_version
from backfill_assets.state.seen import seen

if TYPE_CHECKING:
    from backfill_assets.build.bench import Workbench


def audit_reads(
    bench: Workbench, job: Job, commit: int, built: Ranges, judged: Ranges, pins: Pins, *, empty: Ranges = NOTHING
) -> AuditReads:
    """What is there now for audits of the intervals `judged`: of those that are `built` at the commit, beside
    those declared `empty`; of sources what the `pins` say.

    Raises BuildError for a table that neither the project nor the environment has any more.
    """
    model = job.model
    tables, around = audit_tables(model), near(model, judged)
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


def near(model: Model, judged: Ranges) -> Ranges:
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
