"""Does an author's own query, in `audits/*.sql`, give a row?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from backfill_assets.audits.kinds.base import Tolerant
from backfill_assets.audits.masked import shown_outputs
from backfill_assets.audits.reads import tables_of
from backfill_assets.audits.relations import INTERVAL, ROWS, AuditedTable, interval_start
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.masking import HIDDEN
from backfill_assets.core.model import Model
from backfill_assets.sql.text import interval_text, key_text, literal


class SqlAudit(Tolerant):
    """Its stored arguments have the text, `query`, and the tables that this reads, `reads`."""

    kind = "sql"
    example = "- sql: no_orphans"
    page = (("- sql: no_orphans", "the query in `audits/no_orphans.sql` gives no row"),)
    short = "file"

    file: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

    def title(self) -> Sequence[str]:
        return (self.file,)

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        """The rows that the query gives, by the interval that their time column says.

        Rows that do not say are failures of every interval of the contiguous range that the query was asked for.
        """
        failures: dict[datetime, int] = defaultdict(int)
        model, tables, ranges, span = look.model, look.tables, list(look.intervals), look.intervals.span
        assert span is not None
        given = tables.failures(self.audit, span)
        dated = _dated(model, given)
        for part in [span] if dated or len(ranges) == 1 else ranges:
            if part != span:
                given = tables.failures(self.audit, part)
            rows = f"SELECT {_interval(model, given)} AS {INTERVAL} FROM {given.view}"
            for row in tables.ask(f"SELECT {INTERVAL}, count(*) AS {ROWS} FROM ({rows}) GROUP BY 1"):
                at = row[INTERVAL]
                for start in [interval_start(at)] if at is not None else [u.start for u in model.cadence.split(part)]:
                    failures[start] += row[ROWS]
        found.failures[self.called] = failures

    def samples(self, look: AuditScope) -> Sequence[str]:
        given = look.tables.failures(self.audit, look.intervals.span or next(iter(look.intervals)))
        at, shown = _interval(look.model, given), self._row_text(look, given)
        return [f"SELECT {at} AS {INTERVAL}, {shown} AS sample FROM {given.view}"]

    def observed(self, bad: int, total: int) -> str:
        # The query may give a row that is none of the model's, or one of them many times.
        return f"{bad} row{'s' * (bad != 1)} from its query"

    def rule(self, model: Model) -> str:
        return f"no row from audits/{self.file}.sql"

    def _row_text(self, look: AuditScope, given: AuditedTable) -> str:
        """SQL for a row that the query gives, without what it computes from masked columns of any table."""
        own = look.model.name.lower()
        others = {name.lower(): look.tables.table(name) for name in tables_of(self.audit) if name.lower() != own}
        masks = {name: table.mask for name, table in others.items()} | {own: [c.lower() for c in look.model.mask]}
        if not any(masks.values()):
            return "to_json(struct(*))"
        read = {name: table.columns for name, table in others.items()} | {own: look.tables.columns()}
        shown = shown_outputs(str(self.audit.arguments["query"]), given.columns, read, masks)
        if not shown:
            return literal(f"a row ({HIDDEN})")
        return key_text(given.columns, [c for c in given.columns if c not in shown])


def _dated(model: Model, given: AuditedTable) -> bool:
    return model.time_column.lower() in given.columns


def _interval(model: Model, given: AuditedTable) -> str:
    return interval_text(model) if _dated(model, given) else "CAST(NULL AS STRING)"
