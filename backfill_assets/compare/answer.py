"""What do the rows of the comparison's queries say? A `ModelDiff`, and which days to take samples of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from backfill_assets.compare.ask import Question
from backfill_assets.compare.diff import Group, Keys, ModelDiff, Move, Rows, Sample, Slice, Stats, Value, moved
from backfill_assets.compare.mask import masked
from backfill_assets.compare.query import SAMPLE_ROWS, SLICE_VALUES, Query

Found = Mapping[str, Any]
KINDS = ("changed", "added", "removed", "unpaired")
WINDOW = 7
"""Days in a row that samples are taken of."""
TEXT = 120
"""Characters of a value that a sample shows."""


def answer(question: Question, query: Query, found: Sequence[Found], salt: bytes) -> ModelDiff:
    """What the aggregate's rows say, without samples."""
    whole = _groups(query, [r for r in found if _is_total(query, r)], "bf_side")
    total = replace(whole[0][1], name="") if whole else Group(name="", rows=Rows(), moves=())
    kept = {m.column for m in total.moves if moved(m, question.tolerance)}
    sides = {r["bf_side"]: r for r in found if _is_total(query, r)}
    days = _groups(query, [r for r in found if r["g_day"] == 0], "bf_day")
    # a column may be the same in total and not day by day
    kept |= {m.column for _, g in days for m in g.moves if moved(m, question.tolerance)}
    kept = {c for c in kept if _named(query, c).both}
    slices: list[Slice] = []
    for number, i in enumerate(query.slices):
        column = query.columns[i].column
        groups = _groups(query, [r for r in found if r[f"g_{number}"] == 0], f"bf_{number}")
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
        old_keys=_keys(sides.get("old")),
        new_keys=_keys(sides.get("new")),
        total=total,
        days=tuple(replace(_only(g, kept), name=name) for name, g in days),
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


def shown(query: Query, diff: ModelDiff) -> tuple[int, ...]:
    """The columns that a sample shows: those that moved, else all that are compared."""
    order = [m.column for m in diff.moved if m.changed]
    numbers = {c.column.name: i for i, c in enumerate(query.columns)}
    return tuple(numbers[n] for n in order if not query.columns[numbers[n]].column.key) or query.compared


def samples(query: Query, show: Sequence[int], found: Sequence[Found], salt: bytes) -> tuple[Sample, ...]:
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


def _side(query: Query, show: Sequence[int], row: Found, side: str, salt: bytes) -> tuple[tuple[str, str | None], ...]:
    if not row[f"{side}_here"]:
        return ()
    return tuple((query.columns[i].column.name, _shown(query, i, row.get(f"{side}{i}"), salt)) for i in show)


def _shown(query: Query, i: int, value: str | None, salt: bytes) -> str | None:
    if query.columns[i].column.masked:
        return masked(value, salt)
    return value if value is None or len(value) <= TEXT else f"{value[: TEXT - 1]}…"


def _is_total(query: Query, row: Found) -> bool:
    return row["g_day"] == 1 and all(row[f"g_{n}"] == 1 for n in range(len(query.slices)))


def _groups(query: Query, found: Sequence[Found], by: str) -> list[tuple[str | None, Group]]:
    """Old and new halves of each group, together; in order of their names."""
    halves: dict[str | None, dict[str, Found]] = {}
    for row in found:
        halves.setdefault(row[by] if by != "bf_side" else "", {})[row["bf_side"]] = row
    ordered = sorted(halves.items(), key=lambda item: (item[0] is None, item[0] or ""))
    return [(name, _group(query, sides.get("old"), sides.get("new"))) for name, sides in ordered]


def _group(query: Query, old: Found | None, new: Found | None) -> Group:
    before, after = old or {}, new or {}
    rows = Rows(
        old=before.get("bf_rows", 0),
        new=after.get("bf_rows", 0),
        unchanged=after.get("unchanged", 0),
        changed=after.get("changed", 0),
        added=after.get("added", 0),
        removed=before.get("removed", 0),
        unpaired_old=before.get("unpaired", 0),
        unpaired_new=after.get("unpaired", 0),
    )
    return Group(
        name=None,
        rows=rows,
        moves=tuple(
            Move(
                column=c.column.name,
                changed=after.get(f"changed{i}", 0),
                old=_stats(query, i, old) if c.old else None,
                new=_stats(query, i, new) if c.new else None,
            )
            for i, c in enumerate(query.columns)
        ),
    )


def _stats(query: Query, i: int, row: Found | None) -> Stats:
    if row is None:
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
    return Keys(null_rows=row["null_rows"], duplicate_keys=row["duplicate_keys"], duplicate_rows=row["duplicate_rows"])


def _only(group: Group, columns: Collection[str]) -> Group:
    return replace(group, moves=tuple(m for m in group.moves if m.column in columns))


def _named(query: Query, name: str) -> Any:
    return next(c.column for c in query.columns if c.column.name == name)


def _count(rows: Rows, kind: str) -> int:
    return rows.unpaired_old + rows.unpaired_new if kind == "unpaired" else int(getattr(rows, kind))
