"""Does a query read rows that come after its interval, and how far? Does anything compute the interval again once they
are there?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import islice

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Column, Model, Source
from backfill_assets.core.settling import LONGEST
from backfill_assets.core.wording import one
from backfill_assets.project.draft import Draft
from backfill_assets.project.outputs import Outputs
from backfill_assets.project.timed_tables import timed_tables
from backfill_assets.sql.later_reads import LaterRead, later_reads
from backfill_assets.sql.reads_until import reads_until
from backfill_assets.sql.shifted_times import starts

_LONGEST_WINDOW = timedelta(days=366)
"""The longest that `settle` can be."""


def later_remarks(
    draft: Draft,
    outputs: Outputs,
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    columns: Mapping[str, tuple[Column, ...]],
    windows: Mapping[str, timedelta],
) -> Iterator[Problem]:
    """A warning for each upstream of a model of SQL that is read further after `:end` than the model's days stay
    provisional; `windows` are how long these of each model do."""
    if draft.sql is None or draft.name not in models:
        return
    model, tables = models[draft.name], timed_tables(outputs, models, sources, columns)
    for read in later_reads(outputs.scopes, tables, model.cadence):
        name = outputs.names[read.table[1:]]
        if not read.reach:
            yield _of_the_end(draft, model, name, read)
        elif name in models:
            if read.reach > _followed_of_model(model, models[name], sources, windows):
                yield _of_model(draft, model, name, read)
        elif read.reach > windows.get(model.name, timedelta()) + _waits(model):
            yield _of_source(draft, model, name, read)


def source_reads(
    outputs: Outputs,
    model: Model,
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    columns: Mapping[str, tuple[Column, ...]],
) -> dict[str, float]:
    """How many seconds after its end an interval reads rows of sources (`Project.reads_until`)."""
    if model.time_zone:  # its days have other lengths
        return {}
    found: dict[str, timedelta | None] = {}
    for table, until in reads_until(
        outputs.scopes, timed_tables(outputs, models, sources, columns), model.cadence
    ).items():
        name = outputs.names[table[1:]]
        before = found.get(name, timedelta())
        found[name] = None if until is None or before is None else max(until, before)
    return {n: until.total_seconds() for n, until in found.items() if n in sources and until is not None}


def _followed_of_model(
    model: Model, upstream: Model, sources: Mapping[str, Source], windows: Mapping[str, timedelta]
) -> timedelta:
    """How far after its end rows of a model are noticed: when something else has an interval computed again. That is
    done before newer intervals are built, so the last run of a window reads one interval less."""
    late = [windows.get(u.name, timedelta()) for u in model.upstreams]
    if any(u.name in sources for u in model.upstreams):
        late.append(windows.get(model.name, timedelta()))
    own, above = LONGEST[model.cadence], LONGEST[upstream.cadence]
    whole = above if above > own or upstream.time_zone != model.time_zone else timedelta()
    return max(timedelta(), max(late) - above) + whole


def _waits(model: Model) -> timedelta:
    """How long after its end an interval counts as over, at least. A local day may end a day after the one of UTC."""
    slack = timedelta(days=1) if model.time_zone else timedelta()
    if not model.waits:
        return slack
    ends = islice(starts(model.cadence, every=model.cadence is Cadence.HOURLY), 1, 49)
    return slack + min(model.over_from(end) - model.calendar.instant(end) for end in ends)


def _of_the_end(draft: Draft, model: Model, name: str, read: LaterRead) -> Problem:
    unit = model.cadence.unit
    return draft.problem(
        draft.code_line + read.line - 1,
        what=f"the query reads what {name} has at `:end` itself, which is of the next {unit}",
        why=f"rows of the next {unit} are refused where {one(model.cadence)} is built, perhaps years later, when the "
        "first of them comes; or they count twice",
        fix="write `< :end` (BETWEEN includes both ends)",
    )


def _of_source(draft: Draft, model: Model, name: str, read: LaterRead) -> Problem:
    fix = "read until `:end` only"
    if read.reach <= _LONGEST_WINDOW:
        fix = (
            f"write `settle: {_written(read.reach)}` into the header: {model.cadence.unit}s stay provisional until "
            f"then, and routine runs compute them again; or {fix}"
        )
    return _problem(draft, model, name, read, fix)


def _of_model(draft: Draft, model: Model, name: str, read: LaterRead) -> Problem:
    unit = model.cadence.unit
    fix = (
        f"let a row belong to the last {unit} that it depends on, and read the {unit}s before it by `lookback`; "
        f"`settle` alone follows late rows of sources, not new {unit}s of models"
    )
    return _problem(draft, model, name, read, fix)


def _problem(draft: Draft, model: Model, name: str, read: LaterRead, fix: str) -> Problem:
    by = ": its rows are bounded by other rows, not by `:end`" if read.by_rows else ""
    return draft.problem(
        draft.code_line + read.line - 1,
        what=f"the query reads {name} until {_written(read.reach)} after `:end`{by}",
        why=f"{one(model.cadence)} that is computed when it is over lacks what comes then, and one "
        "that is computed later has it: one version, two sets of rows",
        fix=fix,
    )


def _written(length: timedelta) -> str:
    """As a header has it, no shorter.

    >>> [_written(timedelta(days=1)), _written(timedelta(hours=25)), _written(timedelta(minutes=15, seconds=1))]
    ['1 day', '25h', '16m']
    """
    day, hour, minute = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
    if not length % day:
        return f"{length // day} day{'' if length == day else 's'}"
    return f"{-(-length // minute)}m" if length % hour else f"{length // hour}h"
