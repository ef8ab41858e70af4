"""Does a query read intervals before its own, and its header says nothing of it? No restatement would follow."""

from __future__ import annotations

from collections.abc import Iterator

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.project.draft import Draft
from backfill_assets.project.header import Header
from backfill_assets.sql.earlier_bounds import earlier_bounds


def lookback_problems(draft: Draft) -> Iterator[Problem]:
    """At most one of a model of SQL: at the bound that reaches furthest."""
    header = draft.header
    if header is None or draft.sql is None or draft.wrong & {"lookback", "cadence"}:
        return
    said = header.lookback if "lookback" in header.model_fields_set else None
    if said == 0:
        return
    far = [(n, b) for b in earlier_bounds(draft.sql.placeholders) if (n := b.intervals(header.cadence)) != 0]
    known = [(n, b) for n, b in far if n is not None and b.lower]
    if said is None and far:
        intervals, bound = max(known, key=lambda found: found[0], default=(None, far[0][1]))
        yield _undeclared(draft, header, intervals, bound.line)
    elif said is not None and known:
        intervals, bound = max(known, key=lambda found: found[0])
        if intervals > said + bound.strict:
            yield _too_short(draft, header, intervals, bound.line)


def _undeclared(draft: Draft, header: Header, intervals: int | None, line: int) -> Problem:
    unit = header.cadence.unit
    number = "N" if intervals is None else str(intervals)
    count = f", N being how many {unit}s that are" if intervals is None else ""
    return draft.problem(
        draft.code_line + line - 1,
        what="the query reads from before `:start` on, and the header has no `lookback`",
        why=f"rows of {_one(header.cadence)} depend on {unit}s before it, which a restatement would not follow",
        fix=f"write `lookback: {number}` into the header{count}; or `lookback: 0`, if no row of {_one(header.cadence)} "
        f"depends on {unit}s before it",
    )


def _too_short(draft: Draft, header: Header, intervals: int, line: int) -> Problem:
    unit, said = header.cadence.unit, header.lookback
    return draft.problem(
        draft.code_line + line - 1,
        what=f"the query reads {intervals} {unit}s before `:start`, and `lookback: {said}` says fewer",
        why=f"what rows of {_one(header.cadence)} depend on before that, a restatement would not follow",
        fix=f"write `lookback: {intervals}` into the header, or begin {intervals - said} {unit}"
        f"{'s' * (intervals - said > 1)} later",
    )


def _one(cadence: Cadence) -> str:
    return f"an {cadence.unit}" if cadence is Cadence.HOURLY else f"a {cadence.unit}"
