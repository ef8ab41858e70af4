"""Which rows that would move were computed from older ones than are shown: of an upstream, or of a source?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments, is_adopted
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.frozen import Frozen
from backfill_assets.plan.older_sources import Computed, History, OlderRows, computed, older_rows
from backfill_assets.plan.patch import affected_interval
from backfill_assets.plan.stale_inputs import StaleInput, Unlike, stale_inputs
from backfill_assets.promote.tables_again import reads_before
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion

Building = Mapping[tuple[str, str], Ranges]
"""Model and version → what is still to be built of it."""
Entries = Callable[[Collection[str]], EntriesByVersion]
"""Models → what the ledger says of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderReads:
    """What of rows that would move is older than what is shown."""

    upstreams: tuple[StaleInput, ...] = ()
    """What would be shown beside other rows of an upstream than it was computed from, and is not shown so by now; also
    of what stays as it is shown."""
    sources: tuple[OlderRows, ...] = ()
    """What would be put over rows that were computed from a newer state of a source, in which they are others."""
    to_come: tuple[OlderRows, ...] = ()
    """The same of what is not built yet, and is to be read as an open plan froze it."""


def older_reads(
    project: Project,
    facts: Facts,
    moving: Sequence[Pointer],
    deleted: Mapping[str, Model],
    entries: Entries,
    history: History,
    frozen: Sequence[Frozen] = (),
    building: Building = MappingProxyType({}),
    unlike: Unlike | None = None,
) -> OlderReads:
    """What is built of pointers that would move, and what is to be built from sources as a plan has `frozen` them.
    `deleted` are models that are shown and that the code does not have: no plan builds them again. What is `building`
    will have other batches than are recorded by now, and nobody knows what they will read."""
    shown = facts.environment
    then = {**shown.pointers, **{p.model: p for p in moving}}
    left = tuple(_replaced_under(project, shown, then, deleted, lambda segment: segment.version))
    ours = {p.model: project.models[p.model] for p in moving if p.model in project.models}
    readers = [n for n in then if n in project.models and any(u.name in ours for u in project.models[n].upstreams)]
    near = {n: project.models[n] for n in (*ours, *readers)}
    beside = {u.name for model in near.values() for u in model.upstreams if u.name in then}
    if not beside and not ours.keys() & shown.pointers.keys():
        return OlderReads(upstreams=left)
    said = entries(near.keys() | beside)
    reach = facts.settling.reach if facts.settling else {}
    rows = [row for p in moving if p.model in ours for row in computed(said, p, shown.pointers.get(p.model))]
    to_come = [
        Computed(
            model=f.model, version=project.fingerprints.get(f.model, ""), interval=part, read=f.sources, began=facts.now
        )
        for f in frozen
        for part in f.intervals
    ]
    over = {n: model.expected(facts.now) - facts.tables.coverage[n].lapsed for n, model in near.items()}
    others = _other_reads(project, shown, then, over, near.keys() | beside, said, building, unlike) if beside else ()
    again = reads_before(project, shown, then, {n: over[n] for n in ours}, said, entries, history, reach)
    return OlderReads(
        upstreams=(*others, *_not_among(others, again), *left),
        sources=older_rows(project, shown, rows, said, history, reach, facts.shown.zones),
        to_come=older_rows(project, shown, to_come, said, history, reach, facts.shown.zones) if to_come else (),
    )


def _other_reads(
    project: Project,
    shown: Environment,
    then: Mapping[str, Pointer],
    about: Mapping[str, Ranges],
    near: Collection[str],
    entries: EntriesByVersion,
    building: Building,
    unlike: Unlike | None,
) -> tuple[StaleInput, ...]:
    """What of the models that it is `about` would be shown beside other rows; `near` are these and what they read. Of
    what is not over, or was built before it was, nothing is told by its logic: it is built again in any case."""
    built = {name: _without(pointer, building) for name, pointer in then.items()} if building else then
    found = _upstreams(project, shown, built, about, near, entries, unlike)
    readers = {name: project.models[name] for name in about}
    others = _replaced_under(project, shown, then, readers, lambda segment: segment.logic)
    mine = (replace(other, intervals=other.intervals & about[other.model]) for other in others)
    return (*found, *_not_among(found, mine))


def _without(pointer: Pointer, building: Building) -> Pointer:
    """The pointer, without what is still to be built of its tables."""
    left = (
        replace(segment, interval=part)
        for segment in pointer.segments
        for part in Ranges((segment.interval,)) - building.get((pointer.model, segment.version), NOTHING)
    )
    return replace(pointer, segments=Segments(left))


def _not_among(told: Sequence[StaleInput], more: Iterable[StaleInput]) -> Iterator[StaleInput]:
    """What of `more` is not told of the same two models."""
    known: dict[tuple[str, str], Ranges] = {}
    for each in told:
        key = each.model, each.upstream
        known[key] = known.get(key, NOTHING) | each.intervals
    for each in more:
        if left := each.intervals - known.get((each.model, each.upstream), NOTHING):
            yield replace(each, intervals=left)


def _upstreams(
    project: Project,
    shown: Environment,
    then: Mapping[str, Pointer],
    about: Collection[str],
    near: Collection[str],
    entries: EntriesByVersion,
    unlike: Unlike | None,
) -> tuple[StaleInput, ...]:
    """The same by what batches say that they read: rows of one logic."""

    def found(pointers: Mapping[str, Pointer]) -> tuple[StaleInput, ...]:
        part = {name: p for name, p in pointers.items() if name in near}
        return stale_inputs(project, replace(shown, pointers=part), entries, unlike=unlike, about=about)

    before: dict[tuple[str, str], Ranges] = {}
    for each in found(shown.pointers):
        stays = each.intervals & _of_one_logic(shown.pointers[each.model], then[each.model])
        before[each.model, each.upstream] = before.get((each.model, each.upstream), NOTHING) | stays
    return tuple(
        replace(each, intervals=left)
        for each in found(then)
        if (left := each.intervals - before.get((each.model, each.upstream), NOTHING))
    )


def _replaced_under(
    project: Project,
    shown: Environment,
    then: Mapping[str, Pointer],
    readers: Mapping[str, Model],
    of: Callable[[Segment], str],
) -> Iterator[StaleInput]:
    """What stays as it is shown and was computed from rows that others take the place of, within one version: others
    by what segments are `of`. Of another version it is said what it was built from (`mismatches`)."""
    for name, model in readers.items():
        before = shown.pointers.get(name)
        for upstream in model.upstreams if before else ():
            read, above = project.models.get(upstream.name), shown.pointers.get(upstream.name)
            if before is None or read is None or above is None or above.version != then[upstream.name].version:
                continue
            replaced = _apart(above, then[upstream.name], of)
            affected = (affected_interval(model, read, part) for part in replaced)
            if left := Ranges.of(affected) & _untouched(before, then[name]):
                new = next(s for s in then[upstream.name].segments if Ranges((s.interval,)) & replaced)
                yield StaleInput(model=name, intervals=left, upstream=upstream.name, of=replaced, shown=new)


def _apart(one: Pointer, other: Pointer, of: Callable[[Segment], str]) -> Ranges:
    """Where they show rows that segments of different logic, or in different tables, have."""
    if len({of(segment) for pointer in (one, other) for segment in pointer.segments}) < 2:
        return NOTHING
    return Ranges.of(common for a, b, common in one.segments.meetings(other.segments) if of(a) != of(b))


def _untouched(one: Pointer, other: Pointer) -> Ranges:
    """Where both show rows of one table: published ones are never written again. Adopted rows read nothing."""
    met = one.segments.meetings(other.segments)
    return Ranges.of(common for a, b, common in met if a.version == b.version and not is_adopted(a.version))


def _of_one_logic(one: Pointer, other: Pointer) -> Ranges:
    """Where both show rows of the same logic: only of these it is said alike what they read."""
    logics = {segment.logic for segment in one.segments}
    return Ranges.of(
        part for each in logics for part in one.segments.of_logic(each).covers & other.segments.of_logic(each).covers
    )
