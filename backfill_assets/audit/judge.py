"""Did the audits pass? Verdicts from what the scan counted: one result per audit and interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from backfill_assets.audit.compile import failing
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.snapshots.model import Audit, Model
from backfill_assets.state.results import AuditResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the scan found in one interval: rows, and failing rows by audit name."""

    rows: int = 0
    failures: Mapping[str, int] = field(default_factory=dict[str, int])


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

    `counts` and `prod_rows` are keyed by interval start; an interval without rows is in neither. An audit that finds
    nothing to compare with (no rows in prod) passes and says so.
    """
    found: list[AuditResult] = []
    for interval in intervals:
        here = counts.get(interval.start, Counts())
        for audit in model.audits:
            failures, observed, expected = _verdict(model, audit, here, prod_rows.get(interval.start))
            found.append(
                AuditResult(
                    model=model.name,
                    version=version,
                    batch=batch,
                    interval=interval,
                    check=audit.name,
                    blocking=audit.blocking,
                    passed=failures == 0,
                    failures=failures,
                    observed=observed,
                    expected=expected,
                    at=at,
                )
            )
    return found


def red(results: Iterable[AuditResult]) -> Ranges:
    """The intervals in which a blocking audit failed."""
    return Ranges.of(r.interval for r in results if r.blocking and not r.passed)


def describe(model: Model, audit: Audit) -> str:
    """What the audit expects, in words, with its thresholds."""
    return _verdict(model, audit, Counts(), None)[2]


def _verdict(model: Model, audit: Audit, here: Counts, prod: int | None) -> tuple[int, str, str]:
    """Failures, what was observed, what was expected."""
    arguments = audit.arguments
    match audit.kind:
        case "completeness":
            least = int(cast(int, arguments.get("min_rows") or 1))
            return max(least - here.rows, 0), f"{here.rows} rows", f"at least {least} row{'s' * (least != 1)}"
        case "row_count":
            percent = float(cast(float, arguments["within_percent"]))
            other = str(arguments.get("of") or "prod")
            expected = f"rows within ±{percent:g} % of {other}"
            if prod is None:
                return 0, f"{here.rows} rows, nothing in {other} to compare with", expected
            moved = abs(here.rows - prod) / prod * 100 if prod else (0.0 if not here.rows else 100.0)
            return int(moved > percent), f"{here.rows} rows, {other} has {prod} ({moved:.2f} % apart)", expected
        case "unique_grain":
            columns = arguments.get("columns") or model.grain
            expected = f"one row per {', '.join(cast(tuple[str, ...], columns))}"
        case "stable_key":
            expected = "no key that is in another interval, too"
        case _:
            expected = f"no row with {failing(audit)}"
    bad = here.failures.get(audit.name, 0)
    return bad, f"{bad} failing of {here.rows} rows", expected
