"""How do rows that are shown become a batch of a new version? They are copied under other names, as the plan says.

The ledger says of a copy what it says of the batches that computed the rows: what these read, and when. So whoever
looks for sources that changed since, or for rows of an upstream that are others by now, finds the same as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backfill_assets.build.bench import Workbench
from backfill_assets.build.engine import Engine, Job
from backfill_assets.core.errors import BuildError, EngineDiedError, RunEndedError, StateError, WriteConflictError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.strategy import Strategy
from backfill_assets.state.ledger import DECIDING, Entry, by_version, coverage
from backfill_assets.state.tables import DataCommit, compare_log, rows_of, vouched

Sources = Sequence[tuple[Interval, Entry]]
"""Parts of what is copied, each with the BUILT entry of the batch that computed it."""


def origins(bench: Workbench, model: Model, interval: Interval, copied: Copied) -> Sources:
    """Which batches computed the interval's rows, where these are shown.

    Raises BuildError when the ledger does not vouch for all of them: since the plan was made, somebody said that they
    do not count, or their table is not what it was.
    """
    groups = by_version(bench.control.ledger.entries([model.name], kinds=DECIDING))
    found: list[tuple[Interval, Entry]] = []
    good = Ranges()
    for segment in copied.segments:
        entries, part = groups.get((model.name, segment.version), []), Ranges((segment.interval,))
        good = good | part & vouched(
            entries, bench.log, model=model.name, version=segment.version, commit=segment.commit
        )
        there, _ = compare_log(
            entries, bench.log, model.name, segment.version, bench.log.head(model.name, segment.version)
        )
        found += coverage(there, audits="", commit=segment.commit).batches(part)
    if left := Ranges((interval,)) - (good & Ranges.of(part for part, _ in found)):
        raise _refusal(model, left, "what is shown of them does not count any more, by the ledger")
    return sorted(found, key=lambda source: source[0])


def copy(job: Job, batch: str, interval: Interval, copied: Copied, engine: Engine) -> DataCommit:
    """Commit the interval's rows under their new names. Raises BuildError when they cannot be read, or are not what the
    version's table takes."""
    try:
        return engine.copy_renamed(job, batch, interval, copied.segments, copied.columns)
    except BuildError as error:
        if isinstance(error, RunEndedError | WriteConflictError | EngineDiedError):
            raise
        error.fix = f"{error.fix}; or {_remedy(job.model)}" if error.fix else _remedy(job.model)
        raise


def copied_entries(bench: Workbench, built: Entry, copied: Copied, made_by: Sources) -> list[Entry]:
    """What the ledger says of a copy that was committed: of each part what computed it, and from what.

    Raises BuildError when there are not as many rows as are shown, interval by interval.
    """
    model = bench.project.models[built.model]
    try:
        before = {at: n for at, n in rows_of(bench.log, model.name, copied.segments).items() if n}
    except StateError as error:
        raise _refusal(model, copied.covers, str(error)) from None
    there = bench.log.rows(model.name, built.version, built.table_commit)
    after = {at: n for at, n in there.items() if n and built.interval.holds(at)}
    if before != after:
        raise _refusal(model, copied.covers, f"{sum(after.values())} rows were written of {sum(before.values())}")
    total, found = sum(after.values()), list[Entry]()
    for part, entry in made_by:
        rows = sum(n for at, n in after.items() if part.holds(at))
        share = rows / total if total else 0
        one = replace(built, interval=part, inputs=entry.inputs, rows=rows, bytes=round(built.bytes * share))
        found.append(replace(one, origin=entry.computed_by))
    return found


def _refusal(model: Model, intervals: Ranges, why: str) -> BuildError:
    return BuildError(f"the rows of {model.name} {intervals} cannot be copied", why=why, fix=_remedy(model))


def _remedy(model: Model) -> str:
    return f"`--strategy {model.name}={Strategy.FULL_REBUILD}` computes them"
