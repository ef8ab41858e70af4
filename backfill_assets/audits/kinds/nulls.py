"""Which columns may lack values, and how many?"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import model_validator

from backfill_assets.audits.counts import AuditVerdict, Counts
from backfill_assets.audits.kinds.arguments import Share
from backfill_assets.audits.kinds.base import AuditKind, RowCheck, bounds
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.scope import AuditScope
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Model
from backfill_assets.core.wording import listed
from backfill_assets.files.validation import ColumnName, ColumnNames
from backfill_assets.sql.text import interval_text, key_text, quoted


class NotNull(RowCheck):
    kind = "not_null"
    example = "- not_null: [ds, campaign_id]"
    page = (("- not_null: [ds, campaign_id]", "no row has NULL in one of these columns"),)
    short = "columns"

    columns: ColumnNames

    def broken(self, model: Model) -> str:
        return " OR ".join(f"{quoted(c)} IS NULL" for c in self.columns)

    def decisive(self) -> Sequence[str]:
        return self.columns

    def meaning(self, model: Model) -> str:
        return f"{listed(self.columns)} {'are' if len(self.columns) > 1 else 'is'} never empty."


class NullRate(AuditKind):
    kind = "null_rate"
    example = "- null_rate: {column: email, max_percent: 5}"
    page = (
        ("- null_rate: {column: email, min_percent: 1, max_percent: 5}", "the share of NULLs is within the bounds"),
    )

    column: ColumnName
    min_percent: Share | None = None
    max_percent: Share | None = None

    @model_validator(mode="after")
    def _bounded(self) -> NullRate:
        if self.min_percent is None and self.max_percent is None:
            raise ValueError("a null rate needs `min_percent`, `max_percent` or both")
        if (self.min_percent or 0) > (100 if self.max_percent is None else self.max_percent):
            raise ValueError("`min_percent` is more than `max_percent`")
        return self

    def title(self) -> Sequence[str]:
        return (self.kind, self.column)

    def cells(self, model: Model) -> Sequence[str]:
        return [f"count_if({quoted(self.column)} IS NULL)"]

    def samples(self, look: AuditScope) -> Sequence[str]:
        if self.max_percent is None:
            return ()
        selected = f"{interval_text(look.model)} AS {INTERVAL}, {key_text(look.model.grain, look.model.mask)} AS sample"
        return [f"SELECT {selected} FROM {look.tables.rows()} WHERE {quoted(self.column)} IS NULL"]

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        empty = here.failures.get(self.called, 0)
        if not here.rows:
            return AuditVerdict(passed=True, failures=0, observed="no rows")
        percent = empty / here.rows * 100
        low, high = self.min_percent, self.max_percent
        good = (low is None or percent >= low) and (high is None or percent <= high)
        return AuditVerdict(
            passed=good,
            failures=0 if good else max(empty, 1),
            observed=f"{empty} of {here.rows} rows are NULL ({percent:.2f} %)",
        )

    def rule(self, model: Model) -> str:
        return f"{bounds(self.min_percent, self.max_percent, ' %')} of {self.column} is NULL"
