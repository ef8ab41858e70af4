"""Does a query read intervals before its own, and its header says nothing of it? No restatement would follow.

What is read from a time before `:start` on is a problem; what is read from no time on a warning, as no number says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Model, Source
from backfill_assets.project.draft import Draft
from backfill_assets.project.header import Header
from backfill_assets.project.outputs import Outputs
from backfill_assets.sql.earlier_bounds import earlier_bounds
from backfill_assets.sql.unbounded_reads import unbounded_reads


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


def unbounded_remarks(
    draft: Draft, outputs: Outputs, models: Mapping[str, Model], sources: Mapping[str, Source]
) -> Iterator[Problem]:
    """A warning for each upstream of a model of SQL of which it reads every interval until some time."""
    header = draft.header
    if header is None or draft.sql is None or (header.lookback == 0 and "lookback" in header.model_fields_set):
        return
    times = {f"@{key}": _time_column(name, models, sources) for key, name in outputs.names.items()}
    for read in unbounded_reads(outputs.scopes, {key: time.lower() for key, time in times.items() if time}):
        name, time, unit = outputs.names[read.table[1:]], times[read.table], header.cadence.unit
        yield draft.problem(
            draft.code_line + read.line - 1,
            what=f"the query reads {name} from its beginning on: nothing bounds its `{time}` below",
            why=f"where old rows of {name} are restated or come late, {unit}s that depend on them stay as they are",
            fix=f"read from a time before `:start` on, and say by `lookback` how many {unit}s that is; or write "
            f"`lookback: 0`, if rows of {name} that are old never change",
        )


def _time_column(name: str, models: Mapping[str, Model], sources: Mapping[str, Source]) -> str:
    return models[name].time_column if name in models else sources[name].time_column or ""


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
