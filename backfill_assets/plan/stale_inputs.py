"""Which shown intervals were computed from other rows of an upstream than those that are shown beside them?

From older ones, or from newer ones that a rollback took out of sight. A restatement replaces rows together with all
that reads them, and a rollback puts them back together; the gate sees to it. This looks at what batches say
that they read: the table and commit of the upstream, against the batch whose rows are shown. A copy (joined
corrections) says when and from what its rows were computed, so it is not another batch. Of other logic the versions
say it (`promote/mismatches.py`), but for older rows beside newer logic, of which nothing but batches tell; where the
reader reads nothing of the difference, shown rows of another state of the sources are other rows: older ones, and newer
ones where something came in between (`CameBetween`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from backfill_assets.core.interval_index import IntervalIndex
from backfill_assets.core.intervals import NOTHING, Interval, Ranges, utc
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pin import same_inputs
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, is_adopted, logic_of
from backfill_assets.plan.missing import needed
from backfill_assets.plan.patch import affected_interval
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage, EntriesByVersion, Entry, Kind, coverage, models_read


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleInput:
    """Intervals of a model that were computed from other rows of `of` of an upstream than those of a segment of it."""

    model: str
    intervals: Ranges
    upstream: str
    of: Ranges
    shown: Segment


CameBetween = Callable[[Model, str, Interval, Entry, Entry], Ranges]
"""The parts of a model's interval of which something came to a source that it reads, after the batch of the first entry
and before that of the second (`plan/older_sources.py`)."""

Unlike = Callable[[tuple[str, str], str, str, str], bool]
"""Whether two logics of an upstream (named first) may give a model's version (model and version) other rows."""


def stale_inputs(
    project: Project,
    environment: Environment,
    entries: EntriesByVersion,
    came: CameBetween | None = None,
    *,
    gained: bool = False,
    unlike: Unlike | None = None,
    about: Collection[str] | None = None,
) -> tuple[StaleInput, ...]:
    """What of an environment is shown beside other rows than it was computed from. `project` as it shows it. Of the
    models that it is `about` (None: all).

    Without `came`, newer rows of other logic count as those that a reader of none of the difference read: a promotion
    compares these in the data. `gained`: also what read an upstream before it had intervals that are shown of it by
    now, as it began later then: only a restatement of what is shown computes that again, so it is none of the gate's.
    `unlike`: of rows of older logic that an upstream shows beside newer ones, also what read a third logic there.
    """
    tables = _Tables(project, entries, came, gained, unlike)
    found: list[StaleInput] = []
    for name, pointer in environment.pointers.items():
        model = project.models.get(name) if about is None or name in about else None
        for upstream in model.upstreams if model else ():
            there, below = project.models.get(upstream.name), environment.pointers.get(upstream.name)
            if model is not None and there is not None and below is not None:
                found += _of_pair(tables, model, pointer, there, below)
    return tuple(found)


def shown_parts(
    entries: EntriesByVersion, pointer: Pointer, *, counting: bool = False
) -> Iterator[tuple[Segment, Interval, Entry]]:
    """The segment, and the BUILT entry, of every part of what a pointer shows; but what was open when it was built.
    `counting`: nor what counts for nothing by now, as an audit has failed or it was withdrawn."""
    for segment in pointer.segments:
        said = entries.get((pointer.model, segment.version), ())
        have = coverage(said, audits="", commit=segment.commit) if counting else _written(said, segment.commit)
        for part, entry in have.batches(Ranges((segment.interval,))):
            yield segment, part, entry


def _first_commits(entries: Sequence[Entry]) -> IntervalIndex[int]:
    """The parts of a table, each with the commit that wrote it first, whole."""
    seen, found = NOTHING, list[tuple[Interval, int]]()
    built = (e for e in entries if e.kind is Kind.BUILT and not e.through)
    for entry in sorted(built, key=lambda e: e.table_commit):
        fresh = Ranges((entry.interval,)) - seen
        seen = seen | fresh
        found.extend((part, entry.table_commit) for part in fresh)
    return IntervalIndex(found)


def _written(entries: Sequence[Entry], commit: int) -> Coverage:
    """Which batches wrote a table as it was at a commit, whatever was said of them since."""
    said = [e for e in entries if e.kind is not Kind.INVALIDATED and e.kind is not Kind.WITHDRAWN]
    return coverage(said, audits="", commit=commit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownRows:
    """What is shown of a model, as its batches wrote it."""

    parts: IntervalIndex[tuple[Segment, Entry]]
    version: str
    """Of the table that all of it is in; "" where it is in several."""
    commit: int
    """The newest one of that table that wrote any of it."""

    @classmethod
    def of(cls, parts: Sequence[tuple[Segment, Interval, Entry]]) -> _ShownRows:
        versions = {entry.version for _, _, entry in parts}
        return cls(
            parts=IntervalIndex((part, (segment, entry)) for segment, part, entry in parts),
            version=versions.pop() if len(versions) == 1 else "",
            commit=max((entry.table_commit for _, _, entry in parts), default=-1),
        )

    def all_read(self, said: Mapping[str, Mapping[str, Any]], upstream: str) -> bool:
        """Whether a batch read that table alone, when all that is shown was in it: then it read no other rows."""
        if len(said) != 1 or "over" in (read := said.get(upstream, {"over": ()})):
            return False
        return read["version"] == self.version and read["commit"] >= self.commit


@dataclass(slots=True)
class _Tables:
    """Which batch wrote what, by the ledger, and what it read."""

    project: Project
    entries: EntriesByVersion
    came: CameBetween | None
    gained: bool
    unlike: Unlike | None
    _at: dict[tuple[str, str, int], Coverage] = field(default_factory=dict[tuple[str, str, int], Coverage])
    _had: dict[tuple[str, str, int], Coverage] = field(default_factory=dict[tuple[str, str, int], Coverage])
    _first: dict[tuple[str, str], IntervalIndex[int]] = field(default_factory=dict[tuple[str, str], IntervalIndex[int]])
    _differing: dict[tuple[str, Interval, str, str], Ranges] = field(
        default_factory=dict[tuple[str, Interval, str, str], Ranges]
    )
    """What is asked again by each model that reads it."""
    _shown: dict[str, _ShownRows] = field(default_factory=dict[str, "_ShownRows"])

    def shown(self, pointer: Pointer) -> _ShownRows:
        """What the environment shows of a model."""
        if pointer.model not in self._shown:
            self._shown[pointer.model] = _ShownRows.of([*shown_parts(self.entries, pointer)])
        return self._shown[pointer.model]

    def at(self, model: str, version: str, commit: int) -> Coverage:
        """A table as it was at a commit, as far as it counts by now."""
        if (key := (model, version, commit)) not in self._at:
            self._at[key] = coverage(self.entries.get((model, version), ()), audits="", commit=commit)
        return self._at[key]

    def lacked(self, model: str, version: str, commit: int, parts: Ranges) -> Ranges:
        """What of these a table did not have at a commit, if that is asked for."""
        if not self.gained or is_adopted(version):
            return NOTHING
        if (first := self._first.get((model, version))) is None:
            first = self._first[model, version] = _first_commits(self.entries.get((model, version), ()))
        return parts - Ranges.of(there for part in parts for there, since in first.meeting(part) if since <= commit)

    def refused(self, model: str, version: str, commit: int, parts: Ranges) -> list[tuple[Interval, Entry]]:
        """Which batches had written what counts for nothing by now of these parts of a table as it was at a commit."""
        left = parts - self.at(model, version, commit).built
        return self._wrote(model, version, commit).batches(left) if left else []

    def _wrote(self, model: str, version: str, commit: int) -> Coverage:
        if (key := (model, version, commit)) not in self._had:
            self._had[key] = _written(self.entries.get((model, version), ()), commit)
        return self._had[key]

    def differ(self, model: str, part: Interval, read: Entry, shown: Entry) -> Ranges:
        """The parts of an interval whose rows of two batches are known to be others: all of it where those that are
        shown are of another state of the inputs and older, else those of which something came in between to what both
        read, in a source or through models."""
        if same_inputs(read.inputs, shown.inputs):
            return NOTHING
        if shown.at < read.at:
            return Ranges((part,))
        if self.came is None or (reader := self.project.models.get(model)) is None:
            return NOTHING
        if (known := self._differing.get(key := (model, part, read.batch, shown.batch))) is not None:
            return known
        found = NOTHING
        for name in (read.inputs or {}).keys() & (shown.inputs or {}).keys():
            if name in self.project.sources:
                found |= self.came(reader, name, part, read, shown)
            elif above := self.project.models.get(name):
                for window in needed(reader, above, part):
                    late = self._differ_above(name, window, read, shown)
                    found |= Ranges.of(affected_interval(reader, above, each) for each in late) & Ranges((part,))
        self._differing[key] = found
        return found

    def _differ_above(self, upstream: str, window: Interval, read: Entry, shown: Entry) -> Ranges:
        """The same of the rows of an upstream that both read."""
        there = IntervalIndex(self._read_by(upstream, window, shown))
        return Ranges.of(
            late
            for part, one in self._read_by(upstream, window, read)
            for where, other in there.meeting(part)
            if (common := where.intersection(part)) is not None
            for late in self.differ(upstream, common, one, other)
        )

    def _read_by(self, upstream: str, window: Interval, entry: Entry) -> Iterator[tuple[Interval, Entry]]:
        said = cast(Mapping[str, Mapping[str, Any]], entry.inputs or {}).get(upstream, {})
        if "version" in said and "commit" in said:
            for version, commit, parts in tables_read(said, Ranges((window,))):
                yield from self.at(upstream, version, commit).batches(parts)


def _of_pair(tables: _Tables, model: Model, pointer: Pointer, upstream: Model, below: Pointer) -> Iterator[StaleInput]:
    shown = tables.shown(below)
    found: dict[Segment, tuple[list[Interval], list[Interval]]] = defaultdict(lambda: ([], []))
    for _, part, entry in shown_parts(tables.entries, pointer, counting=True):
        said = _read_of(model, upstream.name, entry, below) if not entry.through else {}
        if shown.all_read(said, upstream.name):
            continue
        for window in needed(model, upstream, part) if said else ():
            for there, (segment, newest) in shown.parts.meeting(window):
                others = [*_others_read(tables, upstream.name, said, there, newest, window)]
                if upstream.name in said and segment.logic != below.version:
                    reader = entry.model, logic_of(entry.version)
                    others += _of_third_logic(tables, reader, upstream.name, said[upstream.name], there, newest, window)
                for late in others:
                    intervals, of = found[segment]
                    of.append(late)
                    intervals += Ranges((part,)) & Ranges((affected_interval(model, upstream, late),))
    for segment, (intervals, of) in found.items():
        yield StaleInput(
            model=model.name,
            intervals=Ranges.of(intervals),
            upstream=upstream.name,
            of=Ranges.of(of),
            shown=segment,
        )


def _read_of(model: Model, upstream: str, entry: Entry, below: Pointer) -> dict[str, Mapping[str, Any]]:
    """What a batch says that it read of an upstream, by the name that this had: of one that was renamed since, of what
    has the logic that is shown of it; else of any model that is not read by now."""
    read = cast(Mapping[str, Mapping[str, Any]], entry.inputs or {})
    if upstream in read:
        names = [upstream]
    else:
        logics, now = {segment.logic for segment in below.segments}, {u.name for u in model.upstreams}
        others = {name: logic_of(version) for name, version in models_read(entry).items() if name not in now}
        names = [name for name, logic in others.items() if logic in logics] or [*others]
    return {name: read[name] for name in names if "version" in read[name] and "commit" in read[name]}


def _others_read(
    tables: _Tables,
    upstream: str,
    said: Mapping[str, Mapping[str, Any]],
    there: Interval,
    newest: Entry,
    window: Interval,
) -> Iterator[Interval]:
    """The parts of a shown batch's interval of which a reader read other rows, under whichever of these names."""
    for name, of in said.items():
        if name == upstream:
            yield from _read_other(tables, name, of, there, newest, window)
        else:
            yield from _read_renamed(tables, name, upstream, of, there, newest, window)


def _read_other(
    tables: _Tables, upstream: str, said: Mapping[str, Any], there: Interval, newest: Entry, window: Interval
) -> Iterable[Interval]:
    """The parts of a shown batch's interval of which a reader read what another batch wrote: an older one, or one that
    a rollback took out of sight; or nothing (`gained`)."""
    if newest.through:
        return
    other_logic = logic_of(said["version"]) != logic_of(newest.version)
    common = Ranges((there,)) & Ranges((window,))
    for version, commit, parts in tables_read(said, common):
        if version == newest.version and newest.table_commit <= commit:
            continue
        lacked = tables.lacked(upstream, version, commit, parts)
        yield from lacked
        if not (parts := parts - lacked):
            continue
        for part, entry in tables.at(upstream, version, commit).batches(parts):
            if other_logic:
                yield from tables.differ(upstream, part, entry, newest)
            elif entry.at != newest.at or not same_inputs(entry.inputs, newest.inputs):
                yield part
        if not other_logic:
            for part, entry in tables.refused(upstream, version, commit, parts):
                if not same_inputs(entry.inputs, newest.inputs):
                    yield part


def _of_third_logic(
    tables: _Tables,
    reader: tuple[str, str],
    upstream: str,
    said: Mapping[str, Any],
    there: Interval,
    newest: Entry,
    window: Interval,
) -> Iterator[Interval]:
    """The parts of a batch of older logic of which a reader read rows of another one."""
    shown = logic_of(newest.version)
    for version, _, parts in tables_read(said, Ranges((there,)) & Ranges((window,))):
        read = logic_of(version)
        if read != shown and not newest.through and tables.unlike and tables.unlike(reader, upstream, read, shown):
            yield from parts


def _read_renamed(
    tables: _Tables,
    name: str,
    upstream: str,
    said: Mapping[str, Any],
    there: Interval,
    newest: Entry,
    window: Interval,
) -> Iterable[Interval]:
    """The parts of a shown batch's interval of which a reader read other rows under an earlier name of the upstream:
    those that were computed again since; and, if it is known what came to the sources, those it came to. Without, those
    of the first time are compared when the reader is recorded to read it (`watch/followed_rows.py`)."""
    if newest.through:
        return
    for version, commit, parts in tables_read(said, Ranges((there,)) & Ranges((window,))):
        if logic_of(version) == logic_of(newest.version) and version != newest.version != logic_of(newest.version):
            yield from parts
        elif tables.came is not None:
            for part, entry in tables.at(name, version, commit).batches(parts):
                if (entry.inputs or {}).keys() & (newest.inputs or {}).keys():  # else it is another model
                    yield from tables.differ(upstream, part, entry, newest)


def tables_read(said: Mapping[str, Any], parts: Ranges) -> Iterator[tuple[str, int, Ranges]]:
    """The tables and commits that a batch read, each with its part of these ranges."""
    for beside in said.get("over", ()):
        over = parts & Ranges((_interval(beside["of"]),))
        if over:
            yield beside["version"], beside["commit"], over
        parts = parts - over
    if parts:
        yield said["version"], said["commit"], parts


def _interval(text: str) -> Interval:
    """What `str(interval)` said."""
    first, _, last = text.partition("..")
    return Interval(utc(first), utc(last or first) + timedelta(**({"hours": 1} if "T" in text else {"days": 1})))
