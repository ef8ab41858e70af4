"""Does the code only rename columns of what is shown? Then the rows that are shown are copied under the new names.

Both texts compute the same rows, and each column of the new one is exactly one of the old: signatures prove it. So what
the environment shows of the old version, at the commits that its pointer names, is what the new text would compute from
the same inputs. Where anything is in doubt, rows are computed. See decision 0035.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from backfill_assets.core.interval_index import IntervalIndex
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import UNKNOWN, Model, Project, Signature
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments, logic_of
from backfill_assets.plan.copied import NO_COPY, Copied
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.missing import batches, split_open
from backfill_assets.project.algorithm import ALGORITHM, taken_whole
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.shown_state import ShownPart, ShownState


def renaming(project: Project, facts: Facts, name: str) -> Copied | None:
    """What of a model is shown that its code computes under other names, and does nothing else to; None where nothing
    is, or nobody can prove it."""
    pointer = facts.environment.pointers.get(name)
    if pointer is None or pointer.version == project.fingerprints[name]:
        return None
    if facts.shown.algorithms.get(name) != ALGORITHM:
        return None
    if any(name in (word.model, *word.reaches) for word in project.overrides.values()):
        return None
    if not _same_upstreams(project, facts, project.models[name]):
        return None
    columns = _paired(facts.shown.signature(name), project.signatures.get(name, UNKNOWN), pointer)
    segments = _good(project, project.models[name], pointer, facts.standing.get(name, ShownState()))
    if not columns or not segments or _another_key(project.models[name], columns):
        return None
    return Copied(version=project.fingerprints[name], segments=segments, columns=columns)


def still_copied(project: Project, facts: Facts, name: str, planned: Copied, intervals: Ranges) -> Copied:
    """What of a stored plan's copies holds by now, from what is shown by now; the rest is computed."""
    found = renaming(project, facts, name)
    if found is None or (found.version, found.columns) != (planned.version, planned.columns):
        return NO_COPY
    fit = can_be_copied(project.models[name], intervals, facts.tables.coverage[name].refused, facts.now)
    return found.cut(planned.covers & fit)


def outdated(have: Coverage, shown: ShownState) -> Ranges:
    """The intervals that were copied from what was shown once, where rows of the same logic, but of another batch, are
    shown by now: a correction came between."""
    found: list[Interval] = []
    parts = IntervalIndex((part.interval, part) for part in shown.parts)
    for interval, entry in have.sources:
        if entry.origin is None:
            continue
        for _, part in parts.meeting(interval):
            now = part.entry and part.entry.computed_by
            if now and logic_of(now.version) == logic_of(entry.origin.version) and now.batch != entry.origin.batch:
                found.extend(Ranges((part.interval,)) & Ranges((interval,)))
    return Ranges.of(found)


def batches_apart(model: Model, intervals: Ranges, now: datetime, copied: Copied) -> tuple[Interval, ...]:
    """The intervals cut into batches, each copied or computed as a whole."""
    parts = (intervals & copied.covers, intervals - copied.covers)
    return tuple(sorted(batch for part in parts for batch in batches(model, part, now)))


def can_be_copied(model: Model, intervals: Ranges, refused: Sequence[tuple[Interval, str]], now: datetime) -> Ranges:
    """Which of the intervals that are to be built may be copied: they are over, and no copy of them was refused (an
    audit failed) before."""
    return split_open(model, intervals, now)[0] - Ranges.of(part for part, _ in refused)


def _paired(old: Signature, new: Signature, pointer: Pointer) -> tuple[tuple[str, str], ...]:
    """Each new column with the shown one that it is, when that is one alone and some have other names; else nothing."""
    if UNKNOWN in (old, new) or old.code or new.code or taken_whole(old) or taken_whole(new) or old.rows != new.rows:
        return ()
    listed = {column.lower() for column, _ in pointer.columns}
    found: list[tuple[str, str]] = []
    for column, meaning in new.columns.items():
        same = [c for c, other in old.columns.items() if other == meaning and c in listed]
        same = [column] if column in same else same
        if len(same) != 1:
            return ()
        found.append((same[0], column))
    taken = [before for before, _ in found]
    return tuple(found) if len(set(taken)) == len(taken) and any(b != n for b, n in found) else ()


def _another_key(model: Model, columns: Sequence[tuple[str, str]]) -> bool:
    """Whether a merge would go by columns that it did not go by before: whether their keys are single, only computing
    finds out."""
    grain = {column.lower() for column in model.grain}
    return model.write == "merge" and any(old != new and new in grain for old, new in columns)


def _same_upstreams(project: Project, facts: Facts, model: Model) -> bool:
    """Whether all models that it reads are shown in the versions that the code says."""
    above = [u.name for u in model.upstreams if u.name in project.models]
    shown = facts.environment.pointers
    return all(name in shown and shown[name].version == project.fingerprints[name] for name in above)


def _good(project: Project, model: Model, pointer: Pointer, known: ShownState) -> Segments:
    """What is shown of the newest logic, corrections included, that was computed (not adopted) from what the code
    reads, and of which nothing bad is known."""
    foreign = Ranges.of(part for found in known.foreign.values() for part in found)
    bad = known.failed | foreign | known.unknown | known.partial | pointer.segments.adopted.covers
    mine = (p for p in known.of(pointer.version) if not p.segment.columns and _read_the_same(project, model, p))
    return Segments(replace(p.segment, held=None) for p in mine).without(bad).joined()


def _read_the_same(project: Project, model: Model, part: ShownPart) -> bool:
    """Whether a part's batch read just the tables that the model reads, models in the versions that the code says, and
    no rows of another logic beside."""
    said = cast("Mapping[str, Mapping[str, Any]]", (part.entry.inputs if part.entry else None) or {})
    if set(said) != {u.name for u in model.upstreams}:
        return False
    return all(
        logic_of(str(one.get("version", ""))) == project.fingerprints[name]
        for name, read in said.items()
        if name in project.models
        for one in (read, *read.get("over", ()))
    )
