"""A model of another tool, in the same form whichever tool it is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from backfill_assets.importing.found import Remark, ToCheck, Untranslatable

Entry = Mapping[str, object]
"""An audit as a header has it."""


class ForeignKind(StrEnum):
    """How the other tool computes a model."""

    INTERVALS = "intervals"
    """By intervals of time: the query, or its inputs, are cut to them."""
    FILTERED = "filtered"
    """By what is new, with rows of a time: all of it at a full refresh."""
    TABLE = "table"
    """All of it, each time, into a table."""
    VIEW = "view"
    """Never stored."""
    PART = "part"
    """Not even there: a part of the queries that read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One model. `key` is how queries name it, lower-cased; `said` how people do; `table` where its rows are.

    `cut` are inputs that the tool cuts to the interval, by their keys, with the column by which. `by_key`: rows of a
    key replace older ones. `guessed`: the grain, or that key, is what the tool deletes by: it need not be unique.
    `columns` are Spark types, as far as the tool declares them. `run` is the cadence of which one run there computes
    one interval, empty for another time. `batch` is how many it computes at once where several are missing, 0 for all.
    `end` is the first instant that it does not have. `inferred`: the tool makes the table with types that it infers
    from the query.
    """

    key: str
    said: str
    name: str
    file: str
    line: int
    kind: ForeignKind
    dialect: str
    query: str
    query_line: int = 1
    time_column: str = ""
    time_format: str | None = ""
    """Of the time column's texts, as Spark has it: empty for what a cast reads, None for what Spark does not read."""
    start: date | None = None
    end: date | None = None
    cadence: str = "daily"
    run: str = "daily"
    batch: int = 1
    inferred: bool = False
    header: Mapping[str, object] = field(default_factory=dict[str, object])
    grain: tuple[str, ...] = ()
    by_key: tuple[str, ...] = ()
    guessed: bool = False
    audits: tuple[Entry, ...] = ()
    cut: Mapping[str, str] = field(default_factory=dict[str, str])
    table: str = ""
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    described: Mapping[str, str] = field(default_factory=dict[str, str])
    checks: tuple[ToCheck, ...] = ()
    remarks: tuple[Remark, ...] = ()
    problem: Untranslatable | None = None
    """Why it cannot be translated, whatever its query says."""

    def check(self, line: int, what: str, why: str = "") -> ToCheck:
        """Something to look at, at a line of the model's file."""
        return ToCheck(model=self.said, place=f"{self.file}:{line}", what=what, why=why)
