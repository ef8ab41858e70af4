"""Which intervals are missing, and which of them can be built already?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from backfill_assets.intervals import Interval, Ranges
from backfill_assets.snapshots.model import Model


def wanted(
    model: Model,
    *,
    now: datetime,
    start: datetime | None = None,
    end: datetime | None = None,
    end_bounded: bool = False,
) -> Ranges:
    """The intervals of the model that a request is about: those that should be there by `now`, cut to whole intervals
    that the requested range touches, or (`end_bounded`) to those that end within it.
    """
    expected = model.expected(now)
    span = expected.span
    if span is None or (start is None and end is None):
        return expected
    first, last = max(start or span.start, span.start), min(end or span.end, span.end)
    if end_bounded and end is not None and last == end:
        last = model.cadence.floor(last)
    if first >= last:
        return Ranges()
    return expected & Ranges((model.cadence.cover(Interval(first, last)),))


def needed(model: Model, upstream: Model, interval: Interval) -> Ranges:
    """The upstream's intervals that one range of the model reads: its window, from the upstream's start on."""
    window = upstream.cadence.cover(model.window(interval))
    first = upstream.cadence.ceil(upstream.start)
    last = upstream.cadence.floor(upstream.end) if upstream.end else window.end
    common = window.intersection(Interval(first, last)) if first < last else None
    return Ranges((common,)) if common else Ranges()


def ready(
    model: Model, intervals: Ranges, upstreams: Mapping[str, Model], complete: Mapping[str, Ranges]
) -> tuple[Ranges, dict[str, tuple[Ranges, Ranges]]]:
    """Split intervals in those that can be built and those that wait.

    `complete` says what each upstream model has. The waiting ones are given by upstream: (intervals, what they need).
    """
    waiting: dict[str, tuple[Ranges, Ranges]] = {}
    for name, upstream in upstreams.items():
        have = complete[name]
        if all(not (needed(model, upstream, i) - have) for i in intervals):
            continue
        stuck: list[Interval] = []
        lack = Ranges()
        for unit in intervals.split(model.cadence):
            if short := needed(model, upstream, unit) - have:
                stuck.append(unit)
                lack = lack | short
        waiting[name] = (Ranges.of(stuck), lack)
    good = intervals
    for late, _ in waiting.values():
        good = good - late
    return good, waiting
