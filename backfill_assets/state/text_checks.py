"""Which new texts of a model were compared with the table that they are said to give, and where do they differ?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.state.ledger import new_id
from backfill_assets.state.rows import from_row, to_row
from backfill_assets.state.store import Records, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCheck:
    """A version's intervals, computed by another text of the model than built them."""

    model: str
    version: str
    text: str
    """`Model.text` of the text that was tried."""
    intervals: Ranges
    differ: Ranges = NOTHING
    """Where it gives other rows."""
    error: str = ""
    """Why it could not be computed; empty when it could."""
    at: datetime

    @property
    def equal(self) -> bool:
        """Whether the text gave the version's rows in all of the intervals."""
        return not self.differ and not self.error


TEXT_CHECKS = TableSpec(
    name="text_checks",
    columns={
        "id": "text",
        "model": "text",
        "version": "text",
        "text": "text",
        "intervals": "text",
        "differ": "text",
        "error": "text",
        "at": "time",
    },
)


class TextChecks(Records):
    """The append-only table of these. The newest check of a text decides."""

    spec = TEXT_CHECKS

    def put(self, check: TextCheck) -> None:
        """Record it."""
        self._table.append([to_row(TEXT_CHECKS, check, id=new_id())])

    def all(self) -> dict[tuple[str, str, str], TextCheck]:
        """The newest of each, by (model, version, text)."""
        found: dict[tuple[str, str, str], TextCheck] = {}
        for row in sorted(self._table.read(), key=lambda r: cast(datetime, r["at"])):
            check = from_row(TextCheck, row)
            found[check.model, check.version, check.text] = check
        return found
