"""What was counted in an interval, and does it pass? Values between the scan and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the audits found in one interval, by audit name where it is not about all.

    `totals` are what there is to compare where that is not rows (groups, entities, known records); `values` are
    metrics, `neighbours` those of the intervals around it; `nothing` names audits that had nothing to compare with,
    `unfinished` those whose period is not built as a whole yet.
    """

    rows: int = 0
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    totals: Mapping[str, int] = field(default_factory=dict[str, int])
    values: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    neighbours: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    nothing: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict:
    """`failures` of what was counted, or 1 for an interval that fails as a whole."""

    passed: bool
    failures: int
    observed: str
