"""What is wrong with rows that the environment shows?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from backfill_assets.app.context import Context
from backfill_assets.core.errors import BackfillError
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faults import Fault, faults, stale_faults
from backfill_assets.plan.gained import unread_since
from backfill_assets.plan.stale_inputs import StaleInput
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import EntriesByVersion
from backfill_assets.state.releases import Release
from backfill_assets.watch.kept_models import is_kept_beside

_MOST_FILES = 50_000
"""A command looks at about so many, which takes a quarter of a second. The next commands look at the others."""


def find_faults(context: Context, facts: Facts) -> tuple[Fault, ...]:
    """What is wrong with rows that the environment shows: files are looked at, not into, and of very many not all each
    time. What the ledger says of them is in the facts."""
    shown = facts.environment
    if not shown.pointers:
        return ()
    pointers = list(shown.pointers.values())
    proofs = rehearse(pointers, context.storage, context.log, None, footers=False, most=_MOST_FILES)
    found = faults(context.project, shown, facts.standing, damages(context.project, proofs))
    unread = unread_since(context.project, shown, facts.past.releases, facts.tables.entries)
    return (*found, *_stale(context, shown, facts.past.releases, unread))


def stale_by_promotion(
    context: Context, before: Environment, shown: Environment, entries: EntriesByVersion
) -> tuple[Fault, ...]:
    """What is shown beside rows that it did not read, as a promotion brought the ones or the others; `entries` as it
    saw them. It happened: what cannot be read now, the next plan says."""
    moved = {name for name, pointer in shown.pointers.items() if pointer != before.pointers.get(name)}
    with suppress(BackfillError):
        releases = context.control.releases.all(shown.name) if moved else []
        unread = unread_since(context.project, shown, releases, entries)
        return _stale(context, shown, releases, [o for o in unread if moved & {o.model, o.upstream}])
    return ()


def _stale(
    context: Context, shown: Environment, releases: Sequence[Release], unread: Iterable[StaleInput]
) -> tuple[Fault, ...]:
    """What did not read rows that it is shown beside, and nobody has vouched for."""
    left = [o for o in unread if not is_kept_beside(context.control, releases, shown, o)]
    return stale_faults(context.project, shown, left)
