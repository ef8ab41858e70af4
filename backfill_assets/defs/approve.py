"""How does an owner say yes in Dagster? A job with the same effect as `backfill approve`."""

# No `from __future__ import annotations`: Dagster reads the annotations of `context` and `config`.

from dataclasses import replace

import dagster as dg
from pydantic import Field

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.defs.instance import require_lasting
from backfill_assets.errors import BackfillError
from backfill_assets.state.approvals import approval_of


class ApproveConfig(dg.Config):
    """What an owner says."""

    plan: str = Field(description="The plan's id, or the beginning of it.")
    by: str = Field(default="", description="Who says yes; default: the user that Dagster runs as.")
    owners: list[str] = Field(default_factory=list, description="Whose models; default: all that `by` may speak for.")
    reason: str = Field(default="", description="Why it may be promoted; the evidence keeps it.")
    accept: dict[str, str] = Field(default_factory=dict, description="Finding → why it may be so.")
    statement: str = Field(default="", description="What `backfill approve --prepare` printed, signed elsewhere.")
    signature: str = Field(default="", description="Its signature; without one the approval is recorded as unsigned.")


def approve_job(workspace: Workspace) -> dg.JobDefinition:
    """Records an owner's yes to a plan."""

    @dg.op(name="say_yes", out=dg.Out(dg.Nothing))
    def say_yes(context: dg.OpExecutionContext, config: ApproveConfig) -> None:
        try:
            require_lasting(context.instance)
            if config.statement:
                said = [replace(approval_of(config.statement), signature=config.signature)]
            else:
                said = workspace.statements(
                    config.plan, by=config.by, owners=config.owners, reason=config.reason, accepted=config.accept
                )
            for approval in said:
                workspace.approve(approval)
        except (ValueError, KeyError, TypeError) as error:
            raise dg.Failure(description=f"the statement is none: {error}", allow_retries=False) from None
        except BackfillError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from None
        for approval in said:
            how = "signed" if approval.signature else "unsigned"
            context.log.info(f"{approval.by} says yes to plan {approval.plan} for {approval.owner} ({how})")

    @dg.job(name="approve", description="Say an owner's yes to a plan. Voided by any later write in its scope.")
    def approve() -> None:
        say_yes()

    return approve
