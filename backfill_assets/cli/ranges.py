"""How is a set of ranges printed, however many there are?"""

from __future__ import annotations

from backfill_assets.core.intervals import Ranges

SHOWN = 5


def short(ranges: Ranges) -> str:
    """A set of ranges that stays short however many there are."""
    parts = [str(i) for i in ranges]
    more = f" and {len(parts) - SHOWN} more ranges" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more
