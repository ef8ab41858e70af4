"""Does a query read intervals before its own, and its header says nothing of it? No restatement would follow.

What is read from a time before `:start` on is a problem; what is read from no time on a warning, as no number says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Column, Model, Source
from backfill_assets.core.wording import amount, one
from backfill_assets.project.draft import Draft
from backfill_assets.project.header import Header
from backfill_assets.project.outputs import Outputs
from backfill_assets.project.timed_tables import timed_tables
from backfill_assets.sql.earlier_bounds import earlier_bounds
from backfill_assets.sql.earlier_reads import EarlierRead, earlier_reads


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


def earlier_remarks(
    draft: Draft,
    outputs: Outputs,
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    columns: Mapping[str, tuple[Column, ...]],
) -> Iterator[Problem]:
    """A warning for each upstream of a model of SQL of which it reads all earlier intervals, or, by way of other
    tables' rows, more of them than the header says; and for each source that it reads by another time than the source
    is said to be of. `columns` are those of upstreams."""
    header = draft.header
    if draft.name not in models or header is None or draft.sql is None:
        return
    if header.lookback == 0 and "lookback" in header.model_fields_set:
        return
    own, tables = models[draft.name], timed_tables(outputs, models, sources, columns)
    for read in earlier_reads(outputs.scopes, tables, own.time_column, own.cadence):
        name, time = outputs.names[read.table[1:]], tables[read.table].time
        if read.by:
            if not (own.settle or sources[name].settle):
                yield _by_another_time(draft, header, read, name, time)
        elif read.intervals is None:
            yield _unbounded(draft, header, read, name, time)
        elif read.intervals > header.lookback:
            yield _by_rows(draft, header, read, name)


def _unbounded(draft: Draft, header: Header, read: EarlierRead, name: str, time: str) -> Problem:
    unit = header.cadence.unit
    return draft.problem(
        draft.code_line + read.line - 1,
        what=f"the query reads {name} from its beginning on: nothing bounds its `{time}` below",
        why=f"where old rows of {name} are restated or come late, {unit}s that depend on them stay as they are",
        fix=f"read from a time before `:start` on, and say by `lookback` how many {unit}s that is; or write "
        f"`lookback: 0`, if rows of {name} that are old never change",
    )


def _by_another_time(draft: Draft, header: Header, read: EarlierRead, name: str, time: str) -> Problem:
    unit = header.cadence.unit
    return draft.problem(
        draft.code_line + read.line - 1,
        what=f"the query reads {name} by `{read.by}`, and the `time_column` of {name} is `{time}`",
        why=f"of rows that come late, `{time}` does not say which {unit}s of the model they are of: none is noticed",
        fix=f"write `time_column: {read.by}` in sources.yml; or, by `settle: N days`, how late rows come, so that "
        f"routine runs compute these {unit}s again",
    )


def _by_rows(draft: Draft, header: Header, read: EarlierRead, name: str) -> Problem:
    assert read.intervals is not None
    unit, count = header.cadence.unit, read.intervals
    said = f"and `lookback: {header.lookback}` says fewer" if header.lookback else "and the header has no `lookback`"
    return draft.problem(
        draft.code_line + read.line - 1,
        what=f"the query reads {name} from {amount(count, header.cadence)} before `:start` on, {said}",
        why=f"where rows of {name} are restated or come late, later {unit}s that depend on them stay as they are",
        fix=f"write `lookback: {count}` into the header; or `lookback: 0`, if rows of {name} that are old never change",
    )


def _undeclared(draft: Draft, header: Header, intervals: int | None, line: int) -> Problem:
    unit = header.cadence.unit
    number = "N" if intervals is None else str(intervals)
    count = f", N being how many {unit}s that are" if intervals is None else ""
    return draft.problem(
        draft.code_line + line - 1,
        what="the query reads from before `:start` on, and the header has no `lookback`",
        why=f"rows of {one(header.cadence)} depend on {unit}s before it, which a restatement would not follow",
        fix=f"write `lookback: {number}` into the header{count}; or `lookback: 0`, if no row of {one(header.cadence)} "
        f"depends on {unit}s before it",
    )


def _too_short(draft: Draft, header: Header, intervals: int, line: int) -> Problem:
    unit, said = header.cadence.unit, header.lookback
    return draft.problem(
        draft.code_line + line - 1,
        what=f"the query reads {intervals} {unit}s before `:start`, and `lookback: {said}` says fewer",
        why=f"what rows of {one(header.cadence)} depend on before that, a restatement would not follow",
        fix=f"write `lookback: {intervals}` into the header, or begin {intervals - said} {unit}"
        f"{'s' * (intervals - said > 1)} later",
    )
