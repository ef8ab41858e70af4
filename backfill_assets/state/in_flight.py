"""What is under way, and what failed? Of millions of entries those that tell it: the others are not made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backfill_assets.core.intervals import Ranges
from backfill_assets.state.ledger import Entry, Kind, Ledger
from backfill_assets.state.plain_intervals import among, last_words

if TYPE_CHECKING:
    from backfill_assets.state.columns import Columns, Flags

OF_BATCHES = (Kind.STARTED, Kind.BUILT, Kind.FAILED)
"""What says of a batch that it began, or has ended."""


def open_or_failed(ledger: Ledger) -> list[Entry]:
    """All entries of failures, and all of batches of intervals of which the last word may be that a batch began; oldest
    first."""
    columns = ("kind", "model", "version", "start", "end", "sequence")
    inside = among(last_words(ledger.columns(columns)))

    def keep(said: Columns) -> Flags:
        kind = said.texts["kind"]
        of_batches = kind.are(OF_BATCHES)
        return (inside(said) & of_batches) | kind.are((Kind.FAILED, Kind.INVALIDATED))

    return ledger.chosen(columns, keep)


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
