"""What jobs look after what was released? `rollback` goes back to an older release, `janitor` clears up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import dagster as dg

from backfill_assets.app.janitor import JanitorRequest, clear_up
from backfill_assets.app.rollback import roll_back
from backfill_assets.defs.job import Launched, job, not_moved
from backfill_assets.defs.safe_log import Log, log_warnings
from backfill_assets.plan.request_parsing import instant
from backfill_assets.promote.rehearsal import Readability
from backfill_assets.promote.rollback import ProposedRollback


@job(
    "rollback",
    step="point_{environment}_back",
    description="Point {environment} back at an older release, all models in one commit.",
    tells=True,
)
def rollback_job(run: Launched) -> None:
    """Goes back to an older release, all models in one commit; fails when anything is in the way."""
    dry_run = run.config["dry_run"]
    done = roll_back(
        run.context,
        run.config["release"] or None,
        run.config["select"],
        at_once=run.config["now"],
        dry_run=dry_run,
        reason=run.config["reason"] or "",
        run=run.name,
        tell=partial(_tell, run.log),
        follow=run.follow,
    )
    ended = done.ended
    log_warnings(run.log, done.left_open)
    if dry_run:
        run.log.info(f"{sum(p.files for p in ended.proofs)} files looked at; nothing was changed")
    if ended.obstacles:
        raise not_moved(run.context, ended.obstacles)
    if dry_run:
        return
    if ended.moved is None and ended.found.steps:
        lacking = "; ".join(f"{s.model} {s.lacks}" for s in ended.found.steps if s.lacks)
        raise dg.Failure(description=f"could not be built: {lacking}", allow_retries=False)
    run.report_views()


def _tell(log: Log, found: ProposedRollback, _: Sequence[Readability]) -> None:
    if found.done:
        log.info(f"it was rolled back already, by release {found.done.id}; to undo that, name {found.undo}")
    for step in found.steps:
        lacks = f"lacks {step.lacks}" if step.lacks else "lacks nothing"
        if step.behind and step.older:
            lacks = f"with {step.older.covers}: the routine job builds what came since"
        log.info(f"{step.model}: back to release {found.release.id}, {lacks}")
    for name in found.settled:
        log.info(f"{name}: stays, with the late rows that routine runs brought")


@job(
    "janitor",
    step="clear_up",
    description="Delete tables that nothing needs any more, join corrections. Only says so, by default.",
)
def janitor_job(run: Launched) -> None:
    """Says which tables nothing needs any more, and deletes them when its config says so."""
    today = instant(run.said.get("today"), "today")
    request = JanitorRequest(apply=run.said.get("apply", False), today=today.date() if today else None)
    done = clear_up(run.context, request)
    found = done.found
    for goes in found.rounds.goes:
        table = goes.table
        run.log.info(f"{table.model} {table.version}: {table.bytes} bytes, last used {goes.since}; {goes.why}")
    for crowd in found.crowds:
        run.log.info(f"{crowd.pointer.model}: {crowd.tables} tables of corrections can be one, {crowd.intervals}")
    for packet in found.packets:
        run.log.info(f"evidence {packet.name}: {packet.bytes} bytes, of a release that did not happen")
    if done.swept:
        run.log.info(f"{sum(r.bytes for r in done.swept.removed)} bytes freed")
    else:
        run.log.info("nothing was changed: set `apply: true` to do it")
    if problems := [problem for problem in done.joined.values() if problem]:
        raise dg.Failure(description="\n\n".join(problems), allow_retries=False)
