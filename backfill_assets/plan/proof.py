"""Is it true that a model need not be rebuilt? What it reads of a changed upstream must be the same data, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import UNKNOWN, Override, Project
from backfill_assets.plan.category import Category, affects
from backfill_assets.plan.commands import restate_all
from backfill_assets.plan.reasons import reads_of
from backfill_assets.plan.stages import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptModels:
    """Models that keep their tables although an upstream gets another, because these columns of it are unchanged.

    `word` is there when they are so by the word of the upstream's author; then there may be no reader.
    """

    upstream: str
    readers: tuple[str, ...]
    columns: tuple[str, ...]
    word: Override | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Intervals in which they are not: the data that the upstream reads changed since it was built."""

    kept: KeptModels
    intervals: Ranges
    again: Mapping[str, Ranges]
    """The intervals of each reader that were built from the old values."""

    def __str__(self) -> str:
        if self.kept.word:
            return self._broken_word(self.kept.word)
        columns = self.kept.columns
        which = columns[0] if len(columns) == 1 else f"one or more of {', '.join(columns)}"
        return (
            f"{self.kept.upstream} has other values of {which} in {self.intervals} than what is shown: what it reads"
            f" changed since.\n  {', '.join(self.again)} would keep the old ones. After the promotion: "
            f"{restate_all(self.again)}"
        )

    def _broken_word(self, word: Override) -> str:
        return (
            f"{word.model} is not the same as version {word.version} in {', '.join(word.columns)}: other rows or values"
            f" in {self.intervals}\n  {word.place} says that it is: {word.reason}\n  Remove `same_as` there, or name"
            " fewer columns; unless what it reads changed since that version was built."
        )


def kept_readers(project: Project, plan: Plan) -> list[KeptModels]:
    """What has to be compared before the plan's models move, one entry for each upstream that changed."""
    found: list[KeptModels] = []
    for name, change in plan.changes.items():
        if change.rows or change.category in (Category.NEW, Category.UNCHANGED):
            continue
        readers: list[str] = []
        columns: set[str] = set()
        for reader in project.downstream(name):
            own = plan.changes.get(reader)
            reads = reads_of(project.signatures.get(reader, UNKNOWN), name)
            same = set(reads) - affects(change, frozenset(reads))  # the rest is the word of the reader's author
            if own is not None and own.category is Category.UNCHANGED and same:
                readers.append(reader)
                columns |= same
        word = next((w for w in plan.overrides if w.model == name), None)
        if word is not None:
            found.append(KeptModels(upstream=name, readers=(), columns=word.columns, word=word))
        if readers:
            found.append(KeptModels(upstream=name, readers=tuple(readers), columns=tuple(sorted(columns))))
    return found
