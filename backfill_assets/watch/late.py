"""Which published intervals were built before their source changed? A restatement of them is proposed.

Those that are provisional are left to the next routine run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import STABLE_KEY, Model
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments, is_adopted, logic_of
from backfill_assets.core.wording import first_few, listed
from backfill_assets.plan.commands import restate_all
from backfill_assets.plan.older_logic import held_by_older
from backfill_assets.plan.older_sources import reads_back
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.source_history import Reached, SourceChange, SourceHistory, TouchedSince, spans_of
from backfill_assets.plan.stale_inputs import shown_parts
from backfill_assets.state.columns import instant, micros
from backfill_assets.state.history import VersionHistory
from backfill_assets.state.ledger import Entry
from backfill_assets.state.ledger import Kind as Said
from backfill_assets.state.pieces import Pieces
from backfill_assets.state.read_inputs import ReadInputs
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.late_notice import late_notice
from backfill_assets.watch.notice import Notice, NoticeKind
from backfill_assets.watch.staying_readers import held_by_readers, staying_notice

if TYPE_CHECKING:
    from backfill_assets.state.columns import Numbers

MOST_NAMED = 3
_FINISH = (
    "backfill apply, then backfill promote PLAN, which it names, gives all that is of older logic the newer one, from "
    "the sources as they are when it is built"
)


@dataclass(slots=True)
class _Found:
    """What is late in one model, by source."""

    intervals: Ranges = NOTHING
    changes: dict[str, dict[str, list[Interval]]] = field(default_factory=dict[str, dict[str, list[Interval]]])
    """By source and what came to it: which of these it touched."""
    vague: set[str] = field(default_factory=set[str])
    """Sources of which a changed file does not say what time it has rows of."""
    coarse: set[str] = field(default_factory=set[str])
    """Sources of which a changed file has rows of several days, and does not say which of them are others now."""


@dataclass(slots=True)
class _Blind:
    """What sources do not let anybody tell, by source."""

    why: dict[str, str] = field(default_factory=dict[str, str])
    undated: dict[str, dict[str, Ranges]] = field(default_factory=dict[str, dict[str, Ranges]])
    """Reader → what is shown of it, where files that came later do not say their days."""
    files: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The names of these files."""

    def notices(self) -> list[Notice]:
        """One a source."""
        found = {source: [why] for source, why in self.why.items()}
        for source, readers in self.undated.items():
            were = "was" if len(readers) == 1 else "were"
            found.setdefault(source, []).append(
                f"which days these touch cannot be told, {listed([*readers])} {were} built before: "
                f"{_named(self.files[source])}; {restate_all(readers)} computes all of it again"
            )
        return [
            Notice(kind=NoticeKind.UNWATCHED, model=source, source=True, what="; ".join(texts))
            for source, texts in sorted(found.items())
        ]


def late_sources(look: WatchFacts) -> tuple[Notice, ...]:
    """A notice for each model that shows intervals which its sources changed since; and what cannot be told, once a
    source.

    Days that are not built yet, or not shown, are growth and no news. An open interval is built again in any case. What
    a routine run builds again by itself is no finding, unless it has failed to.
    """
    held = held_by_older(look.project, look.environment)  # what is shown of older logic, nothing but a plan replaces
    waiting = _unsettled(look, held)
    staying = held_by_readers(look, waiting)
    found: list[Notice] = []
    blind = _Blind()
    for name, pointer in look.environment.pointers.items():
        if name in look.project.models:
            model = look.project.models[name]
            stale, open_ = _stale(look, model, pointer, blind), waiting.get(name, NOTHING)
            if settled := stale.intervals - open_:
                along = stale.intervals & open_ if any(a.kind == STABLE_KEY for a in model.audits) else NOTHING
                stale.intervals = settled | along
                found.append(_notice(look, model, stale, held.get(name, NOTHING), along))
            back = staying.get(name, {})
            if left := open_ - Ranges.of(back):
                found.append(_settling(look, model, pointer, left))
            if back:
                found.append(staying_notice(look, model, back))
    return (*found, *blind.notices())


def unsettled(look: WatchFacts) -> dict[str, Ranges]:
    """Model → the provisional intervals that its sources changed since they were built, and that nobody has gone back
    to. What comes to a source at one time may belong to any time that the model's window reaches back to."""
    return _unsettled(look, held_by_older(look.project, look.environment))


def late_intervals(look: WatchFacts, name: str) -> Ranges:
    """What is shown of a model and was built before its sources changed, provisional or not."""
    return _stale(look, look.project.models[name], look.environment.pointers[name], _Blind()).intervals


def _unsettled(look: WatchFacts, held: Mapping[str, Ranges]) -> dict[str, Ranges]:
    """The same, without what no routine run replaces."""
    found: dict[str, Ranges] = {}
    if look.settling is None:
        return found
    for name in look.settling.reach:
        model, pointer = look.project.models.get(name), look.environment.pointers.get(name)
        if model is None or pointer is None:
            continue
        open_ = look.settling.open_to_change(name, model.calendar, pointer.covers) - held.get(name, NOTHING)
        if open_ and (stale := _stale(look, model, pointer, _Blind(), vague_is_all=True).intervals & open_):
            found[name] = stale
    return found


def _stale(look: WatchFacts, model: Model, pointer: Pointer, blind: _Blind, *, vague_is_all: bool = False) -> _Found:
    """What its sources changed since, and into `blind` what they do not let anybody tell. `vague_is_all`: files that
    came and do not say their days have rows of any."""
    backs = _backs(look, model, pointer)
    found, parts = _Found(), Ranges()
    for source in [u.name for u in model.upstreams if u.name in look.project.sources]:
        history = look.histories.get(source, SourceHistory(unwatched="nobody looked at it"))
        if history.unwatched:
            blind.why[source] = f"late rows cannot be noticed: {history.unwatched}"
        else:
            parts = parts | _of_source(look, model, pointer, source, history, found, blind, backs[source], vague_is_all)
    whole = Ranges.of(model.cadence.cover(part) for part in parts)
    found.intervals = whole & pointer.covers & model.expected(look.now)
    return found


def _backs(look: WatchFacts, model: Model, pointer: Pointer) -> dict[str, timedelta]:
    """By source, how much earlier than it says what it changed may belong; all of the window where what is shown is of
    older logic as well."""
    reach, logic = look.settling.reach if look.settling else {}, {logic_of(s.version) for s in pointer.segments}
    return {u.name: reads_back(look.project, model.name, u.name, reach, *logic) for u in model.upstreams}


def _none_went(changes: Iterable[SourceChange]) -> bool:
    """Whether all files of which nobody can tell the days are ones that came."""
    return all(change.at is not None for change in changes if change.touches is None)


def _of_source(
    look: WatchFacts,
    model: Model,
    pointer: Pointer,
    source: str,
    history: SourceHistory,
    found: _Found,
    blind: _Blind,
    back: timedelta,
    vague_is_all: bool,
) -> Ranges:
    """The parts of what is shown that one source touched since they were built; why goes into `found`."""
    expected, parts = model.expected(look.now), list[Interval]()
    timeless = look.project.sources[source].time_column is None
    after, memory = TouchedSince(model, history, back), dict[object, Reached]()

    def since(said: Mapping[str, object], began: datetime, batch: str) -> Reached:
        key = (said["commit"], said.get("table")) if "commit" in said else batch
        if key not in memory:
            memory[key] = after.since(said, began)
        return memory[key]

    def reach(said: Mapping[str, object] | None) -> Interval | None:
        """In which time parts that read this have to be looked at: all that was touched is in it. None: in no time."""
        if said is None or "commit" not in said or cast(int, said["commit"]) < history.since:
            return _EVER
        touched, _, vague = since(said, _NO_MATTER, "")
        return _EVER if vague else touched.span

    for segment, part, said, began, batch in _to_look_at(look, pointer, source, reach, expected):
        if is_adopted(segment.version):  # no source of this project was read for it
            continue
        if said is None or ("commit" not in said and "files" not in said):
            blind.why.setdefault(source, f"{model.name} does not say what it read of it in {part}")
            continue
        if "commit" in said and cast(int, said["commit"]) < history.since:
            blind.why[source] = (
                f"changes until commit {history.since} cannot be told: the source's log does not reach back"
                " to what was read"
            )
        touched, changes, vague = since(said, began, batch)
        mine = Ranges((part,)) & expected
        # Such sources change all the time: no alarm each day.
        if vague and mine and (timeless or ("files" in said and not (vague_is_all and _none_went(changes)))):
            blind.undated.setdefault(source, {})[model.name] = pointer.covers & expected
            blind.files.setdefault(source, set()).update(c.name for c in changes if c.touches is None)
            vague = False
        if here := mine if vague else touched & mine:
            parts += here
            named = found.changes.setdefault(source, {})
            for change in changes:
                if change.touches is None:
                    spans = [part] if vague else []
                else:
                    spans = [affected_interval(model, None, t) for t in spans_of(change, back)]
                if met := [both for span in spans if (both := span.intersection(part))]:
                    named.setdefault(change.name, []).extend(met)
            if vague:
                found.vague.add(source)
            if any(change.coarse and change.name in named for change in changes):
                found.coarse.add(source)
    return Ranges.of(parts)


Looked = tuple[Segment, Interval, Mapping[str, object] | None, datetime, str]
"""A part of a segment, what its batch read of a source, when it began to, and its name. Of a Delta source the last two
do not matter."""


def _to_look_at(
    look: WatchFacts,
    pointer: Pointer,
    source: str,
    reach: Callable[[Mapping[str, object] | None], Interval | None],
    expected: Ranges,
) -> Iterator[Looked]:
    """The parts of what is shown, by start in each segment; but those that nothing `reach`es since they were read.
    Those that follow one another, read the same commit and are `expected` come as one."""
    import numpy as np

    for segment in pointer.segments:
        alone = replace(pointer, segments=Segments([segment]))
        if (plain := _plain(look, pointer.model, segment)) is None:
            yield from (_looked(*shown, source) for shown in shown_parts(look.entries, alone))
            continue
        reads, known, pieces, codes = plain
        others = {(pointer.model, segment.version): known.others}
        found = [_looked(*shown, source) for shown in shown_parts(others, alone)]
        texts, each = np.unique(codes, return_inverse=True)
        read = [reads.text(code).get(source) for code in texts.tolist()]
        files = np.array([r is not None and "commit" not in r and "files" in r for r in read], np.bool_)[each]
        spans = [reach(r) for r in read]
        first = np.array([micros(s.start) if s else 0 for s in spans], np.int64)[each]
        last = np.array([micros(s.end) if s else 0 for s in spans], np.int64)[each]
        near = ~files & (first < last) & (pieces.start < last) & (pieces.end > first)
        start, end, text = pieces.start[near], pieces.end[near], each[near]
        begins, stops = _runs(start, end, _commits(read)[text], expected)
        ends = zip(start[begins].tolist(), end[stops].tolist(), text[begins].tolist(), strict=True)
        found += [(segment, Interval(instant(a), instant(b)), read[text], _NO_MATTER, "") for a, b, text in ends]
        found += [_looked(segment, *one, source) for one in pieces.where(files).sources()]
        yield from sorted(found, key=lambda each: each[1])


def _commits(read: Sequence[Mapping[str, object] | None]) -> Numbers:
    """A number for each commit of a source that was read, of which table; -1 where none is said."""
    import numpy as np

    places: dict[object, int] = {}
    keys = [(r["commit"], r.get("table")) if r is not None and "commit" in r else None for r in read]
    return np.array([-1 if key is None else places.setdefault(key, len(places)) for key in keys], np.int64)


def _runs(start: Numbers, end: Numbers, commit: Numbers, expected: Ranges) -> tuple[Numbers, Numbers]:
    """The first and the last part of each run of parts, by start, that follow one another, read the same commit and are
    expected; every other part is a run of its own. What is said of a run is said of each part of it, once."""
    import numpy as np

    inside = np.zeros(len(start), np.bool_)
    for whole in expected:
        inside |= (start >= micros(whole.start)) & (end <= micros(whole.end))
    joins = inside & (commit >= 0)
    begins = np.ones(len(start), np.bool_)
    begins[1:] = (start[1:] != end[:-1]) | (commit[1:] != commit[:-1]) | ~joins[1:] | ~joins[:-1]
    first = np.flatnonzero(begins)
    return first, np.append(first[1:], len(start))[: len(first)] - 1


def _plain(look: WatchFacts, model: str, segment: Segment) -> tuple[ReadInputs, VersionHistory, Pieces, Numbers] | None:
    """What of a segment the newest builds of plain intervals made, with which text says what each read; None where
    entries have to be looked at."""
    known = look.entries.get((model, segment.version), ())
    if look.reads is None or not isinstance(known, VersionHistory) or not (pieces := known.shown(segment)):
        return None
    codes = look.reads.codes(known, pieces)
    return None if codes is None else (look.reads, known, pieces, codes)


def _looked(segment: Segment, part: Interval, entry: Entry, source: str) -> Looked:
    said = cast("Mapping[str, Mapping[str, object]]", entry.inputs or {}).get(source)
    return segment, part, said, entry.began, entry.id or entry.batch


_NO_MATTER = datetime.min.replace(tzinfo=UTC)
_EVER = Interval(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


def _notice(look: WatchFacts, model: Model, stale: _Found, held: Ranges, along: Ranges) -> Notice:
    """`held`: what of the model no restatement computes, as it is of older logic or read by such rows; `along`: what is
    provisional, and named as a key may have moved between it and the rest: neither is green without the other."""
    held = stale.intervals & held
    met = {s: {n for n, at in came.items() if Ranges.of(at) & stale.intervals} for s, came in stale.changes.items()}
    sources = "; ".join(f"{s} ({_named(names)})" for s, names in sorted(met.items()) if names)
    what = f"built before its source changed: {sources}"
    if stale.vague:
        what += f"; {', '.join(sorted(stale.vague))} does not say which days that touches: all built before is named"
    elif stale.coarse:
        coarse = ", ".join(sorted(stale.coarse))
        what += f"; of a file of {coarse} only the first and the last day are known, so all in between are named"
    if along:
        what += f"; {along} is provisional, and computed with the rest as a key may have moved between them"
    older = look.environment.pointers[model.name].older.covers
    whose = [
        *([f"{held & older} is shown by older logic"] if held & older else []),
        *([f"{held - older} is read by what is shown by older logic"] if held - older else []),
    ]
    if whose:
        what += f"; {' and '.join(whose)}: neither a routine run nor a restatement builds it again"
    free, otherwise = stale.intervals - held, _FINISH if held else ""
    return late_notice(look, model.name, stale.intervals, what, restated=free, otherwise=otherwise)


def _settling(look: WatchFacts, model: Model, pointer: Pointer, intervals: Ranges) -> Notice:
    """What the next routine run builds again; a finding where the last one could not."""
    remedy = "backfill routine"
    if why := look.project.redeclared.get(model.name) or _last_try(look, model.name, pointer, intervals):
        what = f"its sources changed, and it could not be built again: {why}; what is shown stays as it was"
        return Notice(
            kind=NoticeKind.LATE, model=model.name, intervals=intervals, what=what, remedy=f"mend it, then {remedy}"
        )
    what = "provisional, and its sources changed: the next routine run builds it again"
    return Notice(kind=NoticeKind.SETTLING, model=model.name, intervals=intervals, what=what, remedy=remedy)


def _last_try(look: WatchFacts, name: str, pointer: Pointer, intervals: Ranges) -> str:
    """Why the last try to build any of these beside what is shown was in vain; "" when it was not."""
    shown = {s.version for s in pointer.segments}
    tried = [
        entry
        for (model, version), entries in look.entries.items()
        if model == name and version not in shown and logic_of(version) == logic_of(pointer.version)
        for entry in entries
        if intervals & Ranges((entry.interval,))
    ]
    last = max(tried, key=lambda e: e.order, default=None)
    return last.reason.splitlines()[0] if last and last.kind in (Said.FAILED, Said.INVALIDATED) and last.reason else ""


def _named(names: set[str] | Sequence[str]) -> str:
    return first_few(sorted(names, key=lambda n: (len(n), n)), MOST_NAMED)
