"""What became of the rows? SQL that joins both sides on the key once, and counts what came of it by day and slice.

Each joined row counts in its old half's day and slice, and in its new half's: a row that moved to another day is
missing in one and there in the other. What is not counted here is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.compare.profile import DAY
from backfill_assets.compare.query import SIDES, SLICE_VALUES, Comparison

KINDS = ("changed", "added", "removed", "unpaired")


def by_kind(query: Comparison, old: str, new: str, columns: Sequence[int], *, unique: bool) -> str:
    """For each side and day, and value of a slice: rows of each of KINDS, `changed<i>` of the columns to compare, and
    `duplicate_keys` and `duplicate_rows`.

    Pairs are counted first, by their old and new group together; then each of these few counts is split in two.
    """
    groups = {DAY: (query.time, query.day)}
    groups |= {n: (i, lambda value, i=i: query.text(i, value)) for n, i in enumerate(query.slices)}
    sets = ", ".join(
        f"named_struct('bf_set', {n}, 'o_group', {text(query.value(i, 'o'))}, 'n_group', {text(query.value(i, 'n'))})"
        for n, (i, text) in groups.items()
    )
    many = [(f"{s}_keys", f"{s}_n > 1 AND {s}_i = 1") for _, s in SIDES] + [
        (f"{s}_many", f"{s}_n > 1") for _, s in SIDES
    ]
    marks = ["bf_status", *(f"{s}_key IS NOT NULL AS {s}_here" for _, s in SIDES)]
    marks += [f"d{i}" for i in columns] + [f"{condition} AS {name}" for name, condition in many]
    counts = [f"count_if(d{i}) AS d{i}" for i in columns] + [f"count_if({name}) AS {name}" for name, _ in many]
    by = "bf_status, o_here, n_here, bf_set, o_group, n_group"
    pairs = (
        f"SELECT {by}, count(*) AS bf_count, {', '.join(counts)} FROM ("
        f"SELECT {', '.join(marks)}, inline(array({sets})) "
        f"FROM ({query.joined(old, new, columns, unique=unique)}) WHERE bf_status <> 'unchanged') GROUP BY {by}"
    )
    halves = ", ".join(
        f"named_struct('bf_side', '{name}', 'bf_here', {s}_here, 'bf_group', {s}_group, "
        f"'bf_new', {str(s == 'n').lower()}, 'bf_keys', {s}_keys, 'bf_many', {s}_many)"
        for name, s in SIDES
    )
    kinds = [f"sum(IF(bf_status = '{kind}', bf_count, 0)) AS {kind}" for kind in KINDS]
    kinds += [f"sum(IF(bf_new, d{i}, 0)) AS changed{i}" for i in columns]
    split = (
        f"SELECT bf_side, bf_set, bf_group, {', '.join(kinds)}, "
        "sum(bf_keys) AS duplicate_keys, sum(bf_many) AS duplicate_rows "
        f"FROM (SELECT *, inline(array({halves})) FROM ({pairs})) WHERE bf_here GROUP BY 1, 2, 3"
    )
    ranked = f"SELECT *, dense_rank() OVER (PARTITION BY bf_set ORDER BY bf_group) AS bf_rank FROM ({split})"
    if not query.slices:
        return split
    return f"SELECT * FROM ({ranked}) WHERE bf_set = {DAY} OR bf_rank <= {SLICE_VALUES + 1}"
