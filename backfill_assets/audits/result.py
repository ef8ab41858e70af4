"""What did an audit find in an interval?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from backfill_assets.core.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """One check's verdict on one interval. `observed` and `expected` are for people; `sample` holds failing keys."""

    model: str
    version: str
    batch: str
    interval: Interval
    check: str
    blocking: bool
    passed: bool
    failures: int
    observed: str
    expected: str
    sample: tuple[str, ...] = ()
    at: datetime
