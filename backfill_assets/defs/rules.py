"""How are the rules of approval changed in Dagster? A job with the same effect as `backfill rules`."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.rules import propose_rules, waiting_changes
from backfill_assets.core.codec import to_plain
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.safe_log import Log


def rules_job(workspace: Context) -> dg.JobDefinition:
    """Says which rules are in force, or proposes those of the files; fails while approvals of it are missing."""

    @dg.op(name="look_at_rules", out=dg.Out(dg.Nothing), config_schema=config_fields("rules"))
    def look(context: dg.OpExecutionContext) -> None:
        place = acting(workspace, context.run)
        with short_failures():
            require_lasting(context.instance)
            said = given("rules", context.op_config)
            change = said.get("action") == "change"
            waiting = [propose_rules(place, reason=said.get("reason", ""))] if change else waiting_changes(place)
            rules = place.rules()
        Log(context).info(f"rules of {rules.environment}: record {rules.number}: {to_plain(rules.rules)}")
        for note in rules.notes:
            Log(context).warning(note)
        missing = [
            f"{each.record.id} needs approval by {owner or 'somebody else'}: launch the job approve with this id"
            for each in waiting
            for owner in each.missing
        ]
        if change and missing:
            raise dg.Failure(description="proposed, and not in force:\n" + "\n".join(missing), allow_retries=False)
        for line in missing:
            Log(context).info(line)

    @dg.job(name="rules", description="Show the rules of approval in force, or propose those of the project's files.")
    def rules() -> None:
        look()

    return rules
