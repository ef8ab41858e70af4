"""How is a consumer kept on a release while others move on, and how does it come back?"""

from __future__ import annotations

from backfill_assets.app.context import Context
from backfill_assets.plan.request_parsing import instant
from backfill_assets.promote.pinning import Pinned, PinRequest, Unpinned, check_until, keep, known_consumer, let_go
from backfill_assets.promote.promote import recover
from backfill_assets.state.pinned import pin_environment, pinned_as


def pin_request(consumer: str, release: str, until: str, reason: str = "", *, option: str = "--until") -> PinRequest:
    """The request that texts say. Raises UsageError, which quotes the `option`, for what is no day."""
    found = instant(until, option)
    assert found is not None
    return PinRequest(consumer=consumer, release=release, until=found.date(), reason=reason)


def pin_consumer(context: Context, request: PinRequest) -> Pinned:
    """Keep a consumer on what a release showed of the models that it reads. The same again changes nothing.

    Killed anywhere, the same again finishes it. Raises UsageError for an unknown consumer, and for a day that is over,
    PromotionError for a release that is unknown, does not show all it reads, or cannot be read any more, and StateError
    when somebody else moves the consumer at the same moment.
    """
    known_consumer(request.consumer, context.project.consumers)
    check_until(request.until, context.now().date())
    views = context.shared_views()
    consumer = context.project.consumers[request.consumer]
    done = keep(
        context.control, context.log, context.storage, consumer, request,
        environment=context.environment, by=context.user, views=views,
    )  # fmt: skip
    if views is not None and not done.moved:
        seen = context.control.environments.read(done.pin.home)
        views.settle(seen, views.drifted(seen))
    return done


def unpin_consumer(context: Context, consumer: str, *, dry_run: bool = False) -> Unpinned:
    """Let a consumer read the environment again, and say what changes for it. Again, there is nothing to do.

    Killed anywhere, the same again finishes it. Raises UsageError for a consumer that is neither known nor pinned.
    """
    views, environments = context.shared_views(), context.control.environments
    home = pin_environment(consumer)
    seen = environments.read(home) if dry_run else recover(environments, home, views)
    if pinned_as(context.control, seen) is None:
        known_consumer(consumer, context.project.consumers)
        return Unpinned(consumer=consumer, environment=context.environment, pin=None, done=True)
    return let_go(context.control, context.log, context.project, seen, by=context.user, views=views, dry_run=dry_run)
