"""How is a consumer kept on a release, and let go, in Dagster? Jobs with the same effect as the commands."""

from __future__ import annotations

from backfill_assets.app.pins import pin_consumer, pin_request, unpin_consumer
from backfill_assets.defs.job import Launched, job


@job(
    "pin",
    step="keep_consumer",
    description="Keep a consumer on a release, in a schema of its own, while others move on.",
)
def pin_job(run: Launched) -> None:
    """Keeps a consumer on what a release showed."""
    done = pin_consumer(run.context, pin_request(**run.said, option="until"))
    pin, before = done.pin, done.before
    run.log.info(f"{pin.consumer} is kept on release {pin.release} until {pin.until}")
    if before is not None and before != pin:
        run.log.warning(f"it was kept on {before.release} until {before.until}")
    for obstacle in done.doubtful:
        run.log.warning(f"{obstacle}")


@job(
    "unpin",
    step="let_go",
    description="Let a pinned consumer read the environment again; its own views go.",
)
def unpin_job(run: Launched) -> None:
    """Lets a pinned consumer read the environment again."""
    done = unpin_consumer(run.context, run.said.get("consumer", ""), dry_run=run.said.get("dry_run", False))
    if done.pin is None:
        run.log.info(f"{done.consumer} is not pinned: it reads {done.environment}")
        return
    for change in done.changes:
        run.log.warning(f"{change.model}: {'; '.join(change.lines()) if change.other else 'not shown any more'}")
    run.log.info(f"{done.consumer} {'reads' if done.done else 'would read'} {done.environment}")
