"""Which intervals do `start` and `end` leave out or cut short without saying so? A model consists of whole ones.

`end` is the first day (or instant) that the model does not have, as of every half-open range. Headers alone say this:
what sources have rows of is for plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.model import Model
from backfill_assets.core.wording import day_text

if TYPE_CHECKING:
    from backfill_assets.project.draft import Draft


def cut_intervals(draft: Draft, model: Model) -> Iterator[Problem]:
    """A warning for each end of a model's time that lies within an interval; one when no whole interval is left."""
    cadence, start, end = model.cadence, model.start, model.end
    unit, first = cadence.unit, cadence.ceil(model.start)
    if holds_nothing(model):
        assert end is not None
        yield draft.document.problem(
            "end",
            what=f"`start: {day_text(start)}` and `end: {day_text(end)}` hold no whole {unit}: nothing is ever built "
            f"of {model.name}",
            why=_WHOLE,
            fix=f"to have {_name(cadence, start)}: `start: {day_text(cadence.floor(start))}` and "
            f"`end: {day_text(cadence.ceil(end))}`",
        )
        return
    if first != start:
        yield draft.document.problem(
            "start",
            what=f"`start: {day_text(start)}` lies within {_name(cadence, start)}: that {unit} is not built, the first "
            f"is {_name(cadence, first)}",
            why=_WHOLE,
            fix=f"write {day_text(cadence.floor(start))} to have it, or {day_text(first)} to do without",
        )
    if end is not None and cadence.floor(end) != end:
        yield draft.document.problem(
            "end",
            what=f"`end: {day_text(end)}` lies within {_name(cadence, end)}: that {unit} is not built",
            why=_WHOLE,
            fix=f"write {day_text(cadence.ceil(end))} to have it, or {day_text(cadence.floor(end))} to do without",
        )


def short_first_interval(
    draft: Draft, model: Model, models: Mapping[str, Model], starts: Mapping[str, datetime]
) -> Iterator[Problem]:
    """A warning for each model upstream that has only a part of the time of a model's first interval; `starts` are
    where all of them begin."""
    if holds_nothing(model):
        return
    first = starts[model.name]
    interval = Interval(first, model.cadence.shift(first, 1))
    for name in dict.fromkeys(u.name for u in model.upstreams):
        upstream = models.get(name)
        read = upstream.calendar.seen_from(model.calendar, interval) if upstream else None
        begins = starts.get(name, first)
        if upstream is None or read is None or not read.start < begins < read.end:
            continue
        finer, called = upstream.cadence, _name(model.cadence, first)
        there, whole = finer.count(Interval(begins, read.end)), finer.count(read)
        after = day_text(interval.end)
        yield draft.document.problem(
            "start",
            what=f"the first {model.cadence.unit} of {model.name}, {called}, reads {finer.unit}s of {name} before its "
            f"first one, {_name(finer, begins)}: it is computed of {there} of {whole} {finer.unit}s",
            why=f"it counts as complete when {name} is, and {name} is expected from its start on",
            fix=f"write `start: {after}` to do without {called}, or an earlier start in {name}",
        )


def holds_nothing(model: Model) -> bool:
    """Whether no interval of a model lies between its `start` and its `end`."""
    return model.end is not None and model.cadence.ceil(model.start) >= model.cadence.floor(model.end)


def first_starts(models: Mapping[str, Model]) -> dict[str, datetime]:
    """Where the first interval of each of these models (upstreams first) begins: not before that of the earliest model
    that it reads."""
    found: dict[str, datetime] = {}
    for name, model in models.items():
        above = [_seen(models[u.name], found[u.name], model) for u in model.upstreams if u.name in found]
        found[name] = max(model.cadence.ceil(model.start), model.cadence.floor(min(above, default=model.start)))
    return found


def _seen(upstream: Model, first: datetime, model: Model) -> datetime:
    """The first interval of a model that has time of another one's first interval."""
    time = model.calendar.seen_from(upstream.calendar, Interval(first, upstream.cadence.shift(first, 1)))
    return time.start if time else first


_WHOLE = "a model consists of whole intervals, and `end` is the first day (or instant) that it does not have"


def _name(cadence: Cadence, instant: datetime) -> str:
    start = cadence.floor(instant)
    match cadence:
        case Cadence.MONTHLY:
            return f"{start:%Y-%m}"
        case Cadence.WEEKLY:
            return f"the week from {start:%Y-%m-%d}"
        case _:
            return f"{start:%Y-%m-%d}" if cadence is Cadence.DAILY else f"{start:%Y-%m-%dT%H:%M}"
