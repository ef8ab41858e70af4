"""How do rows that are shown become a batch of a new version? They are copied, all of them under other names or those
outside of a restatement's scope, as the plan says.

The ledger says of a copy what it says of the batches that computed the rows: what these read, and when. So whoever
looks for sources that changed since, or for rows of an upstream that are others by now, finds the same as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Engine, Job
from backfill_assets.core.errors import BuildError, EngineDiedError, RunEndedError, StateError, WriteConflictError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.core.segments import Segments
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.patch import RowScope
from backfill_assets.plan.strategy import Strategy
from backfill_assets.state.ledger import DECIDING, Entry, Origin, by_version, coverage
from backfill_assets.state.tables import DataCommit, compare_log, rows_of, vouched

Sources = Sequence[tuple[Interval, Entry]]
"""Parts of what is copied, each with the BUILT entry of the batch that computed it."""


def origins(bench: Workbench, model: Model, interval: Interval, segments: Segments, remedy: str) -> Sources:
    """Which batches computed the interval's rows, where these are shown.

    Raises BuildError, with the remedy, when the ledger does not vouch for all of them: since the plan was made,
    somebody said that they do not count, or their table is not what it was.
    """
    groups = by_version(bench.control.ledger.entries([model.name], kinds=DECIDING))
    found: list[tuple[Interval, Entry]] = []
    good = Ranges()
    for segment in segments:
        entries, part = groups.get((model.name, segment.version), []), Ranges((segment.interval,))
        good = good | part & vouched(
            entries, bench.log, model=model.name, version=segment.version, commit=segment.commit
        )
        there, _ = compare_log(
            entries, bench.log, model.name, segment.version, bench.log.head(model.name, segment.version)
        )
        found += coverage(there, audits="", commit=segment.commit).batches(part)
    if left := Ranges((interval,)) - (good & Ranges.of(part for part, _ in found)):
        raise _refusal(model, left, "what is shown of them does not count any more, by the ledger", remedy)
    return sorted(found, key=lambda source: source[0])


def copy(job: Job, batch: str, interval: Interval, copied: Copied, engine: Engine) -> DataCommit:
    """Commit the interval's rows under their new names. Raises BuildError when they cannot be read, or are not what the
    version's table takes."""
    try:
        return engine.copy_renamed(job, batch, interval, copied.segments, copied.columns)
    except BuildError as error:
        if isinstance(error, RunEndedError | WriteConflictError | EngineDiedError):
            raise
        error.fix = f"{error.fix}; or {remedy(job.model)}" if error.fix else remedy(job.model)
        raise


def copied_entries(bench: Workbench, built: Entry, copied: Copied, made_by: Sources) -> list[Entry]:
    """What the ledger says of a copy that was committed: of each part what computed it, and from what.

    Raises BuildError when there are not as many rows as are shown, interval by interval.
    """
    model = bench.project.models[built.model]
    try:
        before = {at: n for at, n in rows_of(bench.log, model.name, copied.segments).items() if n}
    except StateError as error:
        raise _refusal(model, copied.covers, str(error), remedy(model)) from None
    there = bench.log.rows(model.name, built.version, built.table_commit)
    after = {at: n for at, n in there.items() if n and built.interval.holds(at)}
    if before != after:
        why = f"{sum(after.values())} rows were written of {sum(before.values())}"
        raise _refusal(model, copied.covers, why, remedy(model))
    return [replace(one, inputs=entry.inputs, origin=entry.computed_by) for one, entry in _parts(built, made_by, after)]


def scoped_entries(bench: Workbench, built: Entry, scope: RowScope, made_by: Sources) -> list[Entry]:
    """What the ledger says of rows of a scope that were committed among copies: of each part the batch that computed
    the others, and what that read, since these are as old as that; and what the rows of the scope read. What is
    restated with it is as it was read now."""
    there = bench.log.rows(built.model, built.version, built.table_commit)
    found: list[Entry] = []
    for one, entry in _parts(built, made_by, {at: n for at, n in there.items() if built.interval.holds(at)}):
        now = {name: read for name, read in (built.inputs or {}).items() if name in bench.patches}
        origin = Origin(
            version=entry.version,
            commit=entry.table_commit,
            batch=entry.batch,
            began=entry.began,
            scope=scope.where,
            by_key=scope.by_key,
            read=built.inputs or {},
        )
        found.append(replace(one, inputs={**(built.inputs or {}), **(entry.inputs or {}), **now}, origin=origin))
    return found


def _parts(built: Entry, made_by: Sources, rows: Mapping[datetime, int]) -> Iterator[tuple[Entry, Entry]]:
    """The entry of each part of a batch, with its share, and what computed what was copied there."""
    total = sum(rows.values())
    for part, entry in made_by:
        own = sum(n for at, n in rows.items() if part.holds(at))
        yield replace(built, interval=part, rows=own, bytes=round(built.bytes * own / total) if total else 0), entry


def _refusal(model: Model, intervals: Ranges, why: str, fix: str) -> BuildError:
    return BuildError(f"the rows of {model.name} {intervals} cannot be copied", why=why, fix=fix)


def remedy(model: Model) -> str:
    """What computes rows that cannot be copied under other names."""
    return f"`--strategy {model.name}={Strategy.FULL_REBUILD}` computes them"
