"""What job makes a table that is there a model's first version? The same function as the command's."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg

from backfill_assets.app.adopt import Adoption, adopt
from backfill_assets.app.context import Context
from backfill_assets.core.wording import amount
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.safe_log import Log


def adopt_job(workspace: Context) -> dg.JobDefinition:
    """Shows a table's rows as a model's first version; fails when audits do, or when anything is in the way."""
    environment = workspace.environment

    @dg.op(name="adopt_table", out=dg.Out(dg.Nothing), config_schema=config_fields("adopt"))
    def adopt_table(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            asked = Adoption(**given("adopt", context.op_config))
            done = adopt(acting(workspace, context.run), asked)
        found = done.contained
        count = amount(found.intervals.count(done.cadence), done.cadence)
        how = f"commit {done.origin.commit}, in place" if done.origin else "copied, and compared"
        Log(context).info(
            f"{done.model}: {count}, {sum(found.rows.values())} rows of {context.op_config['table']}, {how}"
        )
        if found.gaps:
            Log(context).warning(f"no rows in {found.gaps}: the model's query builds them")
        if found.later:
            Log(context).warning(f"{found.later} rows of intervals that are not over are left out")
        if not done.shown:
            why = done.failed or [str(obstacle) for obstacle in (done.verdict.obstacles if done.verdict else ())]
            listed = "\n".join(why)
            raise dg.Failure(description=f"{environment} was not moved:\n{listed}", allow_retries=False)
        for event in unreported_views(workspace, context.instance):
            context.log_event(event)

    @dg.job(name="adopt", description="Make a table that is there a model's first published version.")
    def adopt_one() -> None:
        adopt_table()

    return adopt_one
