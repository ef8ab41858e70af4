"""What came of a build? Its result, for exit codes, reports and Dagster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.state.changes import Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedInterval:
    """A batch that gave up, with its last error's text."""

    interval: Interval
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Intervals that were not tried, because an upstream lacks what they need."""

    intervals: Ranges
    upstream: str
    needs: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a build did for one model. `green` is what of the requested intervals is complete now, whoever built it.

    `seconds` are summed over batches by phase (`write`, `audit`, `record`); batches overlap, so they may exceed `wall`,
    which is from the first batch on, without opening Spark.
    """

    model: str
    version: str
    requested: Ranges
    green: Ranges
    partial: Ranges = NOTHING
    """What of `green` is of an interval that is still open."""
    built: Ranges = NOTHING
    red: Ranges = NOTHING
    rowless: Ranges = NOTHING
    """What of the audited intervals passed without a row: nobody said that it must have some."""
    unsteady: tuple[str, ...] = ()
    """Columns of which a batch gave other values when it was computed once more."""
    failures: tuple[FailedInterval, ...] = ()
    waits: tuple[Wait, ...] = ()
    results: tuple[AuditResult, ...] = ()
    rows: int = 0
    bytes: int = 0
    changes: Changes | None = None
    """What the batches of a merged model did to rows, together."""
    wall: float = 0.0
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def doubt(self) -> str:
        """What is odd about rows that were built, in words; "" for nothing."""
        if not self.unsteady:
            return ""
        return (
            f"{self.model} has other values of {', '.join(self.unsteady)} each time that it is computed: nobody can "
            "build these rows again. Take them from what it reads alone; or say why it does not matter: "
            "allow_nondeterministic"
        )

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for is complete and audited green."""
        return not (self.requested - self.green)
