"""Which texts count as the same? Rules for conditions, lists and calls, by their names in docs/categories.md.

What is listed there with what it needs and why it is so is all that is seen through: other tokens are a difference. Each
is proved in Spark on small tables with NULLs, duplicates, ties, mixed case and texts that look like numbers
(`backfill_assets_tests/spark/test_signature_spark.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backfill_assets.sql.signature.marks import Mark, in_any_order, mix


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as it is written."""

    text: str

    @property
    def is_string(self) -> bool:
        return self.text[0] in "'\""

    @property
    def type(self) -> str | None:
        if self.is_string:
            return "string"
        return "int" if self.text.isdigit() and int(self.text) < 2**31 else None


Item = str | Mark | Literal
"""A word or symbol, the mark of a column, call or bracket, or a literal: an expression is a row of them."""

_TURNED = {">": "<", ">=": "<="}
_SPELLED = {"==": "=", "!=": "<>"}
_EITHER_WAY = ("=", "<>", "<=>")
COMPARISONS = frozenset({"=", "==", "<>", "!=", "<=>", "<", "<=", ">", ">="})


def comparison(left: Mark, sign: str, right: Mark) -> Mark:
    """`sides of a comparison`, `signs`."""
    sign = _SPELLED.get(sign, sign)
    if sign in _TURNED:
        left, sign, right = right, _TURNED[sign], left
    sides = sorted((left, right), key=lambda m: m.text) if sign in _EITHER_WAY else [left, right]
    return mix("compare", sign, *sides).typed("boolean")


def conjunction(parts: Iterable[Mark]) -> Mark:
    """`order of conditions`."""
    return mix("and", *in_any_order(parts)).typed("boolean")


def listed(items: Sequence[Item], marks: Sequence[Mark]) -> list[Mark]:
    """`IN lists`: the entries of an IN list and their marks."""
    literals = [i for i in items if isinstance(i, Literal)]
    alike = len(literals) == len(items) and (
        all(i.is_string for i in literals) or all(i.text.isdigit() and i.type for i in literals)
    )
    return in_any_order(marks) if alike else list(marks)


def function_name(name: str, arguments: int) -> str:
    """`first of two`."""
    return "COALESCE" if name in ("NVL", "IFNULL") and arguments == 2 else name


def counts_rows(name: str, argument: Sequence[Item]) -> bool:
    """`counts`."""
    return name == "COUNT" and list(argument) in (["*"], [Literal("1")])
