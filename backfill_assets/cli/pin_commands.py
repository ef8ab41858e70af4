"""Commands for a consumer that is kept on a release while others move on."""

from __future__ import annotations

from typing import Annotated

from backfill_assets.cli.base import AsJson, app, open_context
from backfill_assets.cli.request import typed
from backfill_assets.cli.terminal import print_result
from backfill_assets.plan.request_options import CONSUMER, ONLY_SAY, PINNED_TO, UNTIL, WHY_PINNED


@app.command()
def pin(
    consumer: Annotated[str, typed(CONSUMER)],
    release: Annotated[str, typed(PINNED_TO)],
    until: Annotated[str, typed(UNTIL)],
    reason: Annotated[str, typed(WHY_PINNED)] = "",
    as_json: AsJson = False,
) -> None:
    """Keep a consumer on a release while others move on.

    It gets a schema of its own, pin_CONSUMER, with a view of each model that it reads: exactly the rows that the
    release showed. Prod's views stay as they are, and the janitor keeps all of it. A second pin of the same consumer
    moves it; `backfill watch` says when its last day is over.
    """
    from backfill_assets.app.pins import pin_consumer, pin_request
    from backfill_assets.cli.pins import pinned_json, print_pinned

    asked = pin_request(consumer, release, until, reason)
    done = pin_consumer(open_context(), asked)
    print_result(as_json, lambda: pinned_json(done), lambda: print_pinned(done))


@app.command()
def unpin(
    consumer: Annotated[str, typed(CONSUMER)],
    dry_run: Annotated[bool, typed(ONLY_SAY)] = False,
    as_json: AsJson = False,
) -> None:
    """Let a pinned consumer read prod again.

    Says first what changes for it, by model and days. The views of its own schema go.
    """
    from backfill_assets.app.pins import unpin_consumer
    from backfill_assets.cli.pins import print_unpinned, unpinned_json

    done = unpin_consumer(open_context(), consumer, dry_run=dry_run)
    print_result(as_json, lambda: unpinned_json(done), lambda: print_unpinned(done))
