"""Is what a pointer shows still readable, in full? Every file of every segment, without opening Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import random

from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.promote.changed_rows import cadence_of
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.ledger import DECIDING, Ledger, by_version
from backfill_assets.state.table_contents import difference
from backfill_assets.state.tables import Readable, TableLog, TableStorage, vouched
from backfill_assets.state.view_types import two_types

_AT_ONCE = 8
"""Segments that are looked at side by side: in an object store each look waits."""
_OF_KNOWN = 2
"""The same of those whose files are remembered, which are on a disk: more threads would wait for one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readability:
    """What was found of one model's pointer."""

    model: str
    segments: int
    files: int
    rows: int
    bytes: int
    broken: tuple[str, ...]
    """What cannot be read, and why."""
    red: Ranges
    """Intervals whose rows the ledger does not vouch for (any more)."""
    damaged: Mapping[str, Ranges]
    """What of `broken` there is about each segment, and its intervals: starts only, where single files are."""


def rehearse(
    pointers: Sequence[Pointer],
    storage: TableStorage,
    log: TableLog,
    ledger: Ledger | None,
    *,
    footers: bool = True,
    most: int | None = None,
) -> list[Readability]:
    """Look at every file that the pointers show (`footers`: into them), and at what the ledger says of every
    interval (None: at files only, nothing is `red`).

    `most`: about so many files are looked at, beside those with which something is wrong; the segments that nobody
    looked at for longest come first, and of those that are left out nothing is said. Where nobody remembers when that
    was, all are looked at.
    """
    groups = by_version(ledger.entries([p.model for p in pointers], kinds=DECIDING)) if pointers and ledger else {}

    def one(pointer: Pointer, segment: Segment) -> tuple[Readable, Ranges]:
        model, version, commit = pointer.model, segment.version, segment.commit
        good = Ranges((segment.interval,))
        try:
            if ledger:
                known = groups.get((model, version), [])
                good = vouched(known, log, model=model, version=version, commit=commit, partial=True)
            else:
                log.head(model, version)  # a log that is not whole is damage, too
        except StateError as error:
            return Readable(broken=(f"{error.what}: {error.why}",)), NOTHING
        found = storage.readable(model, version, commit, segment.interval, footers=footers)
        if lossy := two_types(replace(pointer, segments=(segment,))):
            return replace(found, broken=tuple(f"{each} {each.intervals}" for each in lossy)), NOTHING
        counted = None if found.broken or segment.held is None else log.contents(model, version, commit)
        if counted and (why := difference(segment, counted)):
            found = replace(found, broken=(f"commit {commit} of {version} has {why}",))
        return found, Ranges((segment.interval,)) - good

    shown = [(pointer, segment) for pointer in pointers for segment in pointer.segments]
    found: dict[int, tuple[Readable, Ranges]] = {}
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        for turn in _in_turn(shown, storage) if most is not None else [range(len(shown))]:
            if most is not None and sum(seen.files for seen, _ in found.values() if not seen.broken) >= most:
                break
            found |= zip(turn, pool.map(lambda at: one(*shown[at]), turn), strict=True)
    places = iter(range(len(shown)))
    return [_proof(pointer, [found.get(next(places)) for _ in pointer.segments]) for pointer in pointers]


def _proof(pointer: Pointer, looked: Sequence[tuple[Readable, Ranges] | None]) -> Readability:
    """What was found of a pointer, of each of its segments; None: it was left out."""
    mine = [(segment, *found) for segment, found in zip(pointer.segments, looked, strict=True) if found is not None]
    return Readability(
        model=pointer.model,
        segments=len(mine),
        files=sum(r.files for _, r, _ in mine),
        rows=sum(r.rows for _, r, _ in mine),
        bytes=sum(r.bytes for _, r, _ in mine),
        broken=tuple(problem for _, r, _ in mine for problem in r.broken),
        red=Ranges.of(part for *_, red in mine for part in red),
        damaged={"; ".join(r.broken[:3]): r.damaged(s.interval) for s, r, _ in mine if r.broken},
    )


def _in_turn(shown: Sequence[tuple[Pointer, Segment]], storage: TableStorage) -> Iterator[Sequence[int]]:
    """Places of segments, some at a time: first all of which nobody remembers when they were looked at, then the
    others, longest ago first. By chance among those of one time: what cannot be remembered hides no other for ever."""
    looks = [storage.last_look(pointer.model, s.version, s.interval) for pointer, s in shown]
    known = sorted((look, random(), at) for at, look in enumerate(looks) if look is not None)
    yield [at for at, look in enumerate(looks) if look is None]
    for first in range(0, len(known), _OF_KNOWN):
        yield [at for *_, at in known[first : first + _OF_KNOWN]]


def damages(project: Project, proofs: Sequence[Readability]) -> dict[str, dict[str, Ranges]]:
    """Model → what is wrong with files → whole intervals that they are of."""
    return {
        p.model: {
            what: Ranges.of(cadence_of(project, p.model).cover(part) for part in parts)
            for what, parts in p.damaged.items()
        }
        for p in proofs
        if p.damaged
    }


def unreadable(proofs: Sequence[Readability]) -> list[Obstacle]:
    """What forbids to show these pointers, whatever somebody wants."""
    return [
        Obstacle(
            model=proof.model,
            what=f"{len(proof.broken)} files cannot be read: {'; '.join(proof.broken[:3])}",
            remedy="restore the files from a backup, or go back to another release",
        )
        for proof in proofs
        if proof.broken
    ]


def doubtful(proofs: Sequence[Readability]) -> list[Obstacle]:
    """What is there, but failed an audit since or is not what the ledger knows."""
    return [
        Obstacle(
            model=proof.model,
            what="since then an audit has failed, or they were withdrawn, or somebody else has written them:",
            intervals=proof.red,
            remedy="go back to another release; --now shows them as they are",
        )
        for proof in proofs
        if proof.red
    ]
