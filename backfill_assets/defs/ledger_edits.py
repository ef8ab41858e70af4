"""How are intervals made missing again in Dagster? A job with the same effect as `backfill withdraw`."""

from __future__ import annotations

from backfill_assets.app.ledger_edits import withdraw
from backfill_assets.defs.job import Launched, job
from backfill_assets.plan.request_parsing import days_of


@job(
    "withdraw",
    step="withdraw_intervals",
    description="Make intervals missing again that are declared empty, or built and not published.",
    tells=True,
)
def withdraw_job(run: Launched) -> None:
    """Withdraws intervals of the code's versions, and what was built from them."""
    asked = [days_of(text, "days: ") for text in run.said.get("days", ())]
    done = withdraw(run.context, asked, reason=run.said.get("reason", ""))
    for part in done:
        why = "" if part.named else ", built from these"
        run.log.info(f"{part.model}: {part.intervals} is missing now{why}")
    if not done:
        run.log.info("nothing to withdraw: all of it is missing already")
