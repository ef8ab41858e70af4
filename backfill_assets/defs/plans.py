"""What becomes of open plans, in Dagster? Jobs with the same effect as `backfill plans --waiting-for` and `abandon`."""

from __future__ import annotations

from backfill_assets.app.candidate import abandon_plan
from backfill_assets.app.waiting import read_waiting
from backfill_assets.defs.job import Launched, job
from backfill_assets.defs.names import job_text


@job("plans", step="look_at_plans", description="Show whose approval open plans, and changes of the rules, lack.")
def plans_job(run: Launched) -> None:
    """Says what open plans, and changes of the rules, lack: of one person, or of anybody."""
    who = run.said.get("waiting_for", "")
    found = read_waiting(run.context, who)
    for waiting in found.plans:
        for sentence in waiting.amendment.words:
            run.log.warning(sentence)
        for one in waiting.lacking:
            when = (
                f"launch {job_text(run.context.project, 'approve')} with it"
                if waiting.built
                else "when all of it is built"
            )
            run.log.info(f"plan {waiting.plan.id} {one.text}: {when}")
        for notice in waiting.notices:
            until = f", notice ends at {notice.notice_until:%Y-%m-%d}" if notice.notice_until else ""
            run.log.info(f"plan {waiting.plan.id} affects {notice.consumer.name}{until}")
    for change in found.changes:
        for owner in change.missing:
            run.log.info(f"{change.record.id} needs approval by {owner or 'somebody else'}")
    if not found.plans and not found.changes:
        run.log.info(f"nothing waits for {who or 'anybody'}")


@job(
    "abandon",
    step="end_plan",
    description="End a plan that is not to be promoted. {environment} is not touched.",
    tells=True,
)
def abandon_job(run: Launched) -> None:
    """Ends a plan: its candidate environment goes, and what only this plan built is left to the janitor."""
    done = abandon_plan(run.context, run.said.get("plan", ""))
    run.log.info(f"plan {done.plan.id} {'was abandoned already' if done.already else 'is abandoned'}")
    for freed in done.freed:
        run.log.info(f"the janitor will free {freed.model} {freed.version}: {freed.bytes} bytes")
