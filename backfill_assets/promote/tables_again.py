"""Which rows of a table that is shown again were computed before something came to a source that what is shown beside
them has read?

A model whose code was reverted, or whose candidate waited, takes its table of before. Where what it reads has other
logic by now, of which it reads nothing, its batches say nothing of the rows that are shown beside them, and nothing
compares their data, as is done for models that keep the table that is shown. What came to the sources tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.reach import reach
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.older_sources import History, came_between
from backfill_assets.plan.stale_inputs import StaleInput, stale_inputs
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion, Entry, Kind, models_read


def reads_before(
    project: Project,
    shown: Environment,
    then: Mapping[str, Pointer],
    about: Mapping[str, Ranges],
    known: EntriesByVersion,
    entries: Callable[[Collection[str]], EntriesByVersion],
    history: History,
    late: Mapping[str, timedelta],
) -> tuple[StaleInput, ...]:
    """What of the models that it is `about` would be shown `then` in a table that is not shown now, beside rows of
    which something had come to the sources in between. `known` are the entries of these models and of what they read,
    `entries` asks for more; `late`: by model, how much earlier than a source says what came to it may belong."""
    again = [
        name
        for name in about
        if (name not in shown.pointers or shown.pointers[name].version != then[name].version)
        and _reads_other_logic(project.models[name], then, known)
    ]
    if not again:
        return ()
    names = {*again, *(u.name for n in again for u in project.models[n].upstreams)}
    above = reach(again, lambda n: upstream_models(project, project.models[n]))
    read = {name for n in again for entry in _batches(then[n], known) for name in models_read(entry)}
    more = {*above, *read} - {name for name, _ in known}
    every = {**known, **entries(more)} if more else known
    seen = replace(shown, pointers={name: p for name, p in then.items() if name in names})
    came = came_between(project, history, late)
    there = {n: {s.version for s in shown.pointers[n].segments} for n in again if n in shown.pointers}
    out = {n: Ranges.of(s.interval for s in then[n].segments if s.version not in there.get(n, ())) for n in again}
    return tuple(
        replace(each, intervals=left)
        for each in stale_inputs(project, seen, every, came)
        if each.model in again and (left := each.intervals & about[each.model] & out[each.model])
    )


def _reads_other_logic(model: Model, then: Mapping[str, Pointer], known: EntriesByVersion) -> bool:
    """Whether a batch of the model's table may have read an upstream by other logic than would be shown, or by a name
    that it has no more."""
    logics = {u.name: {s.logic for s in then[u.name].segments} for u in model.upstreams if u.name in then}
    return any(
        len(there := logics.get(name, ())) != 1 or logic_of(version) not in there
        for entry in _batches(then[model.name], known)
        for name, version in models_read(entry).items()
    )


def _batches(pointer: Pointer, known: EntriesByVersion) -> Iterator[Entry]:
    """Those that built the tables of what a pointer shows."""
    for version in dict.fromkeys(segment.version for segment in pointer.segments):
        yield from (entry for entry in known.get((pointer.model, version), ()) if entry.kind is Kind.BUILT)
