"""How are the rules of approval changed in Dagster? A job with the same effect as `backfill rules`."""

# No `from __future__ import annotations`: Dagster reads the annotations of `context` and `config`.

import dagster as dg
from pydantic import Field

from backfill_assets.app.context import Context
from backfill_assets.app.rules import changes, propose_rules
from backfill_assets.core.errors import BackfillError
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.texts import Log


class RulesConfig(dg.Config):
    """What `backfill rules` takes."""

    change: bool = Field(default=False, description="Propose what the project's files say; without it only look.")
    reason: str = Field(default="", description="Why; the record keeps it.")


def rules_job(workspace: Context) -> dg.JobDefinition:
    """Says which rules are in force, or proposes those of the files; fails while approvals of it are missing."""

    @dg.op(name="look_at_rules", out=dg.Out(dg.Nothing))
    def look(context: dg.OpExecutionContext, config: RulesConfig) -> None:
        place = acting(workspace, context.run)
        try:
            require_lasting(context.instance)
            waiting = [propose_rules(place, reason=config.reason)] if config.change else changes(place)
            rules = place.rules()
        except BackfillError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from None
        Log(context).info(f"rules of {rules.environment}: record {rules.number}: {rules.rules.to_json()}")
        for note in rules.notes:
            Log(context).warning(note)
        missing = [
            f"{change.record.id} needs approval by {owner or 'somebody else'}: launch the job approve with this id"
            for change in waiting
            for owner in change.missing
        ]
        if config.change and missing:
            raise dg.Failure(description="proposed, and not in force:\n" + "\n".join(missing), allow_retries=False)
        for line in missing:
            Log(context).info(line)

    @dg.job(name="rules", description="Show the rules of approval in force, or propose those of the project's files.")
    def rules() -> None:
        look()

    return rules
