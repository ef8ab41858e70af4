"""Is what a pointer shows still readable, in full? Every file of every segment, without opening Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

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
    pointers: Sequence[Pointer], storage: TableStorage, log: TableLog, ledger: Ledger | None, *, footers: bool = True
) -> list[Readability]:
    """Look at every file that the pointers show (`footers`: into them), and at what the ledger says of every
    interval (None: at files only, nothing is `red`)."""
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

    proofs: list[Readability] = []
    with ThreadPoolExecutor(max_workers=8) as pool:
        for pointer in pointers:
            found = list(pool.map(one, [pointer] * len(pointer.segments), pointer.segments))
            proofs.append(
                Readability(
                    model=pointer.model,
                    segments=len(found),
                    files=sum(r.files for r, _ in found),
                    rows=sum(r.rows for r, _ in found),
                    bytes=sum(r.bytes for r, _ in found),
                    broken=tuple(problem for r, _ in found for problem in r.broken),
                    red=Ranges.of(part for _, red in found for part in red),
                    damaged={
                        "; ".join(r.broken[:3]): r.damaged(s.interval)
                        for s, (r, _) in zip(pointer.segments, found, strict=True)
                        if r.broken
                    },
                )
            )
    return proofs


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
