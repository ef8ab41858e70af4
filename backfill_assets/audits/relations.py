"""What do audits ask their questions of? The rows that they judge and everything beside them, as views of a session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Audit
from backfill_assets.sql.text import bucket, within

Row = Mapping[str, Any]
INTERVAL, ROWS = "bf_interval", "bf_rows"
"""Columns of what is asked: the start of an interval as text `yyyy-MM-dd HH:mm`, and how many rows it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTable:
    """A view that audits look at.

    `time_column` says when rows are of, by days where these are `dates`; "" when nothing does. `columns` are
    lower-cased and in order, and so are those in `mask`, whose values nobody should see.
    """

    view: str
    columns: Sequence[str]
    time_column: str = ""
    dates: bool = False
    covers: Ranges | None = None
    """The time that the table has rows for; None when nobody knows of any that it lacks."""
    mask: Collection[str] = frozenset()

    def start(self, cadence: Cadence) -> str:
        """SQL for INTERVAL of the interval of a cadence that a row is in."""
        return bucket(self.time_column, cadence)

    def within(self, interval: Interval) -> str:
        """SQL for a row to be in an interval, in the column's type: so that partitions are left out."""
        midnights = all(at.hour == at.minute == 0 for at in (interval.start, interval.end))
        return within(self.time_column, [interval], timestamps=not (self.dates and midnights))


class Relations(Protocol):
    """Views over exactly what one audit is about."""

    def rows(self) -> str:
        """The view of the rows to judge: of the audited intervals only."""
        ...

    def columns(self) -> Sequence[str]:
        """The columns of these rows, lower-cased."""
        ...

    def count(self) -> int:
        """About how many rows there are to judge."""
        ...

    def shown(self) -> AuditedTable | None:
        """What the environment shows of the model, in other tables than the one that is judged; None: nothing."""
        ...

    def around(self) -> AuditedTable | None:
        """Built or shown intervals near the audited ones, without them; None: nothing."""
        ...

    def whole(self) -> AuditedTable:
        """All rows of the version that is judged, of any interval, and of what stays beside it; `covers` is what of it
        is built."""
        ...

    def table(self, name: str) -> AuditedTable:
        """Another model, or a source."""
        ...

    def failures(self, audit: Audit, part: Interval) -> AuditedTable:
        """What an `sql` audit's query gives for this part of the rows to judge."""
        ...

    def ask(self, query: str) -> Sequence[Row]:
        """The rows of a query."""
        ...


def by_interval(rows: Sequence[Row]) -> dict[datetime, Row]:
    """Rows by the start of the interval that they are about."""
    return {interval_start(row[INTERVAL]): row for row in rows if row[INTERVAL] is not None}


def interval_start(text: str) -> datetime:
    """The instant that INTERVAL says."""
    return utc(text.replace(" ", "T"))
