"""How is a consumer kept on a release, and let go, in Dagster? Jobs with the same effect as the commands."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.pins import pin_consumer, pin_request, unpin_consumer
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.safe_log import Log


def pin_job(workspace: Context) -> dg.JobDefinition:
    """Keeps a consumer on what a release showed."""

    @dg.op(name="keep_consumer", out=dg.Out(dg.Nothing), config_schema=config_fields("pin"))
    def keep(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            done = pin_consumer(
                acting(workspace, context.run), pin_request(**given("pin", context.op_config), option="until")
            )
        pin, before, log = done.pin, done.before, Log(context)
        log.info(f"{pin.consumer} is kept on release {pin.release} until {pin.until}")
        if before is not None and before != pin:
            log.warning(f"it was kept on {before.release} until {before.until}")
        for obstacle in done.doubtful:
            log.warning(f"{obstacle}")

    @dg.job(name="pin", description="Keep a consumer on a release, in a schema of its own, while others move on.")
    def pin_one() -> None:
        keep()

    return pin_one


def unpin_job(workspace: Context) -> dg.JobDefinition:
    """Lets a pinned consumer read the environment again."""

    @dg.op(name="let_go", out=dg.Out(dg.Nothing), config_schema=config_fields("unpin"))
    def let_go(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            said = given("unpin", context.op_config)
            done = unpin_consumer(
                acting(workspace, context.run), said.get("consumer", ""), dry_run=said.get("dry_run", False)
            )
        log = Log(context)
        if done.pin is None:
            log.info(f"{done.consumer} is not pinned: it reads {done.environment}")
            return
        for change in done.changes:
            log.warning(f"{change.model}: {'; '.join(change.lines()) if change.other else 'not shown any more'}")
        log.info(f"{done.consumer} {'reads' if done.done else 'would read'} {done.environment}")

    @dg.job(name="unpin", description="Let a pinned consumer read the environment again; its own views go.")
    def unpin_one() -> None:
        let_go()

    return unpin_one
