"""Does a LEFT JOIN keep the rows of its left side? The rewrite `joins that keep the rows`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backfill_assets.sql.signature.marks import Mark
from backfill_assets.sql.signature.relations import Relation
from backfill_assets.sql.signature.rewrites import Item, Literal
from backfill_assets.sql.types import INTEGERS

_COMPARED_AS_THEY_ARE = frozenset({*INTEGERS, "string", "date", "timestamp", "timestamp_ntz", "boolean", "binary"})


def keeps_rows(conditions: Iterable[Sequence[Item]], number: int, right: Relation) -> bool:
    """Whether a row of the left side finds one partner at most: a key of the right side is compared, without a cast.

    `number`: of the right side among the tables of FROM. A comparison of different types casts one side: then several
    keys (`'1'`, `'01'`) may be equal to one value.
    """
    if right.key is None:
        return False
    fixed: set[str] = set()
    for condition in conditions:
        match condition:
            case [one, ("=" | "==" | "<=>"), other]:
                for mine, theirs in ((one, other), (other, one)):
                    if (column := _column(mine, number)) and _same_type(mine, theirs) and not _column(theirs, number):
                        fixed.add(column)
            case _:
                continue
    return right.key <= fixed


def _column(item: Item, number: int) -> str | None:
    return item.origin[1] if isinstance(item, Mark) and item.origin and item.origin[0] == number else None


def _same_type(mine: Item, theirs: Item) -> bool:
    if isinstance(mine, str) or isinstance(theirs, str):
        return False
    if isinstance(theirs, Mark) and theirs.origin is None:
        return False
    if mine.type is None or mine.type != theirs.type:
        return False
    return mine.type in _COMPARED_AS_THEY_ARE or (mine.type.startswith("decimal(") and not isinstance(theirs, Literal))
