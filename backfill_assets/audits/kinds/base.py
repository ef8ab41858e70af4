"""What is every audit asked? Its keys in a header, its SQL, its verdict and its words; a kind answers what differs.

Planning asks none of this: what an audit looks at is in its stored arguments (`audits/reads.py`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import PrivateAttr

from backfill_assets.audits.counts import AuditVerdict, Counts
from backfill_assets.audits.kinds.arguments import Condition, Tolerance
from backfill_assets.audits.lookup import Pairs, lookup_join
from backfill_assets.audits.reads import once, other_table
from backfill_assets.audits.relations import INTERVAL
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Audit, Model
from backfill_assets.files.validation import Strict
from backfill_assets.sql.text import interval_text, key_text

BITS = 62
"""Known records, or declared entities, that one number tells apart."""


class AuditKind(Strict):
    """A kind of audit: its fields are the keys of its entry in a header, an instance is one audit of a model."""

    kind: ClassVar[str]
    example: ClassVar[str] = ""
    """An entry that loads, for remedies; none of a kind that is not declared."""
    page: ClassVar[Sequence[tuple[str, str]]]
    """Examples, each with when it passes in an interval: the kind's rows in docs/audits.md."""
    short: ClassVar[str] = ""
    """The one important key, whose value may stand alone: `- not_null: [ds]`."""
    by_interval: ClassVar[bool] = False
    """Whether another table's rows are needed by the model's intervals."""

    name: str | None = None
    severity: Literal["error", "warn"] = "error"
    _audit: Audit = PrivateAttr()

    @classmethod
    def stored(cls, audit: Audit) -> Self:
        """The kind of an audit with the audit's arguments, which were checked when its header was read."""
        found = cls.model_construct(**cast(Mapping[str, Any], audit.arguments))
        found._audit = audit
        return found

    @property
    def audit(self) -> Audit:
        """The audit that is asked."""
        return self._audit

    @property
    def called(self) -> str:
        """The audit's name."""
        return self._audit.name

    # What a header says.

    def title(self) -> Sequence[str]:
        """The parts of the name of an audit that is not given one."""
        return (self.kind,)

    def wrong(self, grain: Sequence[str], time_column: str) -> Iterator[tuple[str, str, str]]:
        """What does not fit the model's key: what, why and the remedy of each."""
        yield from ()

    def compared(self) -> Iterator[tuple[str, object]]:
        """Each column with each value that it is compared with."""
        yield from ()

    def timed(self) -> Sequence[str]:
        """The columns that it takes for dates or instants."""
        return ()

    def looked_up(self) -> Pairs:
        """The columns whose values are looked up in another table."""
        return ()

    def there(self) -> Sequence[str]:
        """The columns of the other table that the audit names."""
        return [there for _, there in self.looked_up()]

    # What is asked of the rows.

    def cells(self, model: Model) -> Sequence[str]:
        """SQL of the aggregates that it needs of each interval, in the pass over all rows; none when that cannot tell.

        By default the first one counts what fails.
        """
        return ()

    def distinct(self, model: Model) -> str:
        """What it counts the distinct values of, if anything: that may need a pass of its own."""
        return ""

    def join(self, views: Mapping[str, str]) -> str:
        """The join that its aggregates need; "" for none."""
        other = other_table(self.audit.arguments)
        pairs = self.looked_up()
        return lookup_join(self.called, pairs, views[other]) if pairs and other is not None else ""

    def expected(self, views: Mapping[str, str]) -> str:
        """A query of one number that it compares the first aggregate with; "" for none."""
        return ""

    @classmethod
    def find_all(cls, audits: Sequence[Any], look: AuditScope, passes: Passes, found: Findings) -> None:
        """Counts for all of the model's audits of this kind: some ask one query together."""
        for audit in audits:
            audit.find(look, passes, found)

    def find(self, look: AuditScope, passes: Passes, found: Findings) -> None:
        """Counts for this audit."""
        if cells := passes.cells.get(self.called):
            found.failures[self.called] = {at: row[cells[0]] for at, row in passes.rows.items()}

    def samples(self, look: AuditScope) -> Sequence[str]:
        """Queries of INTERVAL (NULL: any) and `sample`: what fails; none for an audit of whole intervals."""
        return ()

    # What is made of it.

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        """Whether the interval passes. `prod` is how many rows the environment shows of it, None when it shows none."""
        bad, total = here.failures.get(self.called, 0), here.totals.get(self.called, here.rows)
        allowed = self.tolerated(total)
        observed = self.observed(bad, total) + ("" if allowed is None else f", {allowed} tolerated")
        return AuditVerdict(passed=bad <= (allowed or 0), failures=bad, observed=observed)

    def tolerated(self, total: int) -> int | None:
        """How many failures of this many it puts up with; None where it says nothing of that."""
        return None

    def observed(self, bad: int, total: int) -> str:
        """What was found, in words."""
        return f"{bad} failing of {total} rows"

    def expectation(self, model: Model) -> str:
        """What is expected, in words, with the thresholds."""
        return self.rule(model) + self.exceptions()

    @abstractmethod
    def rule(self, model: Model) -> str:
        """The same, of what is looked at, without what is tolerated."""

    def exceptions(self) -> str:
        """What is left out or tolerated, in words."""
        return ""

    def meaning(self, model: Model) -> str:
        """A sentence for somebody who does not read SQL; "" where `expectation` is clear enough."""
        return ""


class Tolerant(AuditKind):
    """Counts what fails, and passes while that is not more than is tolerated."""

    tolerate: Tolerance | None = None

    def tolerated(self, total: int) -> int | None:
        limit = self.tolerate
        return math.floor(total * float(limit.rstrip("%")) / 100) if isinstance(limit, str) else limit

    def exceptions(self) -> str:
        limit = self.tolerate
        return "" if limit is None else f"; up to {limit} {'' if isinstance(limit, str) else 'rows '}tolerated"


class Filtered(Tolerant):
    """Looks at those rows only for which `where` holds."""

    where: Condition | None = None

    def exceptions(self) -> str:
        return ("" if self.where is None else f", where {self.where}") + super().exceptions()


class RowCheck(Filtered):
    """Is true or false of each row by itself."""

    @abstractmethod
    def broken(self, model: Model) -> str:
        """The condition that is true for a row that fails, whatever `where` says."""

    @abstractmethod
    def decisive(self) -> Sequence[str]:
        """The columns whose values decide: what somebody wants to see of a row that fails."""

    def failing(self, model: Model) -> str:
        """The condition that is true for a row that fails."""
        # An author's text may end in a comment: what follows it is on a line of its own.
        broken = self.broken(model)
        return broken if self.where is None else f"({broken}) AND ({self.where}\n)"

    def cells(self, model: Model) -> Sequence[str]:
        return [f"count_if({self.failing(model)})"]

    def samples(self, look: AuditScope) -> Sequence[str]:
        model, tables = look.model, look.tables
        other = other_table(self.audit.arguments)
        join = self.join({} if other is None else {other: tables.table(other).view})
        shown = key_text(once((*model.grain, *self.decisive())), model.mask)
        return [
            f"SELECT {interval_text(model)} AS {INTERVAL}, {shown} AS sample "
            f"FROM {tables.rows()}{join and f' {join}'} WHERE {self.failing(model)}"
        ]

    def rule(self, model: Model) -> str:
        return f"no row with {self.broken(model)}"


def interval_literal(start: datetime) -> str:
    """INTERVAL of the interval that starts at an instant."""
    return f"'{start:%Y-%m-%d %H:%M}'"


def bounds(low: Any, high: Any, unit: str = "") -> str:
    """Between which numbers, in words; one of them may be None."""
    if low is None:
        return f"at most {plain(high)}{unit}"
    if high is None:
        return f"at least {plain(low)}{unit}"
    return f"between {plain(low)} and {plain(high)}{unit}"


def plain(value: float | None) -> str:
    """A metric's value in words."""
    return "NULL" if value is None else f"{value:.12g}"
