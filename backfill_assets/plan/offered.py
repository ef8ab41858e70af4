"""Is there a smaller plan that gives consumers all that they read? Made as it would be asked for, and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Project
from backfill_assets.core.wording import listed
from backfill_assets.plan.category import Category
from backfill_assets.plan.changes import changes_of
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.smallest import Reader, Smallest, last_interval, needs
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
    if reason := _not_known(bound, facts, changed, found):
        return plan if about is new or asked.forward_only else replace(plan, smallest=replace(found, reason=reason))
    starts = [found.needs[n].start for n in about if n in found.needs]
    if not starts:
        return plan
    since = _first_day(bound, facts, about, min(starts))
    request = replace(asked, forward_only=since) if about is changed else _from(asked, since, new, builds)
    if asked.forward_only and since < asked.forward_only:
        missed = tuple(r for r in found.readers if r.since < asked.forward_only) or found.readers
        return replace(plan, smallest=replace(found, missed=missed, since=since, command=apply_command(request)))
    smaller = _made(project, facts, request)
    beside = [b for b in builds if smaller and b.model not in smaller.models]
    left = (*(stage for stage in smaller.stages if isinstance(stage, Build)), *beside) if smaller else ()
    if smaller is None or sum(b.count for b in left) >= sum(b.count for b in builds):
        reason = "" if asked.forward_only else _all_of_it(bound, facts, found)
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


def _first_day(project: Project, facts: Facts, models: Sequence[str], earliest: datetime) -> datetime:
    """The day from which each of the models has at least one interval that is over."""
    last = [start for name in models if (start := last_interval(project.models[name], facts.now))]
    return Cadence.DAILY.floor(min(earliest, *last))


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


def _reads_all(reader: Reader) -> str:
    days = "" if reader.history is None else f" ({reader.history} days of history)"
    return f"{reader.consumer} reads all of {reader.model}{days}"
