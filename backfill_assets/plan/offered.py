"""Is there a smaller plan that gives consumers all that they read? Made as it would be asked for, and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.wording import listed
from backfill_assets.plan.adoption import kept_older
from backfill_assets.plan.category import Category
from backfill_assets.plan.changes import changes_of
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.missing import ready, upstream_models
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.smallest import ReadingConsumer, Smallest, last_interval, needs
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.plan.strategy import Strategy
from backfill_assets.sql.types import safe_cast

_WHOLE = frozenset({Strategy.FULL_REBUILD, Strategy.COLUMN_ENRICHMENT, Strategy.FORWARD_ONLY})
"""The ways of which a later first day is a smaller one."""


def with_smallest(project: Project, facts: Facts, plan: Plan) -> Plan:
    """The plan, with the smallest window that its consumers need, where it builds more or begins with a day.

    Nothing is looked for where somebody chose days or a strategy, and where something waits.
    """
    asked, builds = plan.request, [stage for stage in plan.stages if isinstance(stage, Build)]
    if asked.restate or asked.start or asked.end or asked.strategies or plan.blocked or not builds:
        return plan
    bound = facts.bounded(project)
    changes = changes_of(bound, facts)
    new = [b.model for b in builds if changes[b.model].category is Category.NEW]
    changed = [n for n in plan.models if changes[n].category not in (Category.NEW, Category.UNCHANGED)]
    about = changed if any(b.model in changed for b in builds) else new
    if not about or not all(plan.strategies.get(name) in _WHOLE for name in changed):
        return plan
    wanted, readers = needs(bound, changes, facts.now)
    found = Smallest(needs=wanted, readers=readers)
    if reason := _not_known(bound, facts, changed, found) or _between(bound, changed, new):
        return plan if about is new or asked.forward_only else replace(plan, smallest=replace(found, reason=reason))
    starts = [found.needs[n].start for n in about if n in found.needs]
    if not starts:
        return plan
    read = _first_day(bound, facts, about, min(starts))
    gap = _first_gap(bound, facts, changed) if about is changed else None
    since = min(read, Cadence.DAILY.floor(gap[1])) if gap else read
    request = replace(asked, forward_only=since) if about is changed else _from(asked, since, new, builds)
    smaller = _made(project, facts, request)
    stuck = _in_the_way(bound, facts, smaller) if smaller else ""
    if asked.forward_only and read < asked.forward_only:
        missed = tuple(r for r in found.readers if r.since < asked.forward_only) or found.readers
        if smaller is None or stuck:
            return replace(plan, smallest=replace(found, missed=missed))
        return replace(plan, smallest=replace(found, missed=missed, since=since, command=apply_command(request)))
    beside = [b for b in builds if smaller and b.model not in smaller.models]
    left = (*(stage for stage in smaller.stages if isinstance(stage, Build)), *beside) if smaller else ()
    if smaller is None or stuck or not clearly_less(left, builds):
        lacks = f"{facts.environment.name} lacks days of {gap[0]} from {since:%Y-%m-%d} on" if gap else ""
        reason = "" if asked.forward_only else _all_of_it(bound, facts, found) or stuck or lacks
        return replace(plan, smallest=replace(found, reason=reason)) if reason or asked.forward_only else plan
    offer = replace(
        found,
        since=since,
        option="forward-only" if about is changed else "start",
        command=apply_command(request),
        later=tuple(n for n in new if n not in smaller.models),
        null_before=tuple(f"{n}.{c}" for n in smaller.patches for c in changes[n].added),
    )
    return replace(plan, smallest=offer, smaller=left)


def clearly_less(left: Sequence[Build], builds: Sequence[Build]) -> bool:
    """Whether fewer intervals are built, and none of a model of which the plan has nothing left to build."""
    fewer = sum(b.count for b in left) < sum(b.count for b in builds)
    return fewer and {b.model for b in left} <= {b.model for b in builds}


def _first_day(project: Project, facts: Facts, models: Sequence[str], earliest: datetime) -> datetime:
    """The day from which each of the models has at least one interval that is over."""
    last = [start for name in models if (start := last_interval(project.models[name], facts.now))]
    return Cadence.DAILY.floor(min(earliest, *last))


def _first_gap(project: Project, facts: Facts, changed: Sequence[str]) -> tuple[str, datetime] | None:
    """The model of which the environment lacks the earliest interval that is over, and where that begins: older rows
    cannot stay where there are none."""
    lacking = {n: project.models[n].expected(facts.now) - facts.environment.pointers[n].covers for n in changed}
    first = {name: span.start for name, lack in lacking.items() if (span := lack.span)}
    return min(first.items(), key=lambda each: each[1]) if first else None


def _in_the_way(project: Project, facts: Facts, plan: Plan) -> str:
    """What a model would wait for that gets its new logic from a day on; nothing where all can be built."""
    for name, patch in plan.patches.items():
        model, upstreams = project.models[name], upstream_models(project, project.models[name])
        there = {up: _there(project, facts, plan, up) for up in upstreams}
        missing = patch.intervals - facts.tables.of(name, patch.version).complete
        _, waits = ready(model, missing, upstreams, there, now=facts.now, ignore_cron=plan.request.ignore_cron)
        for up, (_, lack) in waits.items():
            return f"{name} reads {lack} of {up}, which {facts.environment.name} lacks: backfill routine first"
    return ""


def _there(project: Project, facts: Facts, plan: Plan, name: str) -> Ranges:
    """What builds of a plan find of a model that they read."""
    if patch := plan.patches.get(name):
        return patch.below.covers | patch.intervals
    kept = kept_older(facts.environment.pointers.get(name), project.fingerprints[name])
    return facts.tables.coverage[name].complete | kept


def _between(project: Project, changed: Sequence[str], new: Sequence[str]) -> str:
    """That changed models read new ones, or new ones changed ones; nothing where none does."""
    for name in (*changed, *new):
        other = new if name in changed else changed
        if above := [u.name for u in project.models[name].upstreams if u.name in other]:
            are, kind = "are" if len(above) > 1 else "is", "new" if name in changed else "changed"
            return f"{name} reads {listed(above)}, which {are} {kind}: all has to be built"
    return ""


def _from(asked: Request, since: datetime, new: Sequence[str], builds: Sequence[Build]) -> Request:
    """The same from a day on, of new models only: of others days would be missing."""
    others = any(b.model not in new for b in builds)
    return replace(asked, start=since, select=tuple(new) if others else asked.select)


def _made(project: Project, facts: Facts, request: Request) -> Plan | None:
    """The plan of a request; None where it cannot be asked for, or something of it would wait."""
    try:
        plan = make_plan(project, facts, request)
    except BackfillError:
        return None
    return None if plan.blocked else plan


def _not_known(project: Project, facts: Facts, changed: Sequence[str], found: Smallest) -> str:
    """Why there cannot be a smaller window, whatever days are read; nothing where there may be one."""
    if not project.consumers:
        return "consumers.yml names nobody, so that nobody knows how far back rows are read"
    if not found.readers:
        return "nobody is named in consumers.yml who reads what changes"
    for name in changed:
        pointer = facts.environment.pointers.get(name)
        types = {c.name.lower(): c.type for c in project.columns.get(name, ())}
        for column, kind in pointer.columns if pointer else ():
            new = types.get(column.lower())
            if new and new != kind and not safe_cast(kind, new):
                return f"older rows of {name}.{column} are {kind}, which cannot be shown as {new} without a loss"
    return ""


def _all_of_it(project: Project, facts: Facts, found: Smallest) -> str:
    """Who needs all of the history; nothing where nobody does."""
    begins = {n: span.start for n in found.needs if (span := project.models[n].expected(facts.now).span)}
    whole = [name for name, need in found.needs.items() if need.start <= begins[name]]
    if direct := [r for r in found.readers if r.model in whole and r.since <= begins[r.model]]:
        return listed(map(_reads_all, direct))
    between = "by way of the models between"
    return f"what is read goes back to the beginning of {listed(whole)} {between}" if whole else ""


def _reads_all(reader: ReadingConsumer) -> str:
    days = "" if reader.history is None else f" ({reader.history} days of history)"
    return f"{reader.consumer} reads all of {reader.model}{days}"
