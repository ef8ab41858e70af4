"""How does an owner approve in Dagster? A job with the same effect as `backfill approve`."""

# No `from __future__ import annotations`: Dagster reads the annotations of `context` and `config`.

from dataclasses import replace

import dagster as dg
from pydantic import Field

from backfill_assets.app.approve import approval_statements, approve_plan
from backfill_assets.app.context import Context
from backfill_assets.app.rules import approve_change, change_statements, is_change
from backfill_assets.core.errors import BackfillError
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.texts import Log
from backfill_assets.state.approvals import Approval, approval_of


class ApproveConfig(dg.Config):
    """What an owner approves."""

    plan: str = Field(description="The plan's id, or the beginning of it; or of a change of the rules.")
    by: str = Field(default="", description="Who you claim to be; the launching account decides whether that counts.")
    owners: list[str] = Field(default_factory=list, description="Whose models; default: all you may approve for.")
    reason: str = Field(default="", description="Why it may be promoted; the evidence keeps it.")
    accept: dict[str, str] = Field(default_factory=dict, description="Finding → why it may be so.")
    statement: str = Field(default="", description="What `backfill approve --prepare` printed, signed elsewhere.")
    signature: str = Field(default="", description="Its signature; without one the launching account has to be theirs.")


def approve_job(workspace: Context) -> dg.JobDefinition:
    """Records an owner's approval of a plan, or of a change of the rules."""

    @dg.op(name="record_approval", out=dg.Out(dg.Nothing))
    def record(context: dg.OpExecutionContext, config: ApproveConfig) -> None:
        place = acting(workspace, context.run)
        try:
            require_lasting(context.instance)
            given = _given(place, config)
            if is_change(given[0].plan):
                change = approve_change(place, given)
                Log(context).info(f"{change.record.id} {'is in force' if change.took_effect else 'waits'}")
                for owner in change.missing:
                    Log(context).info(f"{change.record.id} needs approval by {owner or 'somebody else'}")
            else:
                given = [approve_plan(place, approval) for approval in given]
                if why := place.control.plans.why(given[0].plan):
                    Log(context).info(f"plan {given[0].plan} is for: {why}")
        except BackfillError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from None
        for approval in given:
            how = "signed" if approval.signature else f"unsigned, by the account {place.user}"
            Log(context).info(f"{approval.by} approves {approval.plan} for {approval.owner} ({how})")

    @dg.job(name="approve", description="Approve a plan for its owner. Voided by any later write in its scope.")
    def approve() -> None:
        record()

    return approve


def _given(place: Context, config: ApproveConfig) -> list[Approval]:
    if config.statement:
        try:
            return [replace(approval_of(config.statement), signature=config.signature)]
        except (ValueError, KeyError, TypeError) as error:
            raise dg.Failure(description=f"the statement is none: {error}", allow_retries=False) from None
    if is_change(config.plan):
        return change_statements(place, config.plan, by=config.by, owners=config.owners, reason=config.reason)
    return approval_statements(
        place, config.plan, by=config.by, owners=config.owners, reason=config.reason, accepted=config.accept
    )
