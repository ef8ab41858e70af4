"""What is wrong with rows that the environment shows?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backfill_assets.app.context import Context
from backfill_assets.core.intervals import utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faults import Fault, faults, stale_faults
from backfill_assets.plan.gained import unread_since
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.state.environment import Environment
from backfill_assets.state.history import History
from backfill_assets.state.ledger import EntriesByVersion
from backfill_assets.state.releases import Release
from backfill_assets.watch.kept_models import is_kept_beside


def find_faults(context: Context, facts: Facts) -> tuple[Fault, ...]:
    """What is wrong with rows that the environment shows: files are looked at, not into. What the ledger says of them
    is in the facts."""
    shown = facts.environment
    if not shown.pointers:
        return ()
    pointers = list(shown.pointers.values())
    proofs = rehearse(pointers, context.storage, context.log, None, footers=False)
    found = faults(context.project, shown, facts.standing, damages(context.project, proofs))
    return (*found, *_stale(context, shown, facts.releases, facts.entries))


def stale_by_promotion(context: Context, before: Environment, shown: Environment) -> tuple[Fault, ...]:
    """What is shown beside rows that it did not read, as a promotion brought these: a model begins earlier by it."""
    if not any(_begins(p) < _begins(before.pointers.get(name)) for name, p in shown.pointers.items()):
        return ()
    return _stale(context, shown, context.control.releases.all(shown.name), History(context.control.ledger))


def _begins(pointer: Pointer | None) -> datetime:
    """The start of what it shows; for nothing the earliest there is."""
    span = pointer.covers.span if pointer else None
    return span.start if span else utc(datetime.min)


def _stale(
    context: Context, shown: Environment, releases: Sequence[Release], entries: EntriesByVersion
) -> tuple[Fault, ...]:
    found = unread_since(context.project, shown, releases, entries)
    others = [o for o in found if not is_kept_beside(context.control, releases, shown, o)]
    return stale_faults(context.project, shown, others)
