"""Can every row that a pointer shows have the types of its view? Safe casts only: else nobody can read the view."""

from __future__ import annotations

from dataclasses import dataclass

from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.sql.types import safe_cast

ONE_TYPE = "cast the column in the query to what it was, or rebuild all days: backfill apply, without --forward-only"
"""What gives all rows of a column one type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoTypes:
    """A column of a view whose stored values cannot be cast safely to the view's type, for some of its days."""

    name: str
    kind: str
    """The view's type."""
    stored_kind: str
    intervals: Ranges
    """What is stored as that."""

    def __str__(self) -> str:
        return f"column {self.name} is {self.kind}, but {self.stored_kind} in the rows of"


def two_types(pointer: Pointer) -> tuple[TwoTypes, ...]:
    """The columns that a pointer's view cannot show, in its order: nobody can read it. A type that is not known yet
    (empty) is not among them.

    >>> from backfill_assets.core.intervals import Interval, utc
    >>> from backfill_assets.core.segments import Segments
    >>> days = Interval(utc("2024-01-01"), utc("2024-01-03"))
    >>> old = Segment(version="1", commit=0, interval=days, columns=(("v", "bigint"),))
    >>> shown = Pointer(
    ...     model="m", time_column="ds", timestamps=False, columns=(("v", "string"),), segments=Segments([old])
    ... )
    >>> [f"{one} {one.intervals}" for one in two_types(shown)]
    ['column v is string, but bigint in the rows of 2024-01-01..2024-01-02']
    """
    stored: dict[tuple[tuple[str, str], ...], list[Interval]] = {}
    for segment in pointer.segments:
        if (columns := segment.columns or pointer.columns) != pointer.columns:
            stored.setdefault(columns, []).append(segment.interval)
    there = [({name.lower(): kind for name, kind in columns}, parts) for columns, parts in stored.items()]
    found: dict[tuple[str, str, str], list[Interval]] = {}
    for name, kind in pointer.columns:
        for kinds, parts in there:
            if kind and (other := kinds.get(name.lower())) and not safe_cast(other, kind):
                found.setdefault((name, kind, other), []).extend(parts)
    return tuple(
        TwoTypes(name=name, kind=kind, stored_kind=other, intervals=Ranges.of(parts))
        for (name, kind, other), parts in found.items()
    )


def two_types_error(pointer: Pointer, column: TwoTypes) -> StateError:
    """The refusal to read a column that a view cannot show."""
    return StateError(
        f"{pointer.model} cannot be read: {column} {column.intervals}",
        why=not_safe(column.stored_kind, column.kind),
        fix=f"read the days of one type, or the other columns; {ONE_TYPE}",
    )


def not_safe(stored_kind: str, kind: str) -> str:
    """Why rows of one type are not shown as the other."""
    return f"{stored_kind} cannot be cast safely to {kind}: values could be lost, or compare otherwise"


def stored_columns(pointer: Pointer, segment: Segment) -> dict[str, tuple[str, str]]:
    """The columns of a segment's table, name and type, by name (lower-cased)."""
    return {name.lower(): (name, kind) for name, kind in segment.columns or pointer.columns}
