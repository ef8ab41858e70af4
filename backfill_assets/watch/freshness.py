"""Is everything as new as it should be? Models by their cadence, sources by what `sources.yml` promises.

Said of a model whose history was changed by a release: whether a routine run has gone on from there since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backfill_assets.core.intervals import LATEST, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.reach import reach
from backfill_assets.core.wording import first_few
from backfill_assets.plan.bounds import bounded
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.project.stored import PUT_BACK, UNSAID
from backfill_assets.state.ledger import Kind as Said
from backfill_assets.state.releases import Release
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind

DUE_AFTER = timedelta(days=1)
"""The routine schedule runs once a day: what counts as over for a whole day has had its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """Where a release's history ends, and routine runs go on. `extended_by` is the first that did."""

    model: str
    release: str
    extended_by: str = ""
    due: datetime | None = None
    """When the next interval should be shown; None: none is to come."""


def freshness(look: WatchFacts) -> tuple[Notice, ...]:
    """A notice for each model and source that is behind."""
    found, bound = list[Notice](), _bound(look)
    for name, pointer in look.environment.pointers.items():
        model = look.project.models.get(name)
        if model is not None and (lacking := _lacking(look, model, pointer)):
            found.append(_behind(look, bound, model, pointer, lacking))
    for name, newest in look.newest.items():
        hours = look.project.sources[name].freshness_hours
        if hours is not None and newest + timedelta(hours=hours) < look.now:
            behind = (look.now - newest) / timedelta(hours=1)
            what = f"no rows from {newest:%Y-%m-%d %H:%M} on, {behind:.0f} h ago; {hours:g} h are promised"
            owner = look.project.sources[name].owner
            remedy = f"ask {owner or 'whoever loads it'}; then backfill routine"
            found.append(Notice(kind=NoticeKind.STALE, model=name, source=True, what=what, remedy=remedy))
    for name in sorted(look.histories.keys() - look.newest.keys()):
        if look.project.sources[name].freshness_hours is not None:
            what = (
                "how old its newest row is cannot be told: no time_column, no statistics, no rows, or one beyond 2200"
            )
            found.append(Notice(kind=NoticeKind.UNWATCHED, model=name, source=True, what=what))
    return tuple(found)


def sources_of_what_lacks(look: WatchFacts) -> set[str]:
    """The sources of models that lack intervals, and of the models that these read."""
    models = look.project.models
    shown = ((models[name], pointer) for name, pointer in look.environment.pointers.items() if name in models)
    return _sources_of(models, [model.name for model, pointer in shown if _lacking(look, model, pointer)])


def seams(look: WatchFacts) -> tuple[Seam, ...]:
    """The seam of every model that is shown, at its last release that did more than to add intervals."""
    found: list[Seam] = []
    for name, pointer in look.environment.pointers.items():
        model, change = look.project.models.get(name), last_change(look, name)
        if model is None or change is None:
            continue
        later = [r for r in look.releases if r.revision > change.revision]
        grew = (r for r in later if any(m.model == name and m.growth and not m.compaction for m in r.moves))
        end = _end(pointer)
        ended = model.end is not None and end >= model.cadence.floor(model.end)
        due = None if ended or end >= LATEST else model.over_from(model.cadence.shift(end, 1)) + DUE_AFTER
        found.append(Seam(model=name, release=change.id, extended_by=next((r.id for r in grew), ""), due=due))
    return tuple(found)


def last_change(look: WatchFacts, model: str | None = None) -> Release | None:
    """The newest release that did more than routine runs do (to one model)."""
    for release in reversed(look.releases):
        if not release.settling and any(not m.growth for m in release.moves if model in (None, m.model)):
            return release
    return None


def _lacking(look: WatchFacts, model: Model, pointer: Pointer) -> Ranges:
    """The intervals after the newest one shown that should be there."""
    expected = model.expected(look.now - DUE_AFTER)
    return expected - Ranges((expected.span,)).until(_end(pointer)) if expected.span else expected


def _behind(look: WatchFacts, bound: Project, model: Model, pointer: Pointer, lacking: Ranges) -> Notice:
    seam = next((s for s in seams(look) if s.model == model.name), None)
    last = f"the newest shown is {_end(pointer) - timedelta(seconds=1):%Y-%m-%d}"
    kind, what = (
        NoticeKind.STALE,
        f"{lacking.count(model.cadence)} {model.cadence.value} intervals are not shown; {last}",
    )
    if seam is not None and not seam.extended_by:
        kind, what = NoticeKind.FIRST_RUN, f"no routine run has extended it since release {seam.release}; {last}"
    if why := _last_failure(look, model.name, pointer, lacking):
        what += f"; the last try failed: {why}"
    remedy = "backfill routine"
    not_ready, empty = (_ended(look, bound, model.name, lacking, ends) for ends in (look.ready, look.newest))
    if not_ready and min(not_ready.values()) <= min(empty.values(), default=LATEST):
        first, are = min(not_ready, key=not_ready.__getitem__), "is" if len(not_ready) == 1 else "are"
        what += f"; {first_few(not_ready)} {are} not ready from {not_ready[first]:%Y-%m-%d %H:%M} UTC on"
        ready = look.project.sources[first].ready
        remedy = f"wait {ready.awaited}, then {remedy}" if ready else remedy
    elif empty:
        since = max(empty.values())
        what += f"; there are no rows in {first_few(empty)} from {since:%Y-%m-%d %H:%M} UTC on"
        remedy = f"load {first_few(empty)}, then {remedy}"
    elif (why := look.project.redeclared.get(model.name)) and why != UNSAID:
        what += f"; it is not extended: {why}"
        remedy = PUT_BACK
    return Notice(kind=kind, model=model.name, intervals=lacking, what=what, remedy=remedy)


def _bound(look: WatchFacts) -> Project:
    """The project as far as the newest rows of its sources reach, and as these are ready: plans expect nothing after
    that."""
    ends = {name: end for name, end in look.newest.items() if look.project.sources[name].cut_off}
    extents = {name: Interval(ALL_TIME.start, end) for name, end in ends.items()}
    return bounded(look.project, extents, look.now, ready_until=look.ready)


def _ended(
    look: WatchFacts, bound: Project, name: str, lacking: Ranges, ends: Mapping[str, datetime]
) -> dict[str, datetime]:
    """The sources because of which none of these intervals is expected of a model, and where each ends, by `ends`."""
    models, span = look.project.models, lacking.span
    time = models[name].calendar.time_of(span) if span else None
    if time is None or lacking & bound.models[name].expected(look.now):
        return {}
    ended = {source: end for source, end in ends.items() if end < time.end}
    return {source: ended[source] for source in sorted(_sources_of(models, [name]) & ended.keys())}


def _sources_of(models: Mapping[str, Model], names: Sequence[str]) -> set[str]:
    """What these models, and those that they read, read beside models."""
    read = reach(names, lambda name: [u.name for u in models[name].upstreams if u.name in models])
    return {u.name for name in (*names, *read) for u in models[name].upstreams} - models.keys()


def _last_failure(look: WatchFacts, name: str, pointer: Pointer, lacking: Ranges) -> str:
    """The first line of why these intervals were not built, or did not pass, if nothing happened since."""
    entries = look.entries.get((name, pointer.version), ())
    tried = [e for e in entries if lacking & Ranges((e.interval,)) and e.kind is not Said.STARTED]
    last = max(tried, key=lambda e: e.order, default=None)
    return last.reason.splitlines()[0] if last and last.kind in (Said.FAILED, Said.INVALIDATED) and last.reason else ""


def _end(pointer: Pointer) -> datetime:
    return pointer.segments[-1].interval.end
