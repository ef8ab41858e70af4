"""What does a row of items give? One mark, by the rules of `rewrites` where nobody has to know what binds first."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.sql.signature.keywords import PLAIN, PREDICATES
from backfill_assets.sql.signature.marks import Mark, Opaque, mix
from backfill_assets.sql.signature.nodes import split_and
from backfill_assets.sql.signature.rewrites import COMPARISONS, Item, Literal, comparison, conjunction


def together(items: Sequence[Item]) -> Mark:
    """The mark of a row of items."""
    if len(items) == 1 and isinstance(items[0], Mark):
        return items[0]
    if len(items) == 1 and isinstance(items[0], Literal):
        return mix("literal", items[0].text).typed(items[0].type)
    if not items:
        raise Opaque("nothing where there should be an expression")
    found = {i for i in items if isinstance(i, str) and i[0].isalpha()}
    if "->" in items or not found <= PLAIN:
        return flat(items)
    if "OR" in found:
        return mix("or", *[together(part) for part in _alternatives(items)]).typed("boolean")
    if len(parts := _and_parts(items)) > 1:
        return conjunction(together(part) for part in parts)
    signs = [index for index, item in enumerate(items) if isinstance(item, str) and item in COMPARISONS]
    if len(signs) == 1 and not found & PREDICATES and "!" not in items:  # `!` and NOT take in all of a comparison
        at = signs[0]
        return comparison(flat(items[:at]), str(items[at]), flat(items[at + 1 :]))
    return flat(items)


def flat(items: Sequence[Item]) -> Mark:
    """The mark of items in the order in which they are written."""
    if not items:
        raise Opaque("nothing beside an operator")
    if len(items) == 1 and not isinstance(items[0], str):
        return together(items)
    return mix("tokens", *[["literal", i.text] if isinstance(i, Literal) else i for i in items])


def _and_parts(items: Sequence[Item]) -> list[list[Item]]:
    return split_and(items, lambda item, word: item == word)


def _alternatives(items: Sequence[Item]) -> list[list[Item]]:
    found: list[list[Item]] = [[]]
    for item in items:
        if item == "OR":
            found.append([])
        else:
            found[-1].append(item)
    return found
