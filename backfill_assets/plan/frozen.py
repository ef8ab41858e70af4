"""Which sources does what is left of a plan read as the plan froze them? One version comes from one state of them.

Days that the plan did not have read the sources as they are. So do days that were tried and do not count (their build
failed, their audits were red, somebody withdrew them) where a source changed in them since: else they would stay bad.
Files cannot be read as they were: what that means is said (`Mixed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from backfill_assets.audits.reads import tables_read
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pin import Pin, Pins, made_anew, same_pin
from backfill_assets.plan.missing import split_open
from backfill_assets.plan.patch import affected_interval
from backfill_assets.state.ledger import Entry, Kind, coverage
from backfill_assets.state.plans import PlanRecord

Touched = Callable[[str, Pin], Ranges | None]
"""Source and pin → the time of which it changed after that; None: nobody can tell."""
TRIED = frozenset({Kind.BUILT, Kind.FAILED, Kind.INVALIDATED, Kind.WITHDRAWN})
"""The kinds of entries that are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What these intervals of a model read of sources that changed since a plan froze them: source → its pin."""

    model: str
    intervals: Ranges
    sources: Pins
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Intervals that read a source as it is, although the plan froze it otherwise (`then`), and why."""

    model: str
    intervals: Ranges
    source: str
    then: Pin
    now: Pin
    why: str
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """A source of files that changed: `built` was computed from other files than `rest` will be."""

    model: str
    source: str
    then: Pin
    now: Pin
    built: Ranges
    rest: Ranges
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """How what is left of a plan reads sources that changed since it froze them; all empty where none did."""

    frozen: tuple[Frozen, ...] = ()
    moved: tuple[Moved, ...] = ()
    mixed: tuple[Mixed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored plan, as far as it says what is read: `frozen` goes before `sources`."""

    record: PlanRecord
    now: datetime
    sources: Pins
    frozen: tuple[Frozen, ...] = ()

    def pins(self, model: str, interval: Interval) -> list[tuple[Interval, Pins]]:
        """What each part of an interval was to be read of."""
        found, left = list[tuple[Interval, Pins]](), Ranges((interval,))
        for each in self.frozen:
            if each.model == model:
                found += [(part, {**self.sources, **each.sources}) for part in left & each.intervals]
                left = left - each.intervals
        return [*found, *((part, self.sources) for part in left)]


def sources_read(project: Project, model: Model) -> tuple[str, ...]:
    """The sources that a model is computed from, and those that its audits look at."""
    reads = tables_read(model)
    return tuple(dict.fromkeys(name for name in reads if name in project.sources))


def alike(frozen: Sequence[Frozen], model: str, intervals: Ranges) -> list[tuple[Ranges, Pins]]:
    """The intervals of a model by what they read otherwise than the rest: nothing of a last part."""
    found = list[tuple[Ranges, Pins]]()
    for each in frozen:
        if each.model == model and (mine := intervals & each.intervals):
            found.append((mine, each.sources))
            intervals = intervals - mine
    return [*found, (intervals, {})] if intervals else found


@dataclass(slots=True)
class _Told:
    """What is found, by what is said of it: intervals add up."""

    frozen: dict[tuple[str, str, str], tuple[Pins, Ranges]] = field(
        default_factory=dict[tuple[str, str, str], tuple[Pins, Ranges]]
    )
    moved: dict[tuple[str, ...], tuple[Pin, Pin, Ranges]] = field(
        default_factory=dict[tuple[str, ...], tuple[Pin, Pin, Ranges]]
    )
    mixed: list[Mixed] = field(default_factory=list[Mixed])

    def keep(self, model: str, plan: str, pins: Pins, part: Interval) -> None:
        key = (model, plan, repr(sorted((n, sorted(p.items())) for n, p in pins.items())))
        _, known = self.frozen.get(key, (pins, NOTHING))
        self.frozen[key] = (pins, known | Ranges((part,)))

    def move(self, model: str, plan: str, source: str, then: Pin, now: Pin, why: str, parts: Ranges) -> None:
        key = (model, plan, source, why, repr(sorted(then.items())))
        known = self.moved[key][2] if key in self.moved else NOTHING
        self.moved[key] = (then, now, known | parts)


def continued(
    project: Project,
    wanted: Mapping[str, tuple[str, Ranges]],
    plans: Sequence[Stored],
    pins: Pins,
    entries: Mapping[tuple[str, str], Sequence[Entry]],
    touched: Touched,
) -> Continued:
    """How what is left is read. `wanted`: model → version, and the intervals that are built or audited of it.

    `plans` are those that it goes on with, the one that counts most first; `pins` the sources as they are; `entries`
    the ledger's of the kinds TRIED by model and version, oldest first.
    """
    told = _Told()
    for name, (version, left) in wanted.items():
        model, own = project.models[name], entries.get((name, version), ())
        read, first = [n for n in sources_read(project, model) if n in pins], None
        for plan in plans:
            target = next((t for t in plan.record.targets if (t.model, t.version) == (name, version)), None)
            if target is None:
                continue
            mine = split_open(model, left & target.intervals, plan.now)[0]
            _of_plan(told, model, plan, mine, read, pins, own, touched)
            _files(told, model, plan, target.intervals, left, read, pins, own)
            left, first = left - mine, first or plan
        for source in read if first and left else ():
            then = first.sources.get(source) if first else None
            if first and then is not None and _changed(then, pins[source]):
                told.move(name, first.record.id, source, then, pins[source], "the plan did not have them yet", left)
    return Continued(
        frozen=tuple(
            Frozen(model=model, plan=plan, sources=then, intervals=parts)
            for (model, plan, _), (then, parts) in told.frozen.items()
        ),
        moved=tuple(
            Moved(model=key[0], plan=key[1], source=key[2], why=key[3], then=then, now=now, intervals=parts)
            for key, (then, now, parts) in sorted(told.moved.items(), key=lambda moved: next(iter(moved[1][2])))
        ),
        mixed=tuple(told.mixed),
    )


def _of_plan(
    told: _Told,
    model: Model,
    plan: Stored,
    mine: Ranges,
    read: Sequence[str],
    pins: Pins,
    entries: Sequence[Entry],
    touched: Touched,
) -> None:
    """What is left of one plan in one model: each part by what came of it last."""
    by_batch = {e.batch: e for e in entries if e.kind is Kind.BUILT}
    for whole, last in _last(mine, entries):
        attempt = by_batch.get(last.batch, last) if last else None
        for part, before in plan.pins(model.name, whole):
            kept: dict[str, Pin] = {}
            for source in read:
                then, now = _later(before.get(source), _read(attempt, source)), pins[source]
                if then is None or not _changed(then, now):
                    continue
                if why := _ruled_out(last) if last else "":
                    since = touched(source, then)
                    mended = since is None or any(affected_interval(model, None, t).intersection(part) for t in since)
                    if mended or (last and last.kind is Kind.WITHDRAWN):
                        told.move(model.name, plan.record.id, source, then, now, why, Ranges((part,)))
                        continue
                kept[source] = then
            if kept:
                told.keep(model.name, plan.record.id, kept, part)


def _files(
    told: _Told,
    model: Model,
    plan: Stored,
    intervals: Ranges,
    left: Ranges,
    read: Sequence[str],
    pins: Pins,
    entries: Sequence[Entry],
) -> None:
    """What of a plan was built from other files than are there, while some of it is left."""
    have = coverage(entries, audits="")
    rest = (left & intervals) - have.built  # what is only audited is there
    for source in read:
        then, now = plan.sources.get(source, {}), pins.get(source, {})
        if rest and "files" in then and "files" in now and not same_pin(then, now):
            built = Ranges.of(
                part
                for part, entry in have.batches(intervals)
                if (said := _read(entry, source)) is not None and not same_pin(said, now)
            )
            told.mixed.append(
                Mixed(model=model.name, source=source, then=then, now=now, built=built, rest=rest, plan=plan.record.id)
            )


def _last(ranges: Ranges, entries: Sequence[Entry]) -> Iterator[tuple[Interval, Entry | None]]:
    """The newest entry of each part; None where there is none."""
    left = ranges
    for entry in reversed(entries):
        for part in left & Ranges((entry.interval,)):
            yield part, entry
        left = left - Ranges((entry.interval,))
    for part in left:
        yield part, None


def _ruled_out(entry: Entry) -> str:
    """Why what was tried last does not count; "" when it does, or nothing was tried: a batch that was interrupted."""
    match entry.kind:
        case Kind.FAILED:
            return "their build failed" if entry.inputs else ""
        case Kind.INVALIDATED:
            return entry.reason or "they were invalidated"
        case Kind.WITHDRAWN:
            return entry.reason or "they were withdrawn"
        case _:
            return ""


def _read(entry: Entry | None, source: str) -> Pin | None:
    """What a batch read of a source."""
    return cast(Mapping[str, Pin], (entry.inputs if entry else None) or {}).get(source)


def _later(then: Pin | None, read: Pin | None) -> Pin | None:
    """The pin that counts: what a batch read after the plan had frozen it came of a source that was mended."""
    if then is None or read is None or "commit" not in then or "commit" not in read or made_anew(then, read):
        return then
    return max(then, read, key=lambda pin: cast(int, pin["commit"]))


def _changed(then: Pin, now: Pin) -> bool:
    """Whether a source can be read as it was, and is not so any more."""
    return "commit" in then and "commit" in now and not same_pin(then, now)
