"""What stands for rows or a value? A hash, with the upstream columns that went into it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from backfill_assets.core.digest import digest
from backfill_assets.core.model import ColumnRef, Refs


class Opaque(Exception):
    """The query holds something that cannot be taken apart; what it is."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Equal texts mean equal rows, or equal values in equal rows.

    `type` is the value's Spark type where it is certain. `origin`: the table of FROM (its number) and the column, of a
    mere column of the SELECT that is looked at. Neither goes into the text.
    """

    text: str
    refs: Refs = frozenset()
    type: str | None = None
    origin: tuple[int, str] | None = None

    def typed(self, type_: str | None) -> Mark:
        return replace(self, type=type_)

    def reading(self, refs: Refs) -> Mark:
        """The same, depending on these columns as well."""
        return replace(self, refs=self.refs | refs) if refs else self

    def seen_from_outside(self) -> Mark:
        return replace(self, origin=None) if self.origin else self


def mix(*parts: object) -> Mark:
    """The mark of a structure of marks and plain values."""
    refs: set[ColumnRef] = set()

    def plain(part: object) -> object:
        match part:
            case Mark():
                refs.update(part.refs)
                return ["mark", part.text]
            case list() | tuple():
                return [plain(p) for p in part]
            case _:
                return part

    text = digest(*[plain(p) for p in parts])
    return Mark(text, frozenset(refs))


def in_any_order(marks: Iterable[Mark]) -> list[Mark]:
    """Sorted, each once."""
    return sorted({m.text: m for m in marks}.values(), key=lambda m: m.text)
