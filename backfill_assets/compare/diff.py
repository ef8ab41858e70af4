"""What did a comparison find? Frozen values: a `Diff` of two sides, with all that was told of each model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from backfill_assets.core.intervals import NOTHING, Interval, Ranges

SAMPLE = 3
"""How many keys of each kind of row a diff shows, where nobody says."""
Value = int | float | Decimal | str | None
Kind = Literal["integer", "decimal", "float", "text", "nested"]
"""What is counted of a column: sums and percentiles of numbers, the least and greatest of text (and dates, instants),
NULLs only of what is nested. Booleans count as 0 and 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffColumn:
    """A column of either side. A type is None on the side that lacks the column."""

    name: str
    kind: Kind
    old_type: str | None
    new_type: str | None
    key: bool = False
    masked: bool = False
    was: str = ""
    """Its name on the old side, where only letters (capital or small) tell that from `name`."""

    @property
    def both(self) -> bool:
        return self.old_type is not None and self.new_type is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What a column holds, on one side of some rows. `distinct` is approximate (about 2 % off when there are many), and
    percentiles are of a sketch. What a kind does not have, or a mask hides, is None."""

    nulls: int = 0
    distinct: int | None = None
    mean: float | None = None
    sum: Value = None
    p50: Value = None
    p95: Value = None
    min: Value = None
    max: Value = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMove:
    """A column in some rows, on both sides (None: the side lacks it). `changed` counts paired rows."""

    column: str
    changed: int
    old: Stats | None
    new: Stats | None

    @property
    def delta(self) -> float | None:
        """How much larger the new sum is; None where there is none."""
        if self.old is None or self.new is None or self.old.sum is None or self.new.sum is None:
            return None
        return float(sum_number(self.new.sum)) - float(sum_number(self.old.sum))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows by what became of them. Unpaired ones have a key that is there more than once, on either side.

    `old` and `new` are how many there are on each side. A pair whose rows are in different groups (a day, a slice) is
    counted as changed in the group of its new row.
    """

    old: int = 0
    new: int = 0
    unchanged: int = 0
    changed: int = 0
    added: int = 0
    removed: int = 0
    unpaired_old: int = 0
    unpaired_new: int = 0

    @property
    def paired(self) -> int:
        return self.unchanged + self.changed

    @property
    def same(self) -> bool:
        """Whether every row is as it was, as far as can be told."""
        return not (self.changed or self.added or self.removed or self.unpaired_old or self.unpaired_new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How the rows of each side spread over the values of a column: the most common values, or a histogram.

    `values` are the most common ones of both sides together, as text (None is NULL), with `old` and `new` rows of each,
    and last those of all others. A histogram has `edges` instead, in order: `old` and `new` are the rows below the
    first edge, between each and the next (not including it), and from the last one on; NULL and NaN are in none.
    """

    column: str
    values: tuple[str | None, ...] = ()
    edges: tuple[float, ...] = ()
    old: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    one_in: int = 1
    """Rows that were counted: all of them, or one in so many, by the hash of their key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Some rows: all of them, those of a day (or month), or those of a slice. `name` says which; None is NULL."""

    name: str | None
    rows: RowCounts
    moves: tuple[ColumnMove, ...]

    def move(self, column: str) -> ColumnMove | None:
        return next((m for m in self.moves if m.column == column), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The rows by the values of a column; `complete` unless it has more values than are told apart."""

    column: str
    groups: tuple[RowGroup, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What is wrong with the keys of a side: rows with a NULL in the key, and keys that are there more than once."""

    null_rows: int = 0
    duplicate_keys: int = 0
    duplicate_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SameFiles:
    """Days that were not read, because both sides show the same files: `commits` of one table, old and new."""

    interval: Interval
    version: str
    commits: tuple[int, int]
    rows: int

    def __str__(self) -> str:
        one, other = self.commits
        where = f"at commit {one}" if one == other else f"at commits {one} and {other}"
        return f"{self.interval}: the same files of {self.version} {where} ({self.rows:,} rows)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A row that changed, was added or removed, or is unpaired: values as text, masked ones as a salted hash."""

    kind: Literal["changed", "added", "removed", "unpaired"]
    key: tuple[tuple[str, str | None], ...]
    old: tuple[tuple[str, str | None], ...]
    new: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDiff:
    """One model on both sides. All counts but those in `proofs` are of the days in `compared`."""

    model: str
    grain: tuple[str, ...]
    time_column: str
    tolerance: float
    old: tuple[str, ...]
    """The tables that were read, or proved to be the same: `version at commit n`."""
    new: tuple[str, ...]
    compared: Ranges = NOTHING
    proofs: tuple[SameFiles, ...] = ()
    only_old: Ranges = NOTHING
    """Days that only one side shows: not compared."""
    only_new: Ranges = NOTHING
    until: str = ""
    """Where the old rows are not shown any more: the release that took them out of sight; "": they are."""
    old_keys: Keys = Keys()
    new_keys: Keys = Keys()
    columns: tuple[DiffColumn, ...] = ()
    total: RowGroup = RowGroup(name="", rows=RowCounts(), moves=())
    days: tuple[RowGroup, ...] = ()
    """By interval (by day, for hourly models), in order; with the columns that moved or are new, only."""
    slices: tuple[Slice, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    """Of the columns that moved or are new, in the order of `columns`."""
    samples: tuple[Sample, ...] = ()

    @property
    def proved(self) -> int:
        """Rows that are unchanged without having been read."""
        return sum(p.rows for p in self.proofs)

    @property
    def moved(self) -> tuple[ColumnMove, ...]:
        """The columns of both sides that hold something else than before, most of it first."""
        rows = max(self.total.rows.paired, 1)
        found = [m for m in self.total.moves if m.old is not None and m.new is not None and moved(m, self.tolerance)]
        return tuple(sorted(found, key=lambda m: (-m.changed / rows, -abs(share(m) or 0), m.column)))

    @property
    def same(self) -> bool:
        """Whether nothing is different: rows, values, columns and days."""
        other = any(not c.both or c.was for c in self.columns)
        return self.total.rows.same and not self.moved and not other and not self.only_old and not self.only_new


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Two sides of some models. Each side is named as it was asked for: `prod`, `plan-1f3a9c02`, `orders@1f3a`."""

    old: str
    new: str
    models: tuple[ModelDiff, ...]

    @property
    def same(self) -> bool:
        return all(m.same for m in self.models)

    def of(self, model: str) -> ModelDiff | None:
        return next((m for m in self.models if m.model == model), None)


def moved(move: ColumnMove, tolerance: float) -> bool:
    """Whether the column holds something else: a paired row's value, or what the rows hold together.

    Distinct values are approximate and percentiles are of a sketch: they do not decide.
    """
    if move.changed or move.old is None or move.new is None:
        return True
    one, other = move.old, move.new
    if one.nulls != other.nulls:
        return True
    return any(
        not equal(a, b, tolerance) for a, b in ((one.sum, other.sum), (one.min, other.min), (one.max, other.max))
    )


def equal(one: Value, other: Value, tolerance: float) -> bool:
    """Whether two values are the same: floats within the tolerance, NaN is NaN, all else exactly.

    >>> equal(0.1 + 0.2, 0.3, 1e-9), equal(float("nan"), float("nan"), 0), equal(Decimal("1.0"), Decimal("1.1"), 1)
    (True, True, False)
    """
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or (
            abs(one - other) < math.inf and abs(one - other) <= tolerance * max(abs(one), abs(other))
        )
    return one == other


def share(move: ColumnMove) -> float | None:
    """The change of the sum relative to the old one (0.1 is +10 %); None where there is none to relate to."""
    if move.delta is None or move.old is None or not (before := float(sum_number(move.old.sum))):
        return None
    return move.delta / abs(before) if math.isfinite(move.delta) and math.isfinite(before) else None


def sum_number(value: Value) -> int | float | Decimal:
    """A sum as a number."""
    return 0 if value is None or isinstance(value, str) else value


def most_moved(model: ModelDiff, at_most: int, columns: Sequence[str] = ()) -> tuple[DiffColumn, ...]:
    """The columns whose sums are worth looking at day by day, most moved first; `columns` come before all others."""
    there = {c.name: c for c in model.columns}
    names = [*columns, *(m.column for m in model.moved)]
    numeric = [there[n] for n in dict.fromkeys(names) if n in there and there[n].kind not in ("text", "nested")]
    return tuple([c for c in numeric if not c.key and not c.masked][:at_most])
