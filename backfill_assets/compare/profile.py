"""What does each side hold, without looking at the other? SQL for counts, sums, bounds, sketches, and fingerprints.

Every row of an answer says what it is about: `bf_side`, `bf_set` (TOTAL, DAY, or the number of a slice), `bf_group`.
"""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.compare.equality import sql_type
from backfill_assets.compare.query import SIDES, SLICE_VALUES, Comparison

TOTAL, DAY = -2, -1
Part = tuple[str, str, str]
"""A number's name, how rows give it, and how the numbers of several groups are added up."""
PERCENTILES = (0.5, 0.95, 0.01, 0.99)
"""The first two are told; a histogram lies between the last two."""


def by_day(query: Comparison, old: str, new: str) -> str:
    """Each day of each side, and their total: `bf_rows`, `null_rows`, per column `nulls<i>`, `sum<i>`, `min<i>`,
    `max<i>`, `distinct<i>`; and fingerprints (of the keys `bf_keys`, of each column with its key `hash<i>`).

    One pass by day; the days are added up to the total.
    """
    parts = [
        ("bf_rows", "count(*)", "sum(bf_rows)"),
        ("null_rows", "count_if(bf_null)", "sum(null_rows)"),
        ("bf_keys", "bit_xor(bf_h)", "bit_xor(bf_keys)"),
        *(part for i in range(len(query.columns)) for part in (*_hashed(query, i), *_parts(query, i))),
    ]
    return (
        f"SELECT bf_side, IF(grouping(bf_group) = 1, {TOTAL}, {DAY}) AS bf_set, CAST(bf_group AS STRING) AS bf_group, "
        f"{_above(parts)} FROM ("
        f"SELECT bf_side, {query.date(f'c{query.time}')} AS bf_group, {_inside(parts)} "
        f"FROM ({rows_of(query, old, new)}) GROUP BY 1, 2) "
        "GROUP BY bf_side, bf_group GROUPING SETS ((bf_side), (bf_side, bf_group))"
    )


def by_slice(query: Comparison, number: int, old: str, new: str, columns: Sequence[int]) -> str:
    """What each value of a slice holds of these columns. One of very many values is cut off, by their order."""
    parts = [("bf_rows", "count(*)", "sum(bf_rows)")]
    parts += [part for i in columns for part in (*_parts(query, i), *_percentiles(query, i))]
    value = query.text(query.slices[number], f"c{query.slices[number]}")
    return (
        f"SELECT bf_side, {number} AS bf_set, bf_group, {_above(parts)} FROM ("
        "SELECT *, dense_rank() OVER (ORDER BY bf_group) AS bf_rank FROM ("
        f"SELECT bf_side, {value} AS bf_group, {_inside(parts)} FROM ({rows_of(query, old, new)}) GROUP BY 1, 2)) "
        f"WHERE bf_rank <= {SLICE_VALUES + 1} GROUP BY bf_side, bf_group"
    )


def percentiles(
    query: Comparison, old: str, new: str, columns: Sequence[int], *, days: bool, one_in: int
) -> str | None:
    """`percentiles<i>` of these columns, in total or by day; None when none of them has any.

    A value costs ten times what a sum does, so of many rows one in so many is taken.
    """
    parts = [part for i in columns for part in _percentiles(query, i)]
    if not parts:
        return None
    group = query.day(f"c{query.time}") if days else "CAST(NULL AS STRING)"
    return (
        f"SELECT bf_side, {DAY if days else TOTAL} AS bf_set, {group} AS bf_group, {_inside(parts)} "
        f"FROM ({rows_of(query, old, new, one_in=one_in)}) GROUP BY 1, 2, 3"
    )


def repeated(query: Comparison, old: str, new: str) -> str:
    """How many keys (by their hashes) are there more than once on a side: `bf_repeated`."""
    return (
        f"SELECT count(*) AS bf_repeated FROM (SELECT 1 FROM ({rows_of(query, old, new)}) "
        "GROUP BY bf_side, bf_h HAVING count(*) > 1)"
    )


def rows_of(query: Comparison, old: str, new: str, *, one_in: int = 1) -> str:
    """The rows of both sides: `bf_side`, each column as `c<i>`, a hash of the key, and whether any of that is NULL.
    All of them, or one in so many, by that hash: the same keys on both sides."""
    # xxhash64 passes over NULLs: (NULL, 1) has the hash of (1, NULL) unless it is told.
    key = f"xxhash64({', '.join(f'c{i}, c{i} IS NULL' for i in query.keys)}) AS bf_h"
    null = f"{' OR '.join(f'c{i} IS NULL' for i in query.keys)} AS bf_null"
    sides = (
        f"SELECT '{name}' AS bf_side, {', '.join(_read(query, i, s) for i in range(len(query.columns)))} FROM ({rows})"
        for (name, s), rows in zip(SIDES, (old, new), strict=True)
    )
    rows = f"SELECT *, {key}, {null} FROM ({' UNION ALL '.join(sides)})"
    return f"SELECT * FROM ({rows}) WHERE pmod(bf_h, {one_in}) = 0" if one_in > 1 else rows


def _read(query: Comparison, i: int, side: str) -> str:
    column = query.columns[i]
    if not query.has(i, side):
        value = f"CAST(NULL AS {'BOOLEAN' if column.column.kind == 'nested' else sql_type(column.type)})"
    elif column.column.kind == "nested":
        value = f"nullif({query.read(i, side)} IS NULL, true)"  # NULL where it is
    else:
        value = query.read(i, side)
    return f"{value} AS c{i}"


def _hashed(query: Comparison, i: int) -> list[Part]:
    if query.columns[i].column.kind == "nested" or i not in query.compared:
        return []
    # A NULL leaves the key's hash as it is, which no value does.
    return [(f"hash{i}", f"bit_xor(xxhash64(bf_h, c{i}))", f"bit_xor(hash{i})")]


def _parts(query: Comparison, i: int) -> list[Part]:
    """What is told of a column."""
    column, c = query.columns[i].column, f"c{i}"
    found = [(f"nulls{i}", f"count_if({c} IS NULL)", f"sum(nulls{i})")]
    if column.kind == "nested":
        return found
    sketch = f"hll_sketch_agg(IF({c} IS NULL, NULL, xxhash64({c})), 12)"
    found.append((f"distinct{i}", sketch, f"hll_sketch_estimate(hll_union_agg(distinct{i}))"))
    if column.masked:
        return found
    n = _number(query, i)
    for f in ("min", "max"):
        most = f"{f}({f}{i})"
        found.append((f"{f}{i}", f"{f}({n})", query.text(i, most) if column.kind == "text" else most))
    if column.key or column.kind == "text":
        return found
    if query.columns[i].type == "long":  # a sum of longs can overflow, and one of decimals takes far longer
        whole = f"CAST(sum(sum{i}.high) AS DECIMAL(38, 0)) * 4294967296 + sum(sum{i}.low)"
        split = f"named_struct('high', sum(shiftright({n}, 32)), 'low', sum({n} & 4294967295L))"
        return [*found, (f"sum{i}", split, whole)]
    return [
        *found,
        (f"sum{i}", f"try_sum({f'CAST({n} AS DOUBLE)' if column.kind == 'float' else n})", f"try_sum(sum{i})"),
    ]


def _percentiles(query: Comparison, i: int) -> list[Part]:
    column = query.columns[i].column
    if column.key or column.masked or column.kind in ("text", "nested"):
        return []
    name = f"percentiles{i}"
    return [
        (
            name,
            f"percentile_approx({_number(query, i)}, array({', '.join(f'{p}D' for p in PERCENTILES)}))",
            f"any_value({name})",
        )
    ]


def _number(query: Comparison, i: int) -> str:
    return f"CAST(c{i} AS INT)" if query.columns[i].type == "boolean" else f"c{i}"


def _inside(parts: Sequence[Part]) -> str:
    return ", ".join(f"{inside} AS {name}" for name, inside, _ in parts)


def _above(parts: Sequence[Part]) -> str:
    return ", ".join(f"{above} AS {name}" for name, _, above in parts)
