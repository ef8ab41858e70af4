"""What do models really give? The form of a result, and what an engine has to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from backfill_assets_tests.fuzz.case import Models, TableSpec

Rows = Mapping[str, tuple[tuple[object, ...], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A table: types by lower-cased column name, in order; values as text that only equal values share."""

    types: Mapping[str, str]
    rows: tuple[tuple[str, ...], ...]

    def of(self, columns: Sequence[str]) -> Counter[tuple[str, ...]]:
        """The rows of some columns, in no order."""
        at = [list(self.types).index(c) for c in columns]
        return Counter(tuple(row[i] for i in at) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The engine refused the query (`invalid`), or it failed while it ran."""

    why: str
    invalid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Models over tables. `only`: whose results are wanted."""

    models: Models
    tables: Mapping[str, TableSpec]
    rows: Rows = field(repr=False)
    only: tuple[str, ...]


class Engine(Protocol):
    name: str

    def run(self, worlds: Sequence[World], permutation: int = 0) -> list[Mapping[str, Result | Failure]]:
        """The results of each world's models. `permutation`: 0, or in which other order tables give their rows; then
        each model's rows are written down, in some order, before others read them."""
        ...


def permuted(rows: Sequence[tuple[object, ...]], permutation: int) -> list[tuple[object, ...]]:
    found = sorted(rows, key=repr) if permutation else list(rows)
    if permutation > 1:
        Random(permutation).shuffle(found)
    return found
