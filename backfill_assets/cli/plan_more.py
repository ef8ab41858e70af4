"""What else is said of a plan on its screen? Whom it affects, which plans are open, what is broken, and rules."""

from __future__ import annotations

from collections.abc import Callable

from backfill_assets.app.preview import Preview
from backfill_assets.cli.faults import print_faults
from backfill_assets.cli.impact import print_impacts
from backfill_assets.cli.maintenance import print_maintenance
from backfill_assets.cli.plans import print_amendment, print_claim
from backfill_assets.cli.preflight import hint
from backfill_assets.cli.rules import print_notes
from backfill_assets.cli.terminal import echo
from backfill_assets.cli.uncovered import print_uncovered
from backfill_assets.plan.leases import Claim


def print_more(found: Preview) -> None:
    """Each of it after a blank line; nothing of what there is nothing to say about."""
    asked = "" if found.blocking else hint(found.gaps)
    parts: tuple[tuple[object, Callable[[], None]], ...] = (
        (found.maintenance, lambda: print_maintenance(found.maintenance)),
        (asked, lambda: echo(asked)),
        (found.claim != Claim(), lambda: print_claim(found.claim)),
        (found.amendment and found.amendment.words, lambda: print_amendment(found.amendment)),
        (found.faults, lambda: print_faults(found.faults)),
        (found.notes, lambda: print_notes(found.notes)),
    )
    print_uncovered(found.uncovered)
    print_impacts(found.plan, found.impacts)
    for tell in (tell for there, tell in parts if there):
        echo()
        tell()
