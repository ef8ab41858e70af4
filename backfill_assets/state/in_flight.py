"""What is under way, and what failed? Of millions of entries those that tell it: the others are not made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backfill_assets.core.intervals import Ranges
from backfill_assets.state.ledger import Entry, Kind, Ledger
from backfill_assets.state.plain_intervals import among, not_built_last

if TYPE_CHECKING:
    from backfill_assets.state.columns import Columns, Flags

OF_BATCHES = (Kind.STARTED, Kind.BUILT, Kind.FAILED)
"""What says of a batch that it began, or has ended."""


def open_or_failed(ledger: Ledger) -> list[Entry]:
    """The entries of batches and of failures, of intervals of which the last word may be another than that they were
    built; oldest first."""
    found = [not_built_last(key, rows) for key, rows in ledger.rows().items()]
    if not any(len(where.start) for where, _ in found):
        return []
    inside, since = among([where for where, _ in found]), min(number for _, number in found)

    def keep(said: Columns) -> Flags:
        return inside(said) & said.texts["kind"].are((*OF_BATCHES, Kind.INVALIDATED))

    return ledger.chosen(("kind", "model", "version", "start"), keep, after=since - 1)


def unfinished(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The batches that began and have not ended, of entries in the ledger's order: the last word on their intervals."""
    found: list[Entry] = []
    later = Ranges()
    for entry in reversed([e for e in entries if e.kind in OF_BATCHES]):
        mine = Ranges((entry.interval,))
        if entry.kind is Kind.STARTED and not mine & later:
            found.append(entry)
        later = later | mine
    return tuple(reversed(found))
