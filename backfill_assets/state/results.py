"""What did the audits find? One result per check and interval, kept with the batch that it looked at."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import cast

from backfill_assets.audits.result import AuditResult
from backfill_assets.state.rows import from_row, to_row
from backfill_assets.state.store import Filter, Records, Row, TableSpec

RESULTS = TableSpec(
    name="audits",
    columns={
        "model": "text",
        "version": "text",
        "batch": "text",
        "start": "time",
        "end": "time",
        "name": "text",
        "blocking": "bool",
        "passed": "bool",
        "failures": "int",
        "observed": "text",
        "expected": "text",
        "sample": "text",
        "at": "time",
        "sequence": "int",
    },
    sequence="sequence",
    grows=True,
)


class AuditResults(Records):
    """The append-only table of results."""

    spec = RESULTS

    def append(self, results: Sequence[AuditResult]) -> None:
        """Record results, all in one commit."""
        if results:
            self._table.append([to_row(RESULTS, r, name=r.check, sample=json.dumps(r.sample)) for r in results])

    def read(
        self,
        *,
        models: Collection[str] | None = None,
        version: str | None = None,
        batches: Collection[str] | None = None,
    ) -> list[AuditResult]:
        """The results of these models and batches (None: all), oldest first."""
        where: dict[str, Collection[str]] = {}
        if models is not None:
            where["model"] = list(models)
        if version is not None:
            where["version"] = [version]
        if batches is not None:
            where["batch"] = list(batches)

        def order(row: Row) -> tuple[int, datetime, datetime, str]:
            at, start = cast(datetime, row["at"]), cast(datetime, row["start"])
            # One audit's results have one place in the order for people: by interval, then by name.
            return cast(int, row["sequence"]) >> 24, at, start, cast(str, row["name"])

        rows = sorted(self._table.read(cast(Filter, where)), key=order)
        return [from_row(AuditResult, row, check=row["name"]) for row in rows]
