"""On which approvals does a release rest? Those that count, and are about rows that it changes."""

from __future__ import annotations

from backfill_assets.core.intervals import NOTHING
from backfill_assets.promote.gate import Case, covered_by
from backfill_assets.state.approvals import Approval


def release_approvals(case: Case) -> tuple[Approval, ...]:
    """Oldest first. None where nobody's approval is needed."""
    found: list[Approval] = []
    for review in case.reviews if case.required else ():
        for approval in review.approvals:
            if case.counts(review.record, approval):
                continue
            about = covered_by(case, review, approval)
            if any(part & about.get(name, NOTHING) for name, part in case.changed.items()):
                found.append(approval)
    return tuple(sorted(found, key=lambda a: a.at))
