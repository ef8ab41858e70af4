"""Who acts here, and whom do they claim to be?"""

from __future__ import annotations

from backfill_assets.adapters.account import host
from backfill_assets.app.context import Context
from backfill_assets.promote.approve import Approver


def acting_approver(context: Context, by: str = "", *, signs: bool = False) -> Approver:
    """The account that acts, as whoever it claims to be (`by`); with `signs`, a signature will prove that."""
    return Approver(account=context.user, host=host(), by=by, signs=signs)
