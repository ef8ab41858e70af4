"""What may an audit look at when it counts or shows failures, and where does it put what it counted?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.relations import ROWS, Relations, Row
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model

Found = dict[str, dict[datetime, Any]]
"""Audit name → interval start → a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditScope:
    """The intervals of a model that are judged, by `starts`, and the tables to ask."""

    model: Model
    intervals: Ranges
    tables: Relations

    @property
    def starts(self) -> Sequence[datetime]:
        return [unit.start for unit in self.intervals.split(self.model.cadence)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """What the passes over the rows gave: `rows` by interval start, `cells` their columns by audit name.

    `expected` has, of audits that ask how many there should be, that number under the name of their first cell.
    """

    rows: Mapping[datetime, Row]
    cells: Mapping[str, tuple[str, ...]]
    expected: Row


@dataclass(frozen=True, slots=True)
class Findings:
    """What the audits counted, to be filled by them; see `Counts`."""

    failures: Found = field(default_factory=dict[str, dict[datetime, Any]])
    totals: Found = field(default_factory=dict[str, dict[datetime, Any]])
    values: Found = field(default_factory=dict[str, dict[datetime, Any]])
    neighbours: Found = field(default_factory=dict[str, dict[datetime, Any]])
    nothing: dict[str, set[datetime]] = field(default_factory=lambda: defaultdict(set))
    unfinished: dict[str, set[datetime]] = field(default_factory=lambda: defaultdict(set))

    def counts(self, at: datetime, row: Row | None) -> Counts:
        """Those of the interval that starts at an instant; `row` is what the passes gave of it."""
        return Counts(
            rows=row[ROWS] if row else 0,
            failures={name: int(found.get(at) or 0) for name, found in self.failures.items()},
            totals={name: int(found.get(at, 0)) for name, found in self.totals.items()},
            values={name: metric_number(found.get(at)) for name, found in self.values.items()},
            neighbours={name: found[at] for name, found in self.neighbours.items()},
            nothing=frozenset(name for name, found in self.nothing.items() if at in found),
            unfinished=frozenset(name for name, found in self.unfinished.items() if at in found),
        )


def metric_number(value: Any) -> float | None:
    """A metric as Spark gives it."""
    return None if value is None else float(value)
