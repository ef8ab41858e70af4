"""What jobs look after what was released? `rollback` goes back to an older release, `janitor` clears up."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

from collections.abc import Sequence
from functools import partial

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.janitor import JanitorRequest, clear_up
from backfill_assets.app.rollback import roll_back
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.runs import following, run_name
from backfill_assets.defs.safe_log import Log
from backfill_assets.plan.request_parsing import instant
from backfill_assets.promote.rehearsal import Readability
from backfill_assets.promote.rollback import Rollback


def rollback_job(workspace: Context) -> dg.JobDefinition:
    """Goes back to an older release, all models in one commit; fails when anything is in the way."""
    environment = workspace.environment

    @dg.op(name=f"point_{environment}_back", out=dg.Out(dg.Nothing), config_schema=config_fields("rollback"))
    def point_back(context: dg.OpExecutionContext) -> None:
        place, config = acting(workspace, context.run), context.op_config
        with short_failures():
            require_lasting(context.instance)
            ended = roll_back(
                place,
                config["release"] or None,
                config["select"],
                at_once=config["now"],
                dry_run=config["dry_run"],
                reason=config["reason"] or "",
                run=run_name(context.run),
                tell=partial(_tell, Log(context)),
                follow=following(context),
            ).ended
        if config["dry_run"]:
            files = sum(p.files for p in ended.proofs)
            Log(context).info(f"{files} files looked at; nothing was changed")
        if ended.obstacles:
            listed = "\n".join(map(str, ended.obstacles))
            raise dg.Failure(description=f"{environment} was not moved; in the way:\n{listed}", allow_retries=False)
        if config["dry_run"]:
            return
        if ended.moved is None and ended.found.steps:
            lacking = "; ".join(f"{s.model} {s.lacks}" for s in ended.found.steps if s.lacks)
            raise dg.Failure(description=f"could not be built: {lacking}", allow_retries=False)
        for event in unreported_views(workspace, context.instance):
            context.log_event(event)

    @dg.job(name="rollback", description=f"Point {environment} back at an older release, all models in one commit.")
    def rollback() -> None:
        point_back()

    return rollback


def _tell(log: Log, found: Rollback, _: Sequence[Readability]) -> None:
    for step in found.steps:
        lacks = f"lacks {step.lacks}" if step.lacks else "lacks nothing"
        log.info(f"{step.model}: back to release {found.release.id}, {lacks}")


def janitor_job(workspace: Context) -> dg.JobDefinition:
    """Says which tables nothing needs any more, and deletes them when its config says so."""

    @dg.op(name="clear_up", out=dg.Out(dg.Nothing), config_schema=config_fields("janitor"))
    def clear(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            said = given("janitor", context.op_config)
            today = instant(said.get("today"), "today")
            request = JanitorRequest(apply=said.get("apply", False), today=today.date() if today else None)
            done = clear_up(acting(workspace, context.run), request)
        found = done.found
        for goes in found.rounds.goes:
            table = goes.table
            Log(context).info(f"{table.model} {table.version}: {table.bytes} bytes, last used {goes.since}; {goes.why}")
        for crowd in found.crowds:
            Log(context).info(
                f"{crowd.pointer.model}: {crowd.tables} tables of corrections can be one, {crowd.intervals}"
            )
        for packet in found.packets:
            Log(context).info(f"evidence {packet.name}: {packet.bytes} bytes, of a release that did not happen")
        if done.swept:
            Log(context).info(f"{sum(r.bytes for r in done.swept.removed)} bytes freed")
        else:
            Log(context).info("nothing was changed: set `apply: true` to do it")
        if problems := [problem for problem in done.joined.values() if problem]:
            raise dg.Failure(description="\n\n".join(problems), allow_retries=False)

    @dg.job(
        name="janitor",
        description="Delete tables that nothing needs any more, join corrections. Only says so, by default.",
    )
    def janitor() -> None:
        clear()

    return janitor
