"""From when to when is anything expected of a model? Nothing before the first and after the last row that it can read.

A day that has not been loaded yet would be built without rows and pass for complete. It is no interval of the model
yet: the models' `start` and `end` are moved inwards, and every question about intervals follows from these. A source
whose days without rows mean something says `cut_off: false`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NewType

from backfill_assets.core.calendar import UTC_TIME, Calendar
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.local_days import days_meeting
from backfill_assets.core.model import Model, Project

Bounded = NewType("Bounded", Project)
"""A project, its models bounded by what they read."""
_LEAST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """Intervals that a model would have by now, if what it reads reached so far."""

    model: str
    reads: tuple[str, ...]
    """The sources or, for a model that reads other models, the models that do not."""
    intervals: Ranges
    count: int

    @property
    def words(self) -> str:
        return f"{self.model}: {self.intervals} is not expected yet"


def bounded(
    project: Project,
    extents: Mapping[str, Interval | None],
    now: datetime,
    have: Mapping[str, Ranges] | None = None,
    ready_until: Mapping[str, datetime] | None = None,
) -> Bounded:
    """The project, its models bounded by what they read. `extents`: from a source's first row to its last, where known,
    and None where it is known to have none; `ready_until`: what sources say that they have all rows of, which holds up
    each model that reads one.

    Sources without a time column (a list of campaigns) are of all times. One with a time column that is not known
    bounds nothing; of sources that are all without rows nothing is expected.

    A local day is there when what it reads reaches the end of it: a source, by the days of UTC that it has rows of.

    A model of sources reaches as far as any of them does, a model of models as far as all of them. What it already has
    (`have`) stays expected: rows that disappear from a source leave no interval behind that nobody looks at.
    """
    models: dict[str, Model] = {}
    for name, model in project.models.items():  # an upstream comes before what reads it
        above = [models[u.name] for u in model.upstreams if u.name in models]
        sources = [project.sources[u.name] for u in model.upstreams if u.name in project.sources]
        read = [s.name for s in sources if s.time_column]
        known = [extent for name in read if (extent := extents.get(name))]
        found = model
        if above:
            starts = [_start(model, u.calendar, u.start) for u in above]
            ends = [_end(model, u.calendar, u.end) for u in above if u.end]
            found = _between(model, min(starts), min(ends, default=None), now)
        elif read and extents.keys() >= {*read} and not known:
            found = _between(model, model.start, model.start, now)
        elif read and extents.keys() >= {*read}:
            unit = Cadence.HOURLY if model.cadence is Cadence.HOURLY else Cadence.DAILY
            end = unit.ceil(max(extent.end for extent in known))
            start = _start(model, UTC_TIME, min(extent.start for extent in known))
            found = _between(model, start, _end(model, UTC_TIME, end), now)
        if ready_until and (waits := [ready_until[s.name] for s in sources if s.name in ready_until]):
            found = _between(found, found.start, _end(model, UTC_TIME, min(waits)), now)
        models[name] = _holding(found, model, (have or {}).get(name, NOTHING).span)
    return Bounded(replace(project, models=models))


def cut_offs(project: Project, bound: Bounded, selected: Sequence[str], now: datetime) -> tuple[CutOff, ...]:
    """What the selected models do not have to have yet, for want of rows to read."""
    found: list[CutOff] = []
    for name in selected:
        model = project.models[name]
        if lost := model.expected(now) - bound.models[name].expected(now):
            above = tuple(u.name for u in model.upstreams if u.name in project.models)
            below = tuple(u.name for u in model.upstreams if u.name in project.sources)
            waits = tuple(name for name in below if project.sources[name].ready)
            timed = tuple(name for name in below if project.sources[name].time_column)
            reads = (*waits, *above) if waits else above or timed
            found.append(CutOff(model=name, reads=reads, intervals=lost, count=lost.count(model.cadence)))
    return tuple(found)


def _between(model: Model, start: datetime, end: datetime | None, now: datetime) -> Model:
    """The model from `start` to `end`, unless all that is over lies before that."""
    first = max(model.start, model.cadence.floor(start))
    if end is None or model.cadence.floor(end) >= model.calendar.over(now):
        return replace(model, start=first)
    return replace(model, start=first, end=min(end, model.end) if model.end else end)


def _start(model: Model, of: Calendar, start: datetime) -> datetime:
    """Where something begins, as the model's days are named; of local days the one that it begins in."""
    if model.time_zone == of.time_zone:
        return start
    return days_meeting(model.time_zone, Interval(start, start + _LEAST)).start


def _end(model: Model, of: Calendar, end: datetime) -> datetime:
    """Where something ends; of local days the last one that is over by then."""
    return end if model.time_zone == of.time_zone else model.calendar.days_over(end)


def _holding(model: Model, whole: Model, span: Interval | None) -> Model:
    """The bounded model, with the span that there is of it."""
    if span is None:
        return model
    end = max(model.end, span.end) if model.end else None
    return replace(model, start=max(whole.start, min(model.start, span.start)), end=end)
