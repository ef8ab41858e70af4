"""Is all known that has to be known before history is rewritten? What is not is a finding, with its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backfill_assets.contracts.confirmed import stale_since
from backfill_assets.contracts.impact import older_rows
from backfill_assets.core.consumer import CONSUMERS_FILE, Consumer
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.category import Category
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.leases import targets
from backfill_assets.plan.stages import Build, Plan
from backfill_assets.state.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that is not known, or not as it should be. `blocking`: history is not to be rewritten before."""

    subject: str
    what: str
    remedy: str
    blocking: bool

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}\n  fix: {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What preflight looks at, beside the project and the plan."""

    shown: Environment
    """The environment that the plan is for."""
    gone: frozenset[tuple[str, str]] = frozenset()
    """Model and version of tables that it shows and that are not there any more."""
    extents: Mapping[str, Interval] = field(default_factory=dict[str, Interval])
    """The days that a source has rows of; nothing for those of which nobody can tell."""


def preflight(project: Project, plan: Plan, grounds: Grounds) -> tuple[Gap, ...]:
    """Everything that is missing, what blocks first.

    Only what rewrites published history is blocked: new models and new days have no history to protect.
    """
    history = rewritten_models(plan, grounds.shown)
    found = [f for name in plan.models for f in _model(project, plan, name, grounds, blocking=name in history)]
    found += _consumers(project, plan, history)
    found += [f for s in plan.stages if isinstance(s, Build) for f in _sources(project, s, grounds)]
    return tuple(sorted(found, key=lambda f: not f.blocking))


def rewritten_models(plan: Plan, shown: Environment) -> frozenset[str]:
    """The models of which the plan replaces rows that are shown."""
    found: set[str] = set()
    for name in plan.models:
        if (pointer := shown.pointers.get(name)) is None:
            continue
        change = plan.changes.get(name)
        changed = change is not None and change.category not in (Category.NEW, Category.UNCHANGED)
        if changed or name in plan.patches or older_rows(plan, name, pointer):
            found.add(name)
    return frozenset(found)


def lacks(project: Project, model: Model, window: Interval, grounds: Grounds) -> Iterator[tuple[str, Ranges]]:
    """The sources that have no rows for a part of what the model reads in the window, and which part.

    Before the model's start nothing is expected of them.
    """
    reads = model.window(window)
    needed = Ranges((Interval(max(reads.start, model.start), reads.end),))
    for upstream in model.upstreams:
        extent = grounds.extents.get(upstream.name)
        if upstream.name not in project.sources or extent is None:
            continue
        if missing := needed - Ranges((model.calendar.meeting(extent),)):
            yield upstream.name, missing


def _model(project: Project, plan: Plan, name: str, grounds: Grounds, *, blocking: bool) -> Iterator[Gap]:
    model = project.models[name]
    header = f"the header of {model.path.name}"

    def missing(what: str, remedy: str, *, blocks: bool = True) -> Gap:
        return Gap(subject=name, what=what, remedy=remedy, blocking=blocking and blocks)

    if not model.owner:
        yield missing("nobody owns it", f"add `owner: name@example.com` to {header}")
    if not model.grain:
        yield missing("it has no grain", f"add `grain: [{model.time_column}, …]` to {header}")
    elif not any(a.kind == "unique_grain" and a.blocking for a in model.audits):
        yield missing("its key is not checked", f"let `unique_grain` block: remove its severity from {header}")
    pointer = grounds.shown.pointers.get(name)
    if pointer and (gone := [s for s in pointer.segments if (name, s.version) in grounds.gone]):
        lost, versions = Ranges.of(s.interval for s in gone), sorted({s.version for s in gone})
        left = lost - _replaced(plan, name, pointer)
        again = f", or replace all of it in one plan: {restate_command(restate_argument(name, lost))}" if left else ""
        what = f"there is no way back: {grounds.shown.name} shows {', '.join(versions)}, whose table is gone"
        yield missing(what, f"restore the folder from a backup{again}", blocks=bool(left))
    if not model.terms.validation_owner:
        remedy = f"add `contract: {{validation_owner: name@example.com}}` to {header}"
        yield missing("nobody is named who accepts its numbers", remedy, blocks=False)
    if not model.terms.late_rows:
        remedy = f"add `contract: {{late_rows: …}}` to {header}: until when rows of a day come, and what then"
        yield missing("it does not say what happens to late rows", remedy, blocks=False)


def _replaced(plan: Plan, name: str, pointer: Pointer) -> Ranges:
    """The intervals of which the plan shows no row that is shown now."""
    if patch := plan.patches.get(name):
        return NOTHING if patch.scope else patch.intervals
    moved = {target.model: target.version for target in targets(plan)}
    if plan.request.forward_only or moved.get(name, pointer.version) == pointer.version:
        return older_rows(plan, name, pointer)
    return pointer.covers


def _consumers(project: Project, plan: Plan, history: frozenset[str]) -> Iterator[Gap]:
    today, days = plan.now.date(), project.settings.consumers_stale_days
    listed = stale_since(project.consumers_verified, today, days)
    if not project.consumers and listed:
        remedy = f"name in {CONSUMERS_FILE} who reads, or confirm that nobody does: `last_verified: {today}`"
        what = "it names nobody, and nobody confirmed that nobody reads"
        yield Gap(subject=CONSUMERS_FILE, what=what, remedy=remedy, blocking=bool(history))
    elif listed:
        since = f"since {project.consumers_verified}" if project.consumers_verified else "ever"
        what = f"nobody made sure {since} that nobody is missing in it"
        remedy = f"ask around, then write `last_verified: {today}` at its top"
        yield Gap(subject=CONSUMERS_FILE, what=what, remedy=remedy, blocking=False)
    for consumer in project.consumers.values():
        reads = [name for name in consumer.reads if name in plan.models]
        if reads:
            yield from _consumer(project, plan, consumer, reads, blocking=bool(history & set(reads)))


def _consumer(project: Project, plan: Plan, consumer: Consumer, reads: list[str], *, blocking: bool) -> Iterator[Gap]:
    today, days = plan.now.date(), project.settings.consumers_stale_days
    place = f"{_relative(consumer.file, project.root)}:{consumer.line}"
    if stale_since(consumer.last_verified, today, days):
        when = f"was confirmed on {consumer.last_verified}" if consumer.last_verified else "was never confirmed"
        yield Gap(
            subject=consumer.name,
            what=f"what it reads {when}; that holds for {days} days",
            remedy=f"ask {consumer.owner or 'its owner'}, then write `last_verified: {today}` at {place}",
            blocking=blocking,
        )
    if not consumer.owner:
        remedy = f"add `owner:` at {place}"
        yield Gap(subject=consumer.name, what="nobody owns it: nobody can be told", remedy=remedy, blocking=False)
    for name in reads:
        known = {c.name.lower() for c in project.columns.get(name, ())}
        for column in consumer.use(name).columns:
            if known and column.lower() not in known:
                yield Gap(
                    subject=consumer.name,
                    what=f"it reads {name}.{column}, which {name} does not have",
                    remedy=f"give it that column again, or change `reads` at {place} when {consumer.name} has moved",
                    blocking=blocking,
                )


def _sources(project: Project, stage: Build, grounds: Grounds) -> Iterator[Gap]:
    span = stage.intervals.span
    for source, missing in lacks(project, project.models[stage.model], span, grounds) if span else ():
        yield Gap(
            subject=stage.model,
            what=f"{source} has no rows for {missing}, which it reads",
            remedy=f"load {source}, or plan a range that it covers (--start, --end)",
            blocking=False,
        )


def _relative(file: Path, root: Path) -> Path:
    return file.relative_to(root) if file.is_relative_to(root) else file
