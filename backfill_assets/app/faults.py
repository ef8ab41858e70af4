"""What is wrong with rows that the environment shows?"""

from __future__ import annotations

from backfill_assets.app.context import Context
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.faults import Fault, faults
from backfill_assets.promote.rehearsal import damages, rehearse


def find_faults(context: Context, facts: Facts) -> tuple[Fault, ...]:
    """What is wrong with rows that the environment shows: files are looked at, not into. What the ledger says of them
    is in the facts."""
    shown = facts.environment
    if not shown.pointers:
        return ()
    pointers = list(shown.pointers.values())
    proofs = rehearse(pointers, context.storage, context.log, None, footers=False)
    return faults(context.project, shown, facts.standing, damages(context.project, proofs))
