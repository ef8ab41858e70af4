"""How does an owner approve in Dagster? A job with the same effect as `backfill approve`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backfill_assets.app.approve import ApprovalRequest, Approved, Prepared, accepted_findings, approve
from backfill_assets.defs.job import Launched, job
from backfill_assets.defs.safe_log import Log


@job(
    "approve",
    step="record_approval",
    description="Approve a plan for its owner. Voided by any later write in its scope.",
    tells=True,
)
def approve_job(run: Launched) -> None:
    """Records an owner's approval of a plan, or of a change of the rules."""
    _log(run.log, approve(run.context, _request(run.said)))


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
    for gap in done.gaps:
        log.warning(f"still in the way: {gap.subject}: {gap.what}; {gap.remedy}")
