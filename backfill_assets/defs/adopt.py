"""What job makes a table that is there a model's first version? The same function as the command's."""

from __future__ import annotations

import dagster as dg

from backfill_assets.app.adopt import Adoption, adopt
from backfill_assets.core.wording import amount
from backfill_assets.defs.job import Launched, job


@job(
    "adopt",
    step="adopt_table",
    description="Make a table that is there a model's first published version.",
    tells=True,
)
def adopt_job(run: Launched) -> None:
    """Shows a table's rows as a model's first version; fails when audits do, or when anything is in the way."""
    asked = Adoption(**run.said)
    done = adopt(run.context, asked)
    found = done.contained
    count = amount(found.intervals.count(done.cadence), done.cadence)
    how = f"commit {done.origin.commit}, in place" if done.origin else "copied, and compared"
    run.log.info(f"{done.model}: {count}, {sum(found.rows.values())} rows of {asked.table}, {how}")
    if found.gaps:
        run.log.warning(f"no rows in {found.gaps}: the model's query builds them")
    if found.later:
        run.log.warning(f"{found.later} rows of intervals that are not over are left out")
    if not done.shown:
        why = done.failed or [str(obstacle) for obstacle in (done.verdict.obstacles if done.verdict else ())]
        listed = "\n".join(why)
        raise dg.Failure(description=f"{run.context.environment} was not moved:\n{listed}", allow_retries=False)
    run.report_views()
