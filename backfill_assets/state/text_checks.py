"""Which new texts of a model were compared with the table that they are said to give, and where do they differ?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from backfill_assets.core.intervals import NOTHING, Ranges, ranges_from_json, ranges_json
from backfill_assets.state.ledger import new_id
from backfill_assets.state.store import Row, Store, TableSpec


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


class TextChecks:
    """The append-only table of these. The newest check of a text decides."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(TEXT_CHECKS)

    def put(self, check: TextCheck) -> None:
        """Record it."""
        row: Row = {
            "id": new_id(),
            "model": check.model,
            "version": check.version,
            "text": check.text,
            "intervals": json.dumps(ranges_json(check.intervals)),
            "differ": json.dumps(ranges_json(check.differ)),
            "error": check.error,
            "at": check.at,
        }
        self._table.append([row])

    def all(self) -> dict[tuple[str, str, str], TextCheck]:
        """The newest of each, by (model, version, text)."""
        found: dict[tuple[str, str, str], TextCheck] = {}
        for row in sorted(self._table.read(), key=lambda r: cast(datetime, r["at"])):
            check = TextCheck(
                model=cast(str, row["model"]),
                version=cast(str, row["version"]),
                text=cast(str, row["text"]),
                intervals=ranges_from_json(json.loads(cast(str, row["intervals"]))),
                differ=ranges_from_json(json.loads(cast(str, row["differ"]))),
                error=cast(str, row["error"]),
                at=cast(datetime, row["at"]),
            )
            found[check.model, check.version, check.text] = check
        return found

    def compact(self) -> None:
        """Join the small files that many appends left."""
        self._table.compact()
