"""Which shown intervals would be replaced by rows of an older state of a source, where that is other rows?

A settling window, or a restatement, computes days again from what came to their source; a plan that was built before
would put older rows over them. This looks at what the batches on both sides say that they read of a source, and at what
came to it in between: what does not reach an interval leaves its rows as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from typing import cast

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.interval_index import IntervalIndex
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project, Source
from backfill_assets.core.pin import Pin, Pins, made_anew
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import is_adopted, logic_of
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.plan.source_history import SourceChange, SourceHistory, changes_since, touched_by
from backfill_assets.plan.stale_inputs import CameBetween, shown_parts
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion, Entry

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
    version: str
    interval: Interval
    read: Pins
    began: datetime


def told_once(history: History) -> History:
    """The same, and each source is looked at once: for one look at what is shown, within which nobody waits."""
    known: dict[str, tuple[int, SourceHistory]] = {}

    def told(source: Source, since: int) -> SourceHistory:
        if source.name not in known or since < known[source.name][0]:
            known[source.name] = since, history(source, since)
        return known[source.name][1]

    return told


def without(history: History, away: Mapping[str, BackfillError]) -> History:
    """The same, and sources that are `away` are not looked at: the gate lets nothing pass that was computed from
    them."""

    def told(source: Source, since: int) -> SourceHistory:
        if (error := away.get(source.name)) is not None:
            return SourceHistory(unwatched=error.why)
        return history(source, since)

    return told


def computed(entries: EntriesByVersion, pointer: Pointer, beside: Pointer | None = None) -> Iterator[Computed]:
    """What a pointer shows, by what its batches say that they read. Not what was adopted: no source was read for it.
    Where rows were computed beside copied ones, a part is as new as the newest of them; unless it is to move `beside`
    what is shown by now and the copied rows are others than these: then it is as old as the oldest."""
    there = {entry.batch for _, _, entry in shown_parts(entries, beside)} if beside else None
    for segment, part, entry in shown_parts(entries, pointer, counting=beside is not None):
        if not is_adopted(segment.version):
            copied = entry.origin.batch if entry.origin else entry.batch
            as_new = there is None or entry.batch in there or copied in there
            read, began = entry.newest if as_new else (entry.inputs or {}, entry.began)
            yield Computed(
                model=pointer.model, version=segment.version, interval=part, read=cast(Pins, read), began=began
            )


def older_rows(
    project: Project,
    environment: Environment,
    rows: Iterable[Computed],
    entries: EntriesByVersion,
    history: History,
    reach: Mapping[str, timedelta],
    zones: Mapping[str, str],
) -> tuple[OlderRows, ...]:
    """What of `rows` is older than what is shown in its place. `reach`: by model, how much earlier than a source says
    what came to it may belong, where its query does not tell; `zones`: the time zone of the days that are shown. A
    source is asked for its history only where it was read in two states."""
    pairs: dict[str, list[_Pair]] = defaultdict(list)
    for name, own in groupby(sorted(rows, key=_by_model), key=_by_model):
        model, shown = project.models.get(name), environment.pointers.get(name)
        if model is not None and shown is not None:
            then = replace(model.calendar, time_zone=zones.get(name, model.time_zone))
            beside, mine = IntervalIndex(_by_days(model, then, computed(entries, shown))), list(own)
            for source in [u.name for u in model.upstreams if u.name in project.sources]:
                pairs[source] += _pairs(source, mine, beside)
    found: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    for source, both in pairs.items():
        told = history(project.sources[source], min(p.commit for p in both)) if both else SourceHistory()
        for pair, parts in _alike(both):
            back = reads_back(project, pair.model, source, reach, pair.logic)
            found[pair.model, source] += _touched(project, source, pair, parts, told, back)
    return tuple(
        OlderRows(model=name, source=source, intervals=Ranges.of(parts))
        for (name, source), parts in found.items()
        if parts
    )


def came_between(project: Project, history: History, reach: Mapping[str, timedelta]) -> CameBetween:
    """The parts of a model's interval of which something came to a source, after one batch read it and before another
    one did. A source's history is read once, as far back as it goes, and looked through once for all intervals
    that the same two states were read of."""
    known: dict[Sequence[object], Ranges] = {}
    told = cache(lambda name: history(project.sources[name], 0))

    def came(model: Model, source: str, part: Interval, one: Entry, other: Entry) -> Ranges:
        then, now = (cast(Pins, entry.inputs or {}).get(source) for entry in (one, other))
        if not then or not now or not _earlier(then, one.began, now, other.began):
            return NOTHING
        logic = logic_of(one.version)
        pair = _Pair(
            model=model.name, logic=logic, interval=part, then=then, began=one.began, shown=now, later=other.began
        )
        if (states := (source, logic_of(other.version), *pair.states)) not in known:
            back = reads_back(project, model.name, source, reach, logic, logic_of(other.version))
            known[states] = _touched(project, source, pair, Ranges((ALL_TIME,)), told(source), back)
        return known[states] & Ranges((part,))

    return came


def reads_back(project: Project, model: str, source: str, reach: Mapping[str, timedelta], *logic: str) -> timedelta:
    """How much earlier than it says what came to a source may belong: as far as intervals of the model read it after
    their end, by the loaded query. All that `reach` says of the model where nobody can tell, or rows are of other
    `logic`, or of another text that counts as the loaded one."""
    window = reach.get(model, timedelta())
    known = {*logic} == {project.fingerprints.get(model)} and model not in project.overrides
    said = project.reads_until.get(model, {}) if known else {}
    return timedelta(seconds=said[source]) if window and source in said else window


def _touched(project: Project, source: str, pair: _Pair, parts: Ranges, told: SourceHistory, back: timedelta) -> Ranges:
    """What of these parts the source has other rows of in the later one of two states."""
    model = project.models[pair.model]
    touched, _, vague = touched_by(model, _between(pair, told), back)
    if vague and project.sources[source].time_column is not None and "commit" in pair.then:
        return parts  # what a file, or a table without days, does not say counts nowhere
    return Ranges.of(model.cadence.cover(part) for part in touched) & parts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A part of a model's rows that read a source before those did that are shown in its place."""

    model: str
    logic: str
    interval: Interval
    then: Pin
    began: datetime
    shown: Pin
    later: datetime
    """When the batch began that is shown."""

    @property
    def commit(self) -> int:
        return cast(int, self.then.get("commit", 0))

    @property
    def states(self) -> Sequence[object]:
        """All that decides what came between the two."""
        said = [pin.get(key) for pin in (self.then, self.shown) for key in ("commit", "table", "files", "count")]
        times = [self.began, self.later] if "files" in self.then else [self.began < self.later]
        return (self.model, self.logic, *said, *times)


def _by_days(model: Model, then: Calendar, shown: Iterable[Computed]) -> Iterator[tuple[Interval, Computed]]:
    """What is shown, by the intervals of the model that it has time in common with: others where its zone changed."""
    for row in shown:
        there = row.interval if then == model.calendar else model.calendar.seen_from(then, row.interval)
        if there is not None:
            yield there, row


def _pairs(source: str, rows: Sequence[Computed], shown: IntervalIndex[Computed]) -> Iterator[_Pair]:
    for row in rows:
        if (then := row.read.get(source)) is None:
            continue
        for there, other in shown.meeting(row.interval):
            now, common = other.read.get(source), there.intersection(row.interval)
            if now and common and _earlier(then, row.began, now, other.began):
                logic = logic_of(row.version)
                yield _Pair(
                    model=row.model, logic=logic, interval=common, then=then, began=row.began, shown=now,
                    later=other.began,
                )  # fmt: skip


def _alike(pairs: Iterable[_Pair]) -> Iterator[tuple[_Pair, Ranges]]:
    """One of all pairs of the same two states, and the parts of all: thousands of hours are often read in one state."""
    groups: dict[Sequence[object], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.states].append(pair)
    for group in groups.values():
        yield group[0], Ranges.of(p.interval for p in group)


def _earlier(then: Pin, began: datetime, now: Pin, later: datetime) -> bool:
    """Whether a source may have been read in an earlier state. Commits of two tables, and files, say no order."""
    if "commit" in then and "commit" in now:
        return made_anew(then, now) or cast(int, then["commit"]) < cast(int, now["commit"])
    return "files" in then and "files" in now and then["files"] != now["files"] and began < later


def _between(pair: _Pair, told: SourceHistory) -> list[SourceChange]:
    """What came to the source between the two; that nobody knows, where its log does not reach back."""
    if told.unwatched:
        return []
    if "files" in pair.then:
        return _files_between(pair, told)
    last = cast(int, pair.shown["commit"])
    if made_anew(pair.then, pair.shown):
        then, shown = pair.then["table"], pair.shown["table"]
        if (told.table_at(pair.commit), told.table_at(last)) != (then, shown):  # commits of two logs
            there = told.table_at(told.head)
            anew = there == shown or (there != then and pair.began < pair.later)
            return [SourceChange(name="the table was made anew", touches=None)] if anew else []
        if pair.commit > last:
            return []
    if told.since > pair.commit:
        return [SourceChange(name=f"commits until {told.since}", touches=None)]
    return [c for c in changes_since(pair.then, pair.began, told) if c.commit <= last]


def _files_between(pair: _Pair, told: SourceHistory) -> list[SourceChange]:
    """Without what came after the batch that is shown; where files that it read are gone, any may be of before it."""
    came = changes_since(pair.then, pair.began, told)
    read = sum(c.at is not None and c.at <= pair.later for c in told.changes)
    if read != pair.shown.get("count"):
        return came
    return [c for c in came if c.at is None or c.at <= pair.later]


def _by_model(row: Computed) -> str:
    return row.model
