"""What is wrong with rows that the environment shows?"""

from __future__ import annotations

from backfill_assets.app.context import Context
from backfill_assets.plan.facts import standings
from backfill_assets.plan.faults import Fault, faults
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets.state.ledger import DECIDING, by_version


def find_faults(context: Context) -> tuple[Fault, ...]:
    """What is wrong with rows that the environment shows: files are looked at, not into."""
    shown = context.control.environments.read(context.environment)
    if not shown.pointers:
        return ()
    groups = by_version(context.control.ledger.entries(list(shown.pointers), kinds=DECIDING))
    states = standings(context.project, shown.pointers, groups, context.log)
    pointers = list(shown.pointers.values())
    proofs = rehearse(pointers, context.storage, context.log, context.control.ledger, footers=False)
    return faults(context.project, shown, states, damages(context.project, proofs))
