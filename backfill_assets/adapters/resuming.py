"""How does what is left of an open plan read its sources? As the plan froze them, where they can be read so. No JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Project, Source
from backfill_assets.core.pin import Pin, Pins, same_pin
from backfill_assets.plan.commands import withdraw_all
from backfill_assets.plan.copied import NO_COPY
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.frozen import TRIED, Continued, Touched, alike, continued, sources_read
from backfill_assets.plan.leases import Claim, targets
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.renamed_columns import batches_apart
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.plan.stored import as_stored, stored_plan
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import EntriesByVersion, by_version, coverage
from backfill_assets.state.plans import PlanRecord, PlanStatus


def resumed(project: Project, control: Control, reader: FilePins, plan: Plan, claim: Claim) -> Plan:
    """The plan, what is left of open ones reading sources as these froze them.

    Raises PlanError when a source cannot be read so any more.
    """
    left = {t.model: (t.version, t.intervals) for t in targets(plan) if t.intervals}
    records = (*((claim.continues,) if claim.continues else ()), *reversed(claim.supersedes))
    found = how_read(project, control, reader, records, left, plan.sources)
    stages = tuple(
        replace(s, batches=_cut(project, s, plan, found)) if isinstance(s, Build) else s for s in plan.stages
    )
    return replace(plan, continued=found, stages=stages)


def how_read(
    project: Project,
    control: Control,
    reader: FilePins,
    records: Sequence[PlanRecord],
    left: Mapping[str, tuple[str, Ranges]],
    pins: Pins,
) -> Continued:
    """How these intervals (of a version, by model) are read, which open plans had. `pins`: the sources as they are.

    Raises PlanError when a source cannot be read as a plan froze it.
    """
    plans = [as_stored(record, plan) for record in records if (plan := stored_plan(control, record.id))]
    read = {name for model in left for name in sources_read(project, project.models[model])}
    if not any(p.frozen or any(not same_pin(p.sources.get(n, {}), pins[n]) for n in read) for p in plans):
        return Continued()
    entries = by_version(control.ledger.entries(list(left), kinds=TRIED))
    found = continued(project, left, plans, pins, entries, _touched(project))
    for part in found.frozen:
        for name, pin in part.sources.items():
            if why := reader.not_there(project.sources[name], pin):
                record = next(r for r in records if r.id == part.plan)
                raise _unreadable(name, pin, record.id, why, _built(record, entries))
    return found


def as_restated(
    project: Project, control: Control, reader: FilePins, facts: Facts, request: Request
) -> tuple[Facts, Continued]:
    """The facts with the sources of an open restatement of the same request that is not complete: it is gone on with.

    A revision is of one state of the sources: where a day of it failed or is red and a source was mended since, all of
    it begins anew, from the sources as they are; what moved is said.
    """
    for record in reversed(control.plans.all()):
        if not record.live or record.environment != facts.environment.name:
            continue
        if not (said := stored_plan(control, record.id)) or said.request != request:
            continue
        then = {n: pin for n, pin in said.sources.items() if "commit" in pin and n in facts.sources.pins}
        unknown = {n: pin for n, pin in then.items() if "table" not in pin and same_pin(pin, facts.sources.pins[n])}
        facts = facts.with_pins({**facts.sources.pins, **unknown})  # a revision is named by what was written of it
        if record.status is not PlanStatus.OPEN:
            continue
        before = facts.with_pins({**facts.sources.pins, **then})
        made = make_plan(project, before, request)
        left = {t.model: (t.version, t.intervals) for t in targets(made) if t.intervals}
        if not left or {m: v for m, (v, _) in left.items()}.items() - record.versions.items():
            continue
        found = how_read(project, control, reader, [record], left, facts.sources.pins)
        return (facts, replace(found, frozen=())) if found.moved else (before, found)
    return facts, Continued()


def _cut(project: Project, stage: Build, plan: Plan, found: Continued) -> tuple[Interval, ...]:
    """The stage's batches, each of one state of the sources, or copied."""
    parts = [part for part, _ in alike(found.frozen, stage.model, stage.intervals)]
    model, copied = project.models[stage.model], plan.copies.get(stage.model, NO_COPY)
    return tuple(sorted(b for part in parts for b in batches_apart(model, part, plan.now, copied)))


def _touched(project: Project) -> Touched:
    changes = SourceChanges()

    def touched(name: str, then: Pin) -> Ranges | None:
        return after(name, cast(int, then["commit"]), cast("str | None", then.get("table")))

    @cache
    def after(name: str, commit: int, table: str | None) -> Ranges | None:
        source = project.sources[name]
        history = changes.history(source, commit)
        if table is not None and history.table_at(commit) not in ("", table):
            return None
        if history.unwatched or history.since > commit or any(c.touches is None for c in history.changes):
            return None
        if _columns(source, commit) != _columns(source, None):
            return None
        return Ranges.of(t for c in history.changes for t in c.touches or ())

    return touched


def _columns(source: Source, commit: int | None) -> str:
    try:
        table = open_table(cast(str, source.path), commit)
    except StateError:
        return ""
    return table.schema().to_json() if table else ""


def _built(record: PlanRecord, entries: EntriesByVersion) -> dict[str, Ranges]:
    """What a plan has built already."""
    there = ((t, coverage(entries.get((t.model, t.version), ()), audits="").built) for t in record.targets)
    return {t.model: part for t, built in there if (part := built & t.intervals)}


def _unreadable(source: str, pin: Pin, plan: str, why: str, built: Mapping[str, Ranges]) -> PlanError:
    whole = " To have all of it from one state, make what is built missing as well, before that: "
    return PlanError(
        f"source {source} cannot be read at commit {pin['commit']} any more, which plan {plan} froze",
        why=f"{why}; what the plan built until now was computed from that",
        fix=f"backfill abandon {plan}, then this again: what is left is built from the source as it is."
        f"{whole + withdraw_all(built) if built else ''}",
    )
