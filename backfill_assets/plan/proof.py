"""Is it true that a model need not be rebuilt? What it reads of a changed upstream must be the same data, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.intervals import Ranges
from backfill_assets.plan.category import Category
from backfill_assets.plan.stages import Plan
from backfill_assets.plan.why import reads_of
from backfill_assets.snapshots.model import UNKNOWN, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Models that keep their tables although an upstream gets another, because these columns of it are unchanged."""

    upstream: str
    readers: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Intervals in which they are not: the data that the upstream reads changed since it was built."""

    kept: Kept
    intervals: Ranges
    again: Mapping[str, Ranges]
    """The intervals of each reader that were built from the old values."""

    def __str__(self) -> str:
        columns = ", ".join(self.kept.columns)
        days = " ".join(f"--restate {reader}:{part}" for reader, parts in self.again.items() for part in parts)
        readers = ", ".join(self.again)
        return (
            f"{self.kept.upstream} has other values of {columns} in {self.intervals} than what is shown: what it reads"
            f" changed since.\n  {readers} would keep the old ones. After the promotion: backfill apply {days}"
        )


def kept_readers(project: Project, plan: Plan) -> list[Kept]:
    """What has to be compared before the plan's models move, one entry for each upstream that changed."""
    found: list[Kept] = []
    for name, change in plan.changes.items():
        if change.rows or change.category in (Category.NEW, Category.UNCHANGED):
            continue
        readers: list[str] = []
        columns: set[str] = set()
        for reader in project.downstream(name):
            own = plan.changes.get(reader)
            reads = reads_of(project.signatures.get(reader, UNKNOWN), name)
            if own is not None and own.category is Category.UNCHANGED and reads:
                readers.append(reader)
                columns |= set(reads)
        if readers:
            found.append(Kept(upstream=name, readers=tuple(readers), columns=tuple(sorted(columns))))
    return found
