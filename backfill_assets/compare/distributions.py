"""How do the rows of both sides spread over the values of a column? SQL that counts them, and what its rows say.

Few distinct values, and all that is no number, are told by the most common ones; numbers by a histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from backfill_assets.compare.answer import Cells
from backfill_assets.compare.diff import Distribution
from backfill_assets.compare.profile import TOTAL, rows_of
from backfill_assets.compare.query import Comparison

COMMON = 10
"""The most common values that are told; numbers with no more distinct ones are told by them too."""
BINS = 24
"""Of a histogram, beside its two ends."""
TEXT = 60
"""Characters of a value: values that share as many count as one."""
Edges = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNumbers:
    """What is known of a column's numbers on both sides: distinct ones, bounds, 1st and 99th percentile."""

    distinct: int
    whole: bool = False
    """Whether they are whole numbers: a bin holds as many of them as the next."""
    bounds: tuple[float, ...]
    percentiles: tuple[float, ...]


def edges(held: KnownNumbers) -> Edges:
    """The edges of a histogram's bins, all as wide; () where the most common values tell more.

    They lie between the 1st and the 99th percentile: a single value far off would leave all others in one bin.

    >>> edges(KnownNumbers(distinct=90, bounds=(0.0, 1e9), percentiles=(1.0, 25.0)))[:3]
    (1.0, 2.0, 3.0)
    >>> edges(KnownNumbers(distinct=3, bounds=(0.0, 9.0), percentiles=(0.0, 9.0)))
    ()
    """
    if held.distinct <= COMMON:
        return ()
    for least, most in (_ends(held.percentiles), _ends(held.bounds)):
        width = (most - least) / BINS
        if held.whole and math.isfinite(width):
            width = max(float(math.ceil(width)), 1.0)
        found = tuple(float(f"{least + n * width:.12g}") for n in range(BINS + 1) if least + (n - 1) * width < most)
        if len(found) > 1 and math.isfinite(found[-1]) and all(one < other for one, other in pairwise(found)):
            return found
    return ()


def chosen(query: Comparison, found: Cells, columns: Iterable[int]) -> dict[int, Edges]:
    """Of these columns those of which a distribution is told, with the edges of their histograms."""
    plain = [i for i in columns if not (c := query.columns[i].column).key and not c.masked and c.kind != "nested"]
    return {i: edges(_held(query, i, found)) for i in plain}


def counted(query: Comparison, old: str, new: str, asked: Mapping[int, Edges], one_in: int) -> str | None:
    """A row per column and value or bin: `bf_column`, `bf_value`, `bf_old` and `bf_new` rows, and `bf_all_old` and
    `bf_all_new` of the column; the most common values of each only. None where nothing is `asked`."""
    if not asked:
        return None
    values = ", ".join(f"{i}, {_bin(i, at) if at else _text(query, i)}" for i, at in asked.items())
    return (
        "SELECT * FROM (SELECT *, sum(bf_old) OVER (PARTITION BY bf_column) AS bf_all_old, "
        "sum(bf_new) OVER (PARTITION BY bf_column) AS bf_all_new, "
        "row_number() OVER (PARTITION BY bf_column ORDER BY bf_old + bf_new DESC, bf_value) AS bf_rank FROM ("
        "SELECT bf_column, bf_value, count_if(bf_side = 'old') AS bf_old, count_if(bf_side = 'new') AS bf_new FROM ("
        f"SELECT bf_side, stack({len(asked)}, {values}) AS (bf_column, bf_value) "
        f"FROM ({rows_of(query, old, new, one_in=one_in)})) GROUP BY bf_column, bf_value)) "
        f"WHERE bf_rank <= {max(COMMON, BINS + 3)}"
    )


def told(
    query: Comparison, asked: Mapping[int, Edges], found: Iterable[Mapping[str, Any]], one_in: int
) -> tuple[Distribution, ...]:
    """What the rows of `counted` say, by column."""
    by_column: dict[int, list[Mapping[str, Any]]] = {i: [] for i in sorted(asked)}
    for row in sorted(found, key=lambda r: r["bf_rank"]):
        by_column[row["bf_column"]].append(row)
    return tuple(
        _distribution(query.columns[i].column.name, asked[i], rows, one_in) for i, rows in by_column.items() if rows
    )


def _held(query: Comparison, i: int, found: Cells) -> KnownNumbers:
    sides = [found.get((TOTAL, side, None), {}) for side in ("old", "new")]
    distinct = max(side.get(f"distinct{i}") or 0 for side in sides)
    if query.columns[i].column.kind == "text":
        return KnownNumbers(distinct=distinct, bounds=(), percentiles=())
    bounds = [side.get(f"{end}{i}") for side in sides for end in ("min", "max")]
    percentiles = [p for side in sides for p in (side.get(f"percentiles{i}") or ())[2:]]
    whole = query.columns[i].column.kind == "integer"
    return KnownNumbers(distinct=distinct, whole=whole, bounds=_numbers(bounds), percentiles=_numbers(percentiles))


def _numbers(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(float(v) for v in values if v is not None)


def _distribution(name: str, at: Edges, rows: Sequence[Mapping[str, Any]], one_in: int) -> Distribution:
    if at:
        bins = {int(row["bf_value"]): row for row in rows if row["bf_value"] is not None}
        old, new = (
            tuple(bins[n][side] if n in bins else 0 for n in range(len(at) + 1)) for side in ("bf_old", "bf_new")
        )
        return Distribution(column=name, edges=at, old=old, new=new, one_in=one_in)
    common = rows[:COMMON]
    old, new = (
        (*(row[side] for row in common), rows[0][whole] - sum(row[side] for row in common))
        for side, whole in (("bf_old", "bf_all_old"), ("bf_new", "bf_all_new"))
    )
    return Distribution(column=name, values=tuple(row["bf_value"] for row in common), old=old, new=new, one_in=one_in)


def _bin(i: int, at: Edges) -> str:
    """The number of edges that a value is not below, as text; NULL of NaN, which is larger than all in Spark."""
    number = f"CAST(c{i} AS DOUBLE)"
    passed = " + ".join(f"CAST({number} >= {edge!r}D AS INT)" for edge in at)
    return f"IF(isnan({number}), NULL, CAST({passed} AS STRING))"


def _text(query: Comparison, i: int) -> str:
    return f"left({query.text(i, f'c{i}')}, {TEXT})"


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return (min(values), max(values)) if values else (math.nan, math.nan)
