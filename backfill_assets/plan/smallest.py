"""Which part of history does anybody read? From the newest days of each consumer, back through what models look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from backfill_assets.core.consumer import ModelUse
from backfill_assets.core.intervals import Cadence, Interval
from backfill_assets.core.model import UNKNOWN, Model, Project
from backfill_assets.plan.category import Category, TableChange, affects
from backfill_assets.plan.missing import needed
from backfill_assets.plan.reasons import reads_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingConsumer:
    """A consumer that reads something of a model that changes, from `since` on; no history: all of it."""

    consumer: str
    model: str
    history: int | None
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Smallest:
    """The smallest window of a plan that gives consumers all that they declare to read, and how to ask for it."""

    needs: Mapping[str, Interval]
    """Changed or new model → its intervals that somebody reads, by itself or through other models."""
    readers: tuple[ReadingConsumer, ...]
    since: datetime | None = None
    """The day with which the offered plan begins; None: none is offered."""
    option: Literal["", "forward-only", "start"] = ""
    command: str = ""
    """That plan; empty: none is offered."""
    reason: str = ""
    """Why none is; empty beside an offer, and where the plan is the smallest one itself."""
    missed: tuple[ReadingConsumer, ...] = ()
    """Of a plan that begins with a day: who reads older rows than that."""
    later: tuple[str, ...] = ()
    """New models that the offered plan is not about."""
    null_before: tuple[str, ...] = ()
    """New columns, which older rows do not have: `model.column`."""


def needs(
    project: Project, changes: Mapping[str, TableChange], now: datetime
) -> tuple[dict[str, Interval], tuple[ReadingConsumer, ...]]:
    """The intervals of each changed or new model that have to be of the new logic, and who reads them.

    A consumer reads the newest days of its `history`, counted from the last that is expected of the model, in whole
    intervals; what a model needs of others is what it looks at for these. Columns that do not change need nothing.
    """
    first: dict[str, datetime] = {}
    readers: list[ReadingConsumer] = []
    for consumer in project.consumers.values():
        for name in consumer.reads:
            model = project.models.get(name)
            if model is None or name not in changes or not _reads_new(consumer.use(name), changes[name]):
                continue
            if read := newest_days(model, consumer.use(name).history, now):
                history = consumer.use(name).history
                readers.append(ReadingConsumer(consumer=consumer.name, model=name, history=history, since=read.start))
                first[name] = min(first.get(name, read.start), read.start)
    found: dict[str, Interval] = {}
    for model in reversed(list(project.models.values())):  # an upstream comes before what reads it
        span = model.expected(now).span
        if model.name not in first or span is None:
            continue
        found[model.name] = Interval(first[model.name], span.end)
        for upstream in (project.models[u.name] for u in model.upstreams if u.name in project.models):
            there = upstream.expected(now).span
            window = needed(model, upstream, found[model.name]).span
            if there and window and _passes(project, model, upstream.name, changes.get(upstream.name)):
                start = min(max(window.start, there.start), _last(upstream, there))
                first[upstream.name] = min(first.get(upstream.name, start), start)
    return {name: found[name] for name in project.models if name in found}, tuple(readers)


def newest_days(model: Model, history: int | None, now: datetime) -> Interval | None:
    """The intervals that somebody reads who looks back so many days (None: at all) from the last day of a model; at
    least one. None: nothing is expected of it yet."""
    span = model.expected(now).span
    if span is None or history is None:
        return span
    reach = min(timedelta(days=history), span.end - span.start)
    first = min(Cadence.DAILY.floor(span.end) - reach, _last(model, span))
    return Interval(max(model.cadence.floor(first), span.start), span.end)


def last_interval(model: Model, now: datetime) -> datetime | None:
    """Where the newest interval that is over begins."""
    span = model.expected(now).span
    return _last(model, span) if span else None


def _last(model: Model, span: Interval) -> datetime:
    return model.cadence.shift(span.end, -1)


def _reads_new(use: ModelUse, change: TableChange) -> bool:
    """Whether anything that a consumer reads of a model may be another than before."""
    if change.category is Category.NEW or change.rows:
        return True
    other = {*change.columns, *change.added}
    return bool(other & {c.lower() for c in use.columns} if use.columns else other)


def _passes(project: Project, model: Model, upstream: str, change: TableChange | None) -> bool:
    """Whether a model takes anything from an upstream that may be another than before. Of code that cannot be taken
    apart nobody knows."""
    if change is None or change.category is Category.UNCHANGED:
        return False
    reads = frozenset(reads_of(project.signatures.get(model.name, UNKNOWN), upstream))
    return change.category is Category.NEW or not reads or bool(affects(change, reads) | reads & {*change.added})
