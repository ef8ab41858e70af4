"""What do the rows of the comparison's queries say? A `ModelDiff`, and which days to take samples of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from backfill_assets.compare.diff import (
    ColumnMove,
    Keys,
    ModelDiff,
    RowCounts,
    RowGroup,
    Sample,
    Slice,
    Stats,
    Value,
    moved,
)
from backfill_assets.compare.mask import masked
from backfill_assets.compare.pairs import KINDS
from backfill_assets.compare.profile import DAY, TOTAL
from backfill_assets.compare.query import SAMPLE_ROWS, SLICE_VALUES, Comparison
from backfill_assets.compare.questions import Question

Found = Mapping[str, Any]
Cells = dict[tuple[int, str, str | None], dict[str, Any]]
"""By set, side and group: what queries found there."""

ABOUT = ("bf_set", "bf_side", "bf_group", "bf_rank")
WINDOW = 7
"""Days in a row that samples are taken of."""
TEXT = 120
"""Characters of a value that a sample shows."""


def cells(held: Iterable[Found], came: Iterable[Found]) -> Cells:
    """The rows of the queries, by what they are about: what the sides hold, and what came of their rows."""
    found: Cells = {}
    for row in held:
        found.setdefault(_about(row), {}).update(row)
    for row in came:
        if (about := _about(row)) not in found:
            continue  # beyond the values of a slice that are told
        counts = {k: v for k, v in row.items() if k not in ABOUT}
        found[about].update(counts)
        if row["bf_set"] == DAY:
            total = found[TOTAL, row["bf_side"], None]
            total.update({k: total.get(k, 0) + v for k, v in counts.items()})
    return found


def different(query: Comparison, found: Cells) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The days in which the sides hold something else, and the columns; elsewhere every row is the same.

    True only where keys are unique on both sides, and the day is one of them.

    A fingerprint is the XOR of a hash of every row's key and value, 64 bits wide: that two days have the same one and
    are different is as likely as one in 2**64. Nested values have none and always count as different.
    """
    hashes = ["bf_keys", *(f"hash{i}" for i in query.compared if query.columns[i].column.kind != "nested")]
    nested = {i for i in query.compared if query.columns[i].column.kind == "nested"}
    days: list[str] = []
    columns = set(nested)
    for name in sorted({group for which, _, group in found if which == DAY and group is not None}):
        one, other = (found.get((DAY, side, name), {}) for side in ("old", "new"))
        unlike = {h for h in ("bf_rows", *hashes) if one.get(h) != other.get(h)}
        if unlike or nested:
            days.append(name)
        columns |= {i for i in query.compared if f"hash{i}" in unlike}
    return tuple(days), tuple(sorted(columns))


def moving(question: Question, query: Comparison, found: Cells) -> tuple[int, ...]:
    """The columns of both sides that moved, in total or in a day: a column may be the same in total and not by day."""
    groups = [*_groups(query, found, TOTAL), *_groups(query, found, DAY)]
    names = {m.column for _, g in groups for m in g.moves if moved(m, question.tolerance)}
    return tuple(i for i, c in enumerate(query.columns) if c.column.both and c.column.name in names)


def answer(question: Question, query: Comparison, found: Cells, columns: Sequence[int], salt: bytes) -> ModelDiff:
    """What the queries' rows say, without samples; `columns` are those that moved."""
    whole = _groups(query, found, TOTAL)
    kept = {query.columns[i].column.name for i in columns}
    fresh = {c.column.name for c in query.columns if c.column.old_type is None}
    slices: list[Slice] = []
    for number, i in enumerate(query.slices):
        column = query.columns[i].column
        groups = _groups(query, found, number)
        slices.append(
            Slice(
                column=column.name,
                groups=tuple(
                    replace(_only(g, kept), name=masked(name, salt) if column.masked else name)
                    for name, g in groups[:SLICE_VALUES]
                ),
                complete=len(groups) <= SLICE_VALUES,
            )
        )
    return replace(
        question.unread(),
        columns=tuple(c.column for c in query.columns),
        old_keys=_keys(found.get((TOTAL, "old", None))),
        new_keys=_keys(found.get((TOTAL, "new", None))),
        total=replace(whole[0][1], name="") if whole else RowGroup(name="", rows=RowCounts(), moves=()),
        days=tuple(replace(_only(g, kept | fresh), name=name) for name, g in _groups(query, found, DAY)),
        slices=tuple(slices),
    )


def windows(diff: ModelDiff) -> dict[str, tuple[str, str]]:
    """For each kind of row that there is: the first and last of the (at most WINDOW) days in a row with most of it."""
    found: dict[str, tuple[str, str]] = {}
    names = [g.name or "" for g in diff.days]
    for kind in KINDS:
        counts = [_count(g.rows, kind) for g in diff.days]
        if not any(counts):
            continue
        starts = range(max(len(counts) - WINDOW, 0) + 1)
        first = max(starts, key=lambda at: (sum(counts[at : at + WINDOW]), -at))
        found[kind] = (names[first], names[min(first + WINDOW, len(names)) - 1])
    return found


def shown(query: Comparison, diff: ModelDiff) -> tuple[int, ...]:
    """The columns that a sample shows: those that moved, else all that are compared."""
    order = [m.column for m in diff.moved if m.changed]
    numbers = {c.column.name: i for i, c in enumerate(query.columns)}
    return tuple(numbers[n] for n in order if not query.columns[numbers[n]].column.key) or query.compared


def samples(query: Comparison, show: Sequence[int], found: Sequence[Found], salt: bytes) -> tuple[Sample, ...]:
    """The rows of the sample's query."""
    return tuple(
        Sample(
            kind=row["bf_status"],
            key=tuple((query.columns[i].column.name, _shown(query, i, row[f"k{i}"], salt)) for i in query.keys),
            old=_side(query, show, row, "o", salt),
            new=_side(query, show, row, "n", salt),
        )
        for row in sorted(found[:SAMPLE_ROWS], key=lambda r: KINDS.index(r["bf_status"]))
    )


def _side(
    query: Comparison, show: Sequence[int], row: Found, side: str, salt: bytes
) -> tuple[tuple[str, str | None], ...]:
    if not row[f"{side}_here"]:
        return ()
    return tuple((query.columns[i].column.name, _shown(query, i, row.get(f"{side}{i}"), salt)) for i in show)


def _shown(query: Comparison, i: int, value: str | None, salt: bytes) -> str | None:
    if query.columns[i].column.masked:
        return masked(value, salt)
    return value if value is None or len(value) <= TEXT else f"{value[: TEXT - 1]}…"


def _about(row: Found) -> tuple[int, str, str | None]:
    return row["bf_set"], row["bf_side"], row["bf_group"]


def _groups(query: Comparison, found: Cells, which: int) -> list[tuple[str | None, RowGroup]]:
    """Old and new halves of each group of a set, together; in order of their names."""
    names = {group for number, _, group in found if number == which}
    return [
        (name, _group(query, found.get((which, "old", name)), found.get((which, "new", name))))
        for name in sorted(names, key=lambda n: (n is None, n or ""))
    ]


def _group(query: Comparison, old: Found | None, new: Found | None) -> RowGroup:
    before, after = old or {}, new or {}
    different = sum(after.get(kind, 0) for kind in ("changed", "added", "unpaired"))
    rows = RowCounts(
        old=before.get("bf_rows", 0),
        new=after.get("bf_rows", 0),
        unchanged=after.get("bf_rows", 0) - different,
        changed=after.get("changed", 0),
        added=after.get("added", 0),
        removed=before.get("removed", 0),
        unpaired_old=before.get("unpaired", 0),
        unpaired_new=after.get("unpaired", 0),
    )
    return RowGroup(
        name=None,
        rows=rows,
        moves=tuple(
            ColumnMove(
                column=c.column.name,
                changed=after.get(f"changed{i}", 0),
                old=_stats(query, i, old) if c.old else None,
                new=_stats(query, i, new) if c.new else None,
            )
            for i, c in enumerate(query.columns)
        ),
    )


def _stats(query: Comparison, i: int, row: Found | None) -> Stats:
    if row is None or f"nulls{i}" not in row:
        return Stats()
    kind = query.columns[i].column.kind
    nulls, total = row[f"nulls{i}"], _value(row.get(f"sum{i}"), kind)
    filled = row["bf_rows"] - nulls
    percentiles = row.get(f"percentiles{i}") or (None, None)
    return Stats(
        nulls=nulls,
        distinct=row.get(f"distinct{i}"),
        sum=total,
        mean=_rounded(float(total) / filled) if total is not None and not isinstance(total, str) and filled else None,
        p50=_value(percentiles[0], kind),
        p95=_value(percentiles[1], kind),
        min=_value(row.get(f"min{i}"), kind),
        max=_value(row.get(f"max{i}"), kind),
    )


def _value(value: Any, kind: str) -> Value:
    if value is None:
        return None
    match kind:
        case "integer":
            return int(value)
        case "decimal":
            return Decimal(value)
        case "float":
            return _rounded(float(value))
        case _:
            text = str(value)
            return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"


def _rounded(value: float) -> float:
    """To 12 digits: the last ones of a sum of floats depend on the order in which they were added."""
    return float(f"{value:.12g}")


def _keys(row: Found | None) -> Keys:
    if row is None:
        return Keys()
    duplicates = {name: row.get(name, 0) for name in ("duplicate_keys", "duplicate_rows")}
    return Keys(null_rows=row["null_rows"], **duplicates)


def _only(group: RowGroup, columns: Collection[str]) -> RowGroup:
    return replace(group, moves=tuple(m for m in group.moves if m.column in columns))


def _count(rows: RowCounts, kind: str) -> int:
    return rows.unpaired_old + rows.unpaired_new if kind == "unpaired" else int(getattr(rows, kind))
