"""Is a metric of the interval within its bounds?"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import model_validator

from backfill_assets.audits.counts import AuditVerdict, Counts
from backfill_assets.audits.kinds.arguments import Metric, Number
from backfill_assets.audits.kinds.base import AuditKind, bounds, plain
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import Interval
from backfill_assets.core.masking import HIDDEN, metric_hidden
from backfill_assets.core.model import Model


class Measured(AuditKind):
    """Looks at one number of each interval."""

    metric: Metric

    def cells(self, model: Model) -> Sequence[str]:
        return [f"CAST({self.metric}\n AS DOUBLE)"]

    def distinct(self, model: Model) -> str:
        return self.called if "distinct" in self.metric.lower() else ""

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        (cell,) = passes.cells[self.called]
        found.values[self.called] = {at: row[cell] for at, row in passes.rows.items()}

    def said(self, model: Model, value: float | None) -> str:
        """A value, unless it may be one of a masked column, as `max(salary)` is."""
        return HIDDEN if metric_hidden(self.metric, model.mask) else plain(value)


class Aggregate(Measured):
    kind = "aggregate"
    example = "- aggregate: {metric: sum(spend), min: 0}"
    page = (("- aggregate: {metric: sum(spend), min: 0, max: 1000000}", "the metric is within the bounds; NULL fails"),)

    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Aggregate:
        if self.min is None and self.max is None:
            raise ValueError("an aggregate needs `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("`min` is more than `max`")
        return self

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        if not here.rows:
            return AuditVerdict(passed=True, failures=0, observed="no rows")
        value, low, high = here.values.get(self.called), self.min, self.max
        good = value is not None and (low is None or value >= low) and (high is None or value <= high)
        return AuditVerdict(passed=good, failures=int(not good), observed=f"{self.metric} is {self.said(model, value)}")

    def rule(self, model: Model) -> str:
        return f"{self.metric} is {bounds(self.min, self.max)}"
