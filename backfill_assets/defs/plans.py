"""Which approvals are waited for, in Dagster? A job with the same effect as `backfill plans --waiting-for`."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.waiting import read_waiting
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.safe_log import Log


def plans_job(workspace: Context) -> dg.JobDefinition:
    """Says what open plans, and changes of the rules, lack: of one person, or of anybody."""

    @dg.op(name="look_at_plans", out=dg.Out(dg.Nothing), config_schema=config_fields("plans"))
    def look(context: dg.OpExecutionContext) -> None:
        log, place = Log(context), acting(workspace, context.run)
        with short_failures():
            who = given("plans", context.op_config).get("waiting_for", "")
            found = read_waiting(place, who)
        for waiting in found.plans:
            for sentence in waiting.amendment.words:
                log.warning(sentence)
            for one in waiting.lacking:
                when = "launch the job approve with it" if waiting.built else "when all of it is built"
                log.info(f"plan {waiting.plan.id} {one.text}: {when}")
            for notice in waiting.notices:
                until = f", notice ends at {notice.notice_until:%Y-%m-%d}" if notice.notice_until else ""
                log.info(f"plan {waiting.plan.id} affects {notice.consumer.name}{until}")
        for change in found.changes:
            for owner in change.missing:
                log.info(f"{change.record.id} needs approval by {owner or 'somebody else'}")
        if not found.plans and not found.changes:
            log.info(f"nothing waits for {who or 'anybody'}")

    @dg.job(name="plans", description="Show whose approval open plans, and changes of the rules, lack.")
    def plans() -> None:
        look()

    return plans
