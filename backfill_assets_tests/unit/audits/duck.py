"""How do unit tests run the audits' SQL without a JVM? Spark's text carried over to DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import sqlglot

from backfill_assets.audits.relations import INTERVAL, AuditedTable, interval_start
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Audit, Model


class DuckTables:
    """Relations in a DuckDB connection: the rows to judge are in `rows`, other tables are called as the audits say."""

    def __init__(
        self,
        duck: duckdb.DuckDBPyConnection,
        *,
        shown: AuditedTable | None = None,
        around: AuditedTable | None = None,
        tables: Sequence[AuditedTable] = (),
        failing: AuditedTable | None = None,
        whole: AuditedTable | None = None,
        count: int = 0,
    ) -> None:
        self._duck, self._shown, self._around, self._failing = duck, shown, around, failing
        self._tables = {table.view: table for table in tables}
        self._count, self._whole = count, whole
        self.asked: list[str] = []
        self.parts: list[Interval] = []

    def rows(self) -> str:
        return "rows"

    def columns(self) -> list[str]:
        return [str(row[0]).lower() for row in self._duck.execute("DESCRIBE rows").fetchall()]

    def count(self) -> int:
        return self._count

    def shown(self) -> AuditedTable | None:
        return self._shown

    def around(self) -> AuditedTable | None:
        return self._around

    def whole(self) -> AuditedTable:
        assert self._whole is not None
        return self._whole

    def table(self, name: str) -> AuditedTable:
        return self._tables[name]

    def failures(self, audit: Audit, part: Interval) -> AuditedTable:
        assert self._failing is not None
        self.parts.append(part)
        return self._failing

    def ask(self, query: str) -> list[dict[str, Any]]:
        self.asked.append(query)
        [text] = sqlglot.transpile(query, read="spark", write="duckdb")
        found = self._duck.execute(text)
        names = [c[0] for c in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def spanned(model: Model, rows: Sequence[dict[str, Any]]) -> Ranges:
    """The intervals from the first to the last that these rows are of."""
    starts = [interval_start(row[INTERVAL]) for row in rows]
    return Ranges((Interval(min(starts), model.cadence.shift(max(starts), 1)),))
