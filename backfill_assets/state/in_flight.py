"""What is under way, and what failed? Of millions of entries those that tell it: the others are not made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.state.ledger import Entry, Kind, Ledger
from backfill_assets.state.plain_intervals import among, last_words

if TYPE_CHECKING:
    from backfill_assets.state.columns import Columns, Flags


def open_or_failed(ledger: Ledger) -> list[Entry]:
    """All entries of failures, and all of batches of intervals of which the last word may be that a batch began; oldest
    first."""
    columns = ("kind", "model", "version", "start", "end", "sequence")
    inside = among(last_words(ledger.columns(columns)))

    def keep(said: Columns) -> Flags:
        kind = said.texts["kind"]
        of_batches = kind.are((Kind.STARTED, Kind.BUILT, Kind.FAILED))
        return (inside(said) & of_batches) | kind.are((Kind.FAILED, Kind.INVALIDATED))

    return ledger.chosen(columns, keep)
