"""What is said of published intervals that were built before their sources changed, and what builds them again?"""

from __future__ import annotations

from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.commands import restate_argument, restate_command
from backfill_assets.plan.patch import restatement
from backfill_assets.watch.before_restating import before_restating
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.notice import Notice, NoticeKind


def late_notice(
    look: WatchFacts, name: str, intervals: Ranges, what: str, *, restated: Ranges, otherwise: str = ""
) -> Notice:
    """A finding about intervals of a model: a restatement computes what is `restated` of them again, with all that
    reads it; `otherwise` is what computes the rest."""
    arguments = restate_argument(name, restated)
    patches = restatement(look.project, look.environment, [(name, part) for part in restated], {}, look.now, {})
    restating = f"{restate_command(arguments)}, then backfill promote PLAN, which it names" if restated else ""
    return Notice(
        kind=NoticeKind.LATE,
        model=name,
        intervals=intervals,
        what=what,
        remedy=before_restating(look, patches or [name]) + "; ".join(filter(None, (otherwise, restating))),
        downstream={reader: patch.intervals for reader, patch in patches.items() if reader != name},
        restate=arguments,
    )
