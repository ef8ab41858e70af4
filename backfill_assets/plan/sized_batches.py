"""Which batches has a plan's build of a model that does not say how long they are? What was found out cuts them.

What is left of an open plan keeps the batches that this one froze: what is tried again is what was tried before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache

from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.plan.batch_size import Machine, Pace, batch_size, pace_by_batches, pace_by_bytes
from backfill_assets.plan.batch_times import basis_of
from backfill_assets.plan.copied import NO_COPY
from backfill_assets.plan.frozen import alike
from backfill_assets.plan.missing import USUAL
from backfill_assets.plan.renamed_columns import batches_apart
from backfill_assets.plan.source_bytes import TimedFile, batch_reads
from backfill_assets.plan.stages import Build, Plan, Stage
from backfill_assets.state.ledger import EntriesByVersion

Expected = Callable[[str], tuple[Pace | None, str]]
"""Of a model: how long its batches take by the bytes that they read; None, and what nobody knows the size of."""
Paces = Callable[[str, str], tuple[Pace | None, str]]
"""Of a model and a version: how long its batches take; None, and what nobody knows the size of."""


def unsized(project: Project, plan: Plan) -> tuple[Build, ...]:
    """The plan's builds of several intervals of models that do not say how many are a batch."""
    builds = (stage for stage in plan.stages if isinstance(stage, Build))
    return tuple(stage for stage in builds if stage.count > 1 and not project.models[stage.model].batch_size)


def sized_words(plan: Plan) -> list[str]:
    """Why the batches of what is built are as long as they are, a sentence a model; nothing of a few intervals that are
    one batch."""
    found = (stage for stage in plan.stages if isinstance(stage, Build) and stage.sized)
    return [f"{s.model}: {s.sized}." for s in found if s.count > USUAL or len(s.batches) > 1]


def seconds_of(project: Project, plan: Plan, pace: Paces) -> float:
    """What the plan's builds take together, as far as anybody knows; without audits."""
    found = 0.0
    for stage in plan.stages:
        if isinstance(stage, Build) and (known := pace(stage.model, stage.version)[0]):
            cadence = project.models[stage.model].cadence
            beside = max(min(stage.concurrency, len(stage.batches)), 1)
            found += sum(known(cadence.count(batch)) for batch in stage.batches) / beside
    return found


def expected_paces(
    project: Project,
    history: EntriesByVersion,
    parts: Callable[[], Mapping[str, Sequence[TimedFile]]],
    machine: Machine,
    now: datetime,
) -> Expected:
    """From the files of sources, which are looked at when the first model is asked about, and what the ledger says of
    upstreams."""
    there = cache(parts)

    @cache
    def expected(name: str) -> tuple[Pace | None, str]:
        model = project.models[name]
        reads = batch_reads(project, model, there(), history, now)
        return pace_by_bytes(reads, machine, model.batch_concurrency), ", ".join(reads.unknown)

    return expected


def paces(project: Project, history: EntriesByVersion, expected: Expected) -> Paces:
    """From what the ledger says of batches, else as expected."""

    @cache
    def pace(name: str, version: str) -> tuple[Pace | None, str]:
        known = {key: [e for e in found if not e.through] for key, found in history.items() if key[0] == name}
        by_bytes, unknown = expected(name)
        basis = basis_of(known, project.models[name], version)
        return pace_by_batches(basis, by_bytes) if basis else by_bytes, unknown

    return pace


def with_sizes(project: Project, plan: Plan, pace: Paces, machine: Machine, before: tuple[str, Plan] | None) -> Plan:
    """The plan with batches of what was found. `before`: the open plan that it goes on with, and its id."""
    wanted = {stage.model for stage in unsized(project, plan)}
    frozen = {(s.model, s.version): s.batches for s in (before[1].stages if before else ()) if isinstance(s, Build)}

    def sized(stage: Build, kept: Sequence[Interval]) -> Build:
        if stage.model not in wanted:
            return stage
        model = project.models[stage.model]
        found, unknown = pace(stage.model, stage.version)
        new = batch_size(found, machine, stage.count, model.cadence, unknown=unknown)
        cut = _cut(plan, replace(model, batch_size=new.size), stage.intervals, kept)
        return replace(
            stage, batches=cut, sized=f"batches as plan {before[0]} has them" if before and kept else new.why
        )

    def in_order(stage: Stage) -> Stage:
        return sized(stage, frozen.get((stage.model, stage.version), ())) if isinstance(stage, Build) else stage

    return replace(
        plan,
        stages=tuple(map(in_order, plan.stages)),
        whole=tuple(sized(stage, ()) for stage in plan.whole),
        smaller=tuple(sized(stage, ()) for stage in plan.smaller),
    )


def _cut(plan: Plan, model: Model, intervals: Ranges, kept: Sequence[Interval]) -> tuple[Interval, ...]:
    """Batches of the model's size, but for what is `kept`; each of one state of the sources, and copied or computed."""
    copied = plan.copies.get(model.name, NO_COPY)
    found: list[Interval] = []
    for part, _ in alike(plan.continued.frozen, model.name, intervals):
        again = [piece for batch in kept for piece in Ranges((batch,)) & part]
        for piece in again:
            as_one = replace(model, batch_size=model.cadence.count(piece))
            found += batches_apart(as_one, Ranges((piece,)), plan.now, copied)
        found += batches_apart(model, part - Ranges.of(again), plan.now, copied)
    return tuple(sorted(found))
