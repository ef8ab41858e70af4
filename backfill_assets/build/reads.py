"""What do a model's audits look at beside the rows that they judge? Other tables, prod, and intervals near by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from backfill_assets.audit.digest import audits_digest
from backfill_assets.build.engine import AuditReads, Job, Shown, SourceInput
from backfill_assets.errors import BuildError
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.plan.patch import overlay, stays_beside
from backfill_assets.snapshots.audit_reads import PROD, audit_tables
from backfill_assets.snapshots.model import Model
from backfill_assets.state.environment import Environment, Segment
from backfill_assets.state.ledger import DECIDING, by_version
from backfill_assets.state.standing import as_shown, standing
from backfill_assets.state.tables import version_coverage

if TYPE_CHECKING:
    from backfill_assets.build.bench import Workbench


def audit_reads(bench: Workbench, job: Job, commit: int, built: Ranges, judged: Ranges) -> AuditReads:
    """What is there at this moment for audits of the intervals `judged`, of those that are `built` at the commit.

    Raises BuildError for a table that neither the project nor the environment has any more.
    """
    model = job.model
    if not any(a.kind in ("reconcile", "trend", "sql", "relationships", "entities") for a in model.audits):
        return AuditReads()
    shown = bench.control.environments.read(bench.environment)
    pointer = shown.pointers.get(model.name)
    below = pointer.segments if pointer else ()
    compares = any(a.arguments.get("of") == PROD for a in model.audits)
    mine = [Segment(version=job.version, commit=commit, interval=part) for part in built]
    return AuditReads(
        tables={name: _table(bench, shown, model, name) for name in audit_tables(model)},
        # Where the environment shows this very version, there is nothing to compare with.
        shown=cut([s for s in below if s.version != job.version], judged) if compares else (),
        around=cut(overlay(below, mine), near(model, judged) - judged),
    )


def near(model: Model, judged: Ranges) -> Ranges:
    """The intervals that the model's trends compare these with, and these themselves."""
    reach = max((cast(int, a.arguments["neighbours"]) for a in model.audits if a.kind == "trend"), default=0)
    shift = model.cadence.shift
    return (
        Ranges.of(Interval(shift(part.start, -reach), shift(part.end, reach)) for part in judged) if reach else Ranges()
    )


def cut(segments: Sequence[Segment], ranges: Ranges) -> tuple[Segment, ...]:
    """The segments as far as they are in these ranges."""
    return tuple(
        Segment(version=s.version, commit=s.commit, interval=part, columns=s.columns)
        for s in segments
        for part in Ranges((s.interval,)) & ranges
    )


def _table(bench: Workbench, shown: Environment, model: Model, name: str) -> Shown | SourceInput:
    if name in bench.project.sources:
        return SourceInput(source=bench.project.sources[name], pin=bench.pins[name])
    if name in bench.project.models:
        found = Shown(model=bench.project.models[name], segments=_segments(bench, shown, name))
        if found.segments:
            return found
    raise BuildError(
        f"the audits of {model.name} look at {name}, which has no rows yet",
        why=f"it is not built, and {bench.environment} does not show it",
        fix=f"build it first: backfill apply --select {name}",
    )


def _segments(bench: Workbench, shown: Environment, name: str) -> tuple[Segment, ...]:
    """The code's version of a model as far as it is green, as a candidate shows it; else what the environment shows."""
    pointer, logic, patch = shown.pointers.get(name), bench.project.fingerprints[name], bench.patches.get(name)
    groups = by_version(bench.control.ledger.entries([name], kinds=DECIDING))
    version = patch.version if patch else logic
    digest = audits_digest(bench.project.models[name])
    found, head = version_coverage(
        groups.get((name, version), []), bench.log, model=name, version=version, audits=digest
    )
    known = standing(pointer, groups, bench.log, audits=digest) if pointer and not patch else None
    have = as_shown(found, version, pointer, known)
    green = tuple(Segment(version=version, commit=head, interval=part) for part in have.green)
    if patch:
        return overlay(patch.below or (pointer.segments if pointer else ()), green)
    if green:
        return overlay(green, stays_beside(pointer, logic, have))
    return pointer.segments if pointer else ()
