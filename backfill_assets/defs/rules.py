"""How are the rules of approval changed in Dagster? A job with the same effect as `backfill rules`."""

from __future__ import annotations

import dagster as dg

from backfill_assets.app.rules import propose_rules, waiting_changes
from backfill_assets.core.codec import to_plain
from backfill_assets.defs.job import Launched, job
from backfill_assets.defs.names import job_text


@job(
    "rules",
    step="look_at_rules",
    description="Show the rules of approval in force, or propose those of the project's files.",
    tells=True,
)
def rules_job(run: Launched) -> None:
    """Says which rules are in force, or proposes those of the files; fails while approvals of it are missing."""
    change = run.said.get("action") == "change"
    context = run.context
    waiting = [propose_rules(context, reason=run.said.get("reason", ""))] if change else waiting_changes(context)
    rules = context.rules()
    run.log.info(f"rules of {rules.environment}: record {rules.number}: {to_plain(rules.rules)}")
    for note in rules.notes:
        run.log.warning(note)
    by_job = job_text(context.project, "approve")
    missing = [
        f"{each.record.id} needs approval by {owner or 'somebody else'}: launch {by_job} with this id"
        for each in waiting
        for owner in each.missing
    ]
    if change and missing:
        raise dg.Failure(description="proposed, and not in force:\n" + "\n".join(missing), allow_retries=False)
    for line in missing:
        run.log.info(line)
