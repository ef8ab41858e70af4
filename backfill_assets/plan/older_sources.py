"""Which shown intervals would be replaced by rows of an older state of a source, where that is other rows?

A settling window, or a restatement, computes days again from what came to their source; a plan that was built before
would put older rows over them. This looks at what the batches on both sides say that they read of a source, and at what
came to it in between: what does not reach an interval leaves its rows as they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import cast

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Project, Source
from backfill_assets.core.pin import Pin, Pins, made_anew
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import is_adopted
from backfill_assets.plan.source_history import SourceChange, SourceHistory, changes_since, touched_by
from backfill_assets.plan.stale_inputs import shown_parts
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion

History = Callable[[Source, int], SourceHistory]
"""A source, and a commit of it → what came to it after that, as far as that can be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderRows:
    """Intervals of a model whose rows are of an older state of a source than those that are shown."""

    model: str
    intervals: Ranges
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """A part of a model that was, or will be, computed from these states of sources, by a batch that `began` then."""

    model: str
    interval: Interval
    read: Pins
    began: datetime


def computed(entries: EntriesByVersion, pointer: Pointer) -> Iterator[Computed]:
    """What a pointer shows, by what its batches say that they read. Not what was adopted: no source was read for it."""
    for segment, part, entry in shown_parts(entries, pointer):
        if not is_adopted(segment.version):
            read = cast(Pins, entry.inputs or {})
            yield Computed(model=pointer.model, interval=part, read=read, began=entry.began)


def older_rows(
    project: Project,
    environment: Environment,
    rows: Iterable[Computed],
    entries: EntriesByVersion,
    history: History,
    reach: Mapping[str, timedelta],
) -> tuple[OlderRows, ...]:
    """What of `rows` is older than what is shown in its place. `reach`: by model, how much earlier than a source says
    what came to it may belong. A source is asked for its history only where it was read in two states."""
    pairs: dict[str, list[_Pair]] = defaultdict(list)
    for name, own in groupby(sorted(rows, key=_by_model), key=_by_model):
        model, shown = project.models.get(name), environment.pointers.get(name)
        if model is not None and shown is not None:
            beside, mine = sorted(computed(entries, shown), key=lambda c: c.interval), list(own)
            for source in [u.name for u in model.upstreams if u.name in project.sources]:
                pairs[source] += _pairs(source, mine, beside)
    found: dict[tuple[str, str], Ranges] = {}
    for source, both in pairs.items():
        told = history(project.sources[source], min(p.commit for p in both)) if both else SourceHistory()
        for pair in both:
            model = project.models[pair.model]
            touched, _, vague = touched_by(model, _between(pair, told), reach.get(pair.model, timedelta()))
            if vague and project.sources[source].time_column is not None and "commit" in pair.then:
                touched = Ranges((pair.interval,))  # what a file, or a table without days, does not say counts nowhere
            whole = Ranges.of(model.cadence.cover(part) for part in touched) & Ranges((pair.interval,))
            found[pair.model, source] = found.get((pair.model, source), NOTHING) | whole
    return tuple(OlderRows(model=name, source=source, intervals=part) for (name, source), part in found.items() if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A part of a model's rows that read a source before those did that are shown in its place."""

    model: str
    interval: Interval
    then: Pin
    began: datetime
    shown: Pin

    @property
    def commit(self) -> int:
        return cast(int, self.then.get("commit", 0))


def _pairs(source: str, rows: Sequence[Computed], shown: Sequence[Computed]) -> Iterator[_Pair]:
    ends = [c.interval.end for c in shown]
    for row in rows:
        if (then := row.read.get(source)) is None:
            continue
        for other in shown[bisect_right(ends, row.interval.start) :]:
            common = other.interval.intersection(row.interval)
            if common is None:
                break
            now = other.read.get(source)
            if now and _earlier(then, row.began, now, other.began):
                yield _Pair(model=row.model, interval=common, then=then, began=row.began, shown=now)


def _earlier(then: Pin, began: datetime, now: Pin, later: datetime) -> bool:
    """Whether a source may have been read in an earlier state. Commits of two tables, and files, say no order."""
    if "commit" in then and "commit" in now:
        return made_anew(then, now) or cast(int, then["commit"]) < cast(int, now["commit"])
    return "files" in then and "files" in now and then["files"] != now["files"] and began < later


def _between(pair: _Pair, told: SourceHistory) -> list[SourceChange]:
    """What came to the source between the two; that nobody knows, where its log does not reach back."""
    if "files" in pair.then or told.unwatched:
        return [] if told.unwatched else changes_since(pair.then, pair.began, told)
    if made_anew(pair.then, pair.shown):  # rows that are shown of another place's table are no newer ones
        anew = told.table_at(told.head) == pair.shown["table"]
        return [SourceChange(name="the table was made anew", touches=None)] if anew else []
    if told.since > pair.commit:
        return [SourceChange(name=f"commits until {told.since}", touches=None)]
    last = cast(int, pair.shown["commit"])
    return [c for c in changes_since(pair.then, pair.began, told) if c.commit <= last]


def _by_model(row: Computed) -> str:
    return row.model
