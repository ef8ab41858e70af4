"""Is a new column filled as far as its author expects? A share of the rows, from a day on, against what was found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backfill_assets.compare.diff import Diff
from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import Interval, Ranges, utc

FILLING = "coverage"
"""Where the document of a comparison says what was found."""
OPTION = "--expect-filled"
_SAID = re.compile(r"([^.=]+)\.([^=]+)=([0-9]{1,3}(?:\.[0-9]+)?)%(?:@(.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFilling:
    """At least so many of the rows of a column have a value, of the days from `since` on (None: of all)."""

    model: str
    column: str
    percent: float
    since: datetime | None = None

    def __str__(self) -> str:
        return f"{self.model}.{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What was found of one expectation."""

    expected: ExpectedFilling
    rows: int = 0
    filled: int = 0
    instead: str = ""
    """Why nobody could count; "": it was."""

    @property
    def met(self) -> bool:
        """Whether it is as expected; not where there is no row, or nobody could count."""
        return not self.instead and self.rows > 0 and 100 * self.filled >= self.expected.percent * self.rows

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {"of": str(self.expected), "ok": self.met, "rows": self.rows, "filled": self.filled, "found": str(self)}

    def __str__(self) -> str:
        since = f" since {self.expected.since:%Y-%m-%d}" if self.expected.since else ""
        wanted = f"expected are {self.expected.percent:g} %"
        if self.instead or not self.rows:
            return f"{self.expected} {self.instead or f'has no row{since}'}; {wanted}"
        share = 100 * self.filled / self.rows
        return f"{self.expected} has a value in {self.filled:,} of {self.rows:,} rows{since} ({share:.1f} %); {wanted}"


def expected_filling(texts: Sequence[str], columns: Mapping[str, Sequence[str]]) -> list[ExpectedFilling]:
    """What `model.column=95%@2023-06-01` says, of each text; `columns` are the known ones of each model.

    Raises UsageError for what is not understood, and for names that nobody knows.
    """
    return [_expected(text.strip(), columns) for text in texts]


def found_filling(diff: Diff, expected: Sequence[ExpectedFilling]) -> tuple[Filling, ...]:
    """How far each column is filled on the new side, in the days that both sides show."""
    return tuple(_found(diff, one) for one in expected)


def _found(diff: Diff, one: ExpectedFilling) -> Filling:
    model = diff.of(one.model)
    if model is None or not model.compared:
        return Filling(expected=one, instead="was not compared")
    column = next((c for c in model.columns if c.name.lower() == one.column.lower()), None)
    if column is None or column.new_type is None:
        return Filling(expected=one, instead="is not on the new side")
    if column.old_type is not None:
        return Filling(expected=one, instead="is no new column: null_rate audits how far it is filled")
    parts = [p.interval for p in model.proofs if p.rows and (one.since is None or p.interval.end > one.since)]
    if same := Ranges.of(Interval(max(part.start, one.since or part.start), part.end) for part in parts):
        why = f"was not counted in {same}, where both sides show the same files: name the day that it is filled from"
        return Filling(expected=one, instead=why)
    rows = filled = 0
    for group in model.days:
        if group.name is None or (one.since and utc(group.name) < one.since):
            continue
        move = group.move(column.name)
        if not group.rows.new:
            continue
        if move is None or move.new is None:
            return Filling(expected=one, instead=f"was not counted on {group.name}")
        rows, filled = rows + group.rows.new, filled + group.rows.new - move.new.nulls
    return Filling(expected=one, rows=rows, filled=filled)


def _expected(text: str, columns: Mapping[str, Sequence[str]]) -> ExpectedFilling:
    said = _SAID.fullmatch(text)
    percent = float(said[3]) if said else 0.0
    if said is None or not 0 < percent <= 100:
        raise UsageError(
            f"{OPTION} {text} is not understood",
            why="it names a column, in how many of its rows it has a value (up to 100%), and from which day on",
            fix=f"write {OPTION} MODEL.COLUMN=95%, or {OPTION} MODEL.COLUMN=95%@2023-06-01",
        )
    model, column = said[1].strip(), said[2].strip()
    if model not in columns:
        raise UsageError(
            f"{OPTION} {text} names no model",
            why=f"the project has: {', '.join(columns)}",
            fix="write MODEL.COLUMN=95%",
        )
    known = {c.lower(): c for c in columns[model]}
    if known and column.lower() not in known:
        raise UsageError(
            f"{OPTION} {text} names no column of {model}", why=f"it has: {', '.join(known.values())}", fix="name one"
        )
    try:
        since = utc(said[4].strip()) if said[4] else None
    except ValueError:
        raise UsageError(
            f"{OPTION} {text} names no day",
            why="it must be ISO 8601",
            fix=f"write {OPTION} {model}.{column}=95%@2023-06-01",
        ) from None
    return ExpectedFilling(model=model, column=known.get(column.lower(), column), percent=percent, since=since)
