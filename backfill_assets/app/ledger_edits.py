"""What does somebody declare to be complete, or to be missing again?"""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.app.context import Context
from backfill_assets.build import ledger_edits
from backfill_assets.build.ledger_edits import Withdrawn
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.plan.stages import Request


def declare_empty(context: Context, request: Request) -> dict[str, Ranges]:
    """Record what is missing of the request's intervals as complete without computing it; returns it by model."""
    return ledger_edits.declare_empty(
        context.control, context.log, context.project, context.facts(), request, by=context.user
    )


def withdraw(context: Context, asked: Sequence[tuple[str, Interval]], *, reason: str = "") -> tuple[Withdrawn, ...]:
    """Make intervals of the code's versions missing again. Raises PlanError for those that are published."""
    return ledger_edits.withdraw(
        context.control, context.log, context.project, asked, now=context.now(), by=context.user, reason=reason
    )
