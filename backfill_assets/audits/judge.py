"""Did the audits pass? Verdicts from what the scan counted: one result per audit and interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Audit, Model


def judge(
    model: Model,
    version: str,
    batch: str,
    intervals: Iterable[Interval],
    counts: Mapping[datetime, Counts],
    *,
    prod_rows: Mapping[datetime, int],
    at: datetime,
) -> list[AuditResult]:
    """A result for each audit of the model in each interval.

    `counts` and `prod_rows` are keyed by interval start. An audit that finds nothing to compare with (no rows in prod)
    passes and says so.
    """
    from backfill_assets.audits.kinds import kind_of  # a parser and pydantic, which planning does not need

    found: list[AuditResult] = []
    kinds = [(audit, kind := kind_of(audit), kind.expectation(model)) for audit in model.audits]
    for interval in intervals:
        here = counts.get(interval.start, Counts())
        for audit, kind, expected in kinds:
            said = kind.verdict(model, interval, here, prod_rows.get(interval.start))
            found.append(
                AuditResult(
                    model=model.name,
                    version=version,
                    batch=batch,
                    interval=interval,
                    check=audit.name,
                    blocking=audit.blocking,
                    passed=said.passed,
                    failures=said.failures,
                    observed=said.observed,
                    expected=expected,
                    at=at,
                )
            )
    return found


def red(results: Iterable[AuditResult]) -> Ranges:
    """The intervals in which a blocking audit failed."""
    return Ranges.of(r.interval for r in results if r.blocking and not r.passed)


def expected_text(model: Model, audit: Audit) -> str:
    """What the audit expects, in words, with its thresholds."""
    from backfill_assets.audits.kinds import kind_of

    return kind_of(audit).expectation(model)
