"""How does an owner approve in Dagster? A job with the same effect as `backfill approve`."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

from collections.abc import Mapping
from typing import Any

import dagster as dg

from backfill_assets.app.approve import ApprovalRequest, Approved, Prepared, accepted_findings, approve
from backfill_assets.app.context import Context
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.safe_log import Log


def approve_job(workspace: Context) -> dg.JobDefinition:
    """Records an owner's approval of a plan, or of a change of the rules."""

    @dg.op(name="record_approval", out=dg.Out(dg.Nothing), config_schema=config_fields("approve"))
    def record(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            done = approve(acting(workspace, context.run), _request(given("approve", context.op_config)))
        _log(Log(context), done)

    @dg.job(name="approve", description="Approve a plan for its owner. Voided by any later write in its scope.")
    def approve_plan() -> None:
        record()

    return approve_plan


def _request(said: Mapping[str, Any]) -> ApprovalRequest:
    prepared = None
    if "statement" in said:
        prepared = Prepared(statement=said["statement"], signature=said["signature"])
    return ApprovalRequest(
        plan=said.get("plan", ""),
        by=said.get("by", ""),
        owners=tuple(said.get("for", ())),
        reason=said.get("reason", ""),
        accepted=accepted_findings(said.get("accept", ()), "accept"),
        prepared=prepared,
    )


def _log(log: Log, done: Approved) -> None:
    if change := done.change:
        log.info(f"{change.record.id} {'is in force' if change.took_effect else 'waits'}")
        for owner in change.missing:
            log.info(f"{change.record.id} needs approval by {owner or 'somebody else'}")
    elif done.why:
        log.info(f"plan {done.approvals[0].plan} is for: {done.why}")
    for approval in done.approvals:
        how = "signed" if approval.signature else f"unsigned, by the account {approval.account}"
        log.info(f"{approval.by} approves {approval.plan} for {approval.owner} ({how})")
