"""Which rows that would move were computed from older ones than are shown: of an upstream, or of a source?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.frozen import Frozen
from backfill_assets.plan.older_sources import Computed, History, OlderRows, computed, older_rows
from backfill_assets.plan.stale_inputs import StaleInput, stale_inputs
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion

Entries = Callable[[Collection[str]], EntriesByVersion]
"""Models → what the ledger says of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderReads:
    """What of rows that would move is older than what is shown."""

    upstreams: tuple[StaleInput, ...] = ()
    """What would be shown beside other rows of an upstream than it was computed from, and is not shown so by now."""
    sources: tuple[OlderRows, ...] = ()
    """What would be put over rows that were computed from a newer state of a source, in which they are others."""
    to_come: tuple[OlderRows, ...] = ()
    """The same of what is not built yet, and is to be read as an open plan froze it."""


def older_reads(
    project: Project,
    facts: Facts,
    moving: Sequence[Pointer],
    entries: Entries,
    history: History,
    frozen: Sequence[Frozen] = (),
) -> OlderReads:
    """What is built of pointers that would move, and what is to be built from sources as a plan has `frozen` them."""
    shown = facts.environment
    then = {**shown.pointers, **{p.model: p for p in moving}}
    ours = {p.model: project.models[p.model] for p in moving if p.model in project.models}
    beside = {u.name for model in ours.values() for u in model.upstreams if u.name in then}
    if not beside and not ours.keys() & shown.pointers.keys():
        return OlderReads()
    said = entries(ours.keys() | beside)
    reach = facts.settling.reach if facts.settling else {}
    rows = [row for p in moving if p.model in ours for row in computed(said, p, shown.pointers.get(p.model))]
    to_come = [
        Computed(model=f.model, interval=part, read=f.sources, began=facts.now) for f in frozen for part in f.intervals
    ]
    return OlderReads(
        upstreams=_upstreams(project, shown, then, ours, ours.keys() | beside, said) if beside else (),
        sources=older_rows(project, shown, rows, said, history, reach, facts.zones),
        to_come=older_rows(project, shown, to_come, said, history, reach, facts.zones) if to_come else (),
    )


def _upstreams(
    project: Project,
    shown: Environment,
    then: Mapping[str, Pointer],
    ours: Collection[str],
    near: Collection[str],
    entries: EntriesByVersion,
) -> tuple[StaleInput, ...]:
    def found(pointers: Mapping[str, Pointer]) -> tuple[StaleInput, ...]:
        part = {name: p for name, p in pointers.items() if name in near}
        return stale_inputs(project, replace(shown, pointers=part), entries)

    before: dict[tuple[str, str], Ranges] = {}
    for each in found(shown.pointers):
        if each.model in ours:
            stays = each.intervals & _of_one_logic(shown.pointers[each.model], then[each.model])
            before[each.model, each.upstream] = before.get((each.model, each.upstream), NOTHING) | stays
    return tuple(
        replace(each, intervals=left)
        for each in found(then)
        if each.model in ours and (left := each.intervals - before.get((each.model, each.upstream), NOTHING))
    )


def _of_one_logic(one: Pointer, other: Pointer) -> Ranges:
    """Where both show rows of the same logic: only of these it is said alike what they read."""
    logics = {segment.logic for segment in one.segments}
    return Ranges.of(
        part for each in logics for part in one.segments.of_logic(each).covers & other.segments.of_logic(each).covers
    )
