"""Is a metric close to what the intervals around have?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Annotated, Self

from pydantic import Field

from backfill_assets.audits.counts import AuditVerdict, Counts
from backfill_assets.audits.kinds.aggregate import Measured
from backfill_assets.audits.kinds.arguments import Metric, Reasons
from backfill_assets.audits.relations import INTERVAL, by_interval
from backfill_assets.audits.scope import AuditScope, Findings, Found, Passes, metric_number
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.model import Model
from backfill_assets.sql.expressions import columns_of
from backfill_assets.sql.text import interval_text

FEWEST_NEIGHBOURS = 3
"""A trend says nothing with fewer neighbours than this."""


class Trend(Measured):
    kind = "trend"
    example = "- trend: {metric: sum(clicks), max_change_percent: 50}"
    page = (
        (
            "- trend: {metric: sum(spend), max_change_percent: 50, neighbours: 7, explained: {2024-11-29: Black "
            "Friday}}",
            "the metric (`count(*)` when none is given) is that close to the median of the 7 intervals before "
            "and the 7 after it; or the interval is explained",
        ),
    )

    metric: Metric = "count(*)"
    max_change_percent: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
    neighbours: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 7
    explained: Reasons | None = None

    @classmethod
    def find_all(cls, audits: Sequence[Self], look: AuditScope, passes: Passes, found: Findings) -> None:
        super().find_all(audits, look, passes, found)
        outside = _around(audits, look)
        shift = look.model.cadence.shift
        for audit in audits:
            inside = {at: found.values[audit.called].get(at, 0) for at in look.starts}
            everything = outside[audit.called] | inside
            steps = [step for step in range(-audit.neighbours, audit.neighbours + 1) if step]
            found.neighbours[audit.called] = {
                at: tuple(
                    value for step in steps if (value := metric_number(everything.get(shift(at, step)))) is not None
                )
                for at in look.starts
            }

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        value, near = here.values.get(self.called) or 0.0, here.neighbours.get(self.called, ())
        said = self.said(model, value)
        if len(near) < FEWEST_NEIGHBOURS:
            few = f"{said}, {len(near)} neighbours are too few to compare"
            return AuditVerdict(passed=True, failures=0, observed=few)
        usual = median(near)
        moved = (value - usual) / abs(usual) * 100 if usual else math.copysign(math.inf, value) if value else 0.0
        good = abs(moved) <= self.max_change_percent
        observed = f"{said}, {moved:+.1f} % from {self.said(model, usual)} around it"
        if not good and (reason := self._explanation(model, interval)) is not None:
            return AuditVerdict(passed=True, failures=0, observed=f"{observed}; explained: {reason}")
        return AuditVerdict(passed=good, failures=int(not good), observed=observed)

    def rule(self, model: Model) -> str:
        return (
            f"{self.metric} within ±{self.max_change_percent:g} % of the median of the {self.neighbours} intervals "
            "before and after"
        )

    def _explanation(self, model: Model, interval: Interval) -> str | None:
        """The reason that is given for what happened in an interval."""
        reasons = (self.explained or {}).items()
        return next((r for at, r in reasons if model.cadence.floor(utc(at)) == interval.start), None)


def _around(audits: Sequence[Trend], look: AuditScope) -> Found:
    """Of each trend, the values of the intervals near the judged ones, as far as they are built or shown."""
    around = look.tables.around()
    found: Found = {audit.called: {} for audit in audits}
    able = [a for a in audits if around and all(c.lower() in around.columns for c in columns_of(a.metric))]
    if around is None or not able:
        return found
    assert around.covers is not None
    selected = ", ".join(f"CAST({a.metric}\n AS DOUBLE) AS bf_{n}" for n, a in enumerate(able))
    at = interval_text(look.model)
    rows = by_interval(look.tables.ask(f"SELECT {at} AS {INTERVAL}, {selected} FROM {around.view} GROUP BY {at}"))
    for n, audit in enumerate(able):
        for unit in around.covers.split(look.model.cadence):
            row = rows.get(unit.start)
            found[audit.called][unit.start] = row[f"bf_{n}"] if row else 0
    return found
