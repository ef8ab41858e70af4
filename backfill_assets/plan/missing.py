"""Which intervals are missing, in which batches, and which of them can be built already?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project


def wanted(
    model: Model,
    *,
    now: datetime,
    start: datetime | None = None,
    end: datetime | None = None,
    end_bounded: bool = False,
    ignore_cron: bool = False,
    shown: Ranges = NOTHING,
) -> Ranges:
    """The intervals of the model that a request is about: those that should be there by `now`, cut to whole intervals
    that the requested range touches, or (`end_bounded`) to those that end within it.

    An open interval is one of them with `ignore_cron`, or when any of it is among the `shown`.
    """
    begun = model.begun(now)
    expected = begun if ignore_cron else model.expected(now) | Ranges.of(map(model.cadence.cover, begun & shown))
    span = expected.span
    if span is None or (start is None and end is None):
        return expected
    first, last = max(start or span.start, span.start), min(end or span.end, span.end)
    if end_bounded and end is not None and last == end:
        last = model.cadence.floor(last)
    if first >= last:
        return Ranges()
    return expected & Ranges((model.cadence.cover(Interval(first, last)),))


def split_open(model: Model, intervals: Ranges, now: datetime) -> tuple[Ranges, Ranges]:
    """The intervals that are over at `now`, and those that are open."""
    over = intervals.until(model.over(now))
    return over, intervals - over


USUAL = 90
"""Intervals a batch where nobody says how many, and no plan found out."""


def batches(model: Model, intervals: Ranges, now: datetime) -> tuple[Interval, ...]:
    """The intervals cut into batches of the model's size. An open one has a batch of its own: it is recorded as
    partial."""
    over, open_ = split_open(model, intervals, now)
    return (*over.batches(model.cadence, model.batch_size or USUAL), *open_.split(model.cadence))


def upstream_models(project: Project, model: Model) -> dict[str, Model]:
    """The models (not sources) that a model reads."""
    return {u.name: project.models[u.name] for u in model.upstreams if u.name in project.models}


def needed(model: Model, upstream: Model, interval: Interval) -> Ranges:
    """The upstream's intervals that one range of the model reads: its window, from the upstream's start on."""
    window = read_window(model, upstream, interval)
    if window is None:
        return NOTHING
    first = upstream.cadence.ceil(upstream.start)
    last = upstream.cadence.floor(upstream.end) if upstream.end else window.end
    common = window.intersection(Interval(first, last)) if first < last else None
    return Ranges((common,)) if common else Ranges()


def read_window(model: Model, upstream: Model, interval: Interval) -> Interval | None:
    """The same, whatever the upstream's start and end; None where the days of the interval have no time."""
    return upstream.calendar.seen_from(model.calendar, model.window(interval))


def ready(
    model: Model,
    intervals: Ranges,
    upstreams: Mapping[str, Model],
    complete: Mapping[str, Ranges],
    *,
    now: datetime,
    ignore_cron: bool = False,
) -> tuple[Ranges, dict[str, tuple[Ranges, Ranges]]]:
    """Split intervals in those that can be built and those that wait.

    `complete` says what each upstream model has. The waiting ones are given by upstream: (intervals, what they need).
    An interval that is over needs upstream intervals that are over. An open one needs those that exist by `now`: with
    `ignore_cron`, or when its own end has passed, the open ones as well.
    """
    over, open_ = split_open(model, intervals, now)
    waiting: dict[str, tuple[Ranges, Ranges]] = {}
    for name, upstream in upstreams.items():
        have = complete[name]
        closed = have.until(upstream.over(now))
        stuck: list[Interval] = []
        lack = Ranges()
        if any(needed(model, upstream, i) - closed for i in over):
            for unit in over.split(model.cadence):
                if short := needed(model, upstream, unit) - closed:
                    stuck.append(unit)
                    lack = lack | short
        for unit in open_.split(model.cadence):
            ended = unit.end <= model.calendar.over(now)
            exist = upstream.begun(now) if ignore_cron or ended else upstream.expected(now)
            if short := (needed(model, upstream, unit) & exist) - have:
                stuck.append(unit)
                lack = lack | short
        if stuck:
            waiting[name] = (Ranges.of(stuck), lack)
    good = intervals
    for late, _ in waiting.values():
        good = good - late
    return good, waiting
