"""Where do records live? The few operations that every control table offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, cast

from backfill_assets.state.columns import Columns, Texts, micros

if TYPE_CHECKING:
    from backfill_assets.state.columns import Flags

ColumnType = Literal["text", "time", "int", "float", "bool"]
Row = Mapping[str, object]
Filter = Mapping[str, Collection[str]]
"""Text column → the values that are wanted; an empty filter wants every row."""


Keep = Callable[[Columns], "Flags"]
"""Says of some rows, by a few of their columns, which ones are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """A control table's name and its columns, in order."""

    name: str
    columns: Mapping[str, ColumnType]
    partition: str = ""
    """The text column, if any, by whose values rows are kept apart: reading one value does not touch the others."""
    sequence: str = ""
    """The int column, if any, that the table fills by itself: a row's number in the order of commits, whatever clocks
    say. 0 in rows of releases that had no such column."""
    grows: bool = False
    """Whether it gets rows for ever and no record is ever replaced: its small files are joined as part of appending,
    and what is old of its log is removed. Needs a `sequence`."""
    secret: bool = False
    """Whether only the account of the warehouse and its group may read it, where that is a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """The rows of a table that grows whose number is not larger than `last`: all that there will ever be of them. They
    are the same where the name is."""

    name: str
    last: int


class ControlTable(Protocol):
    """A small table with optimistic concurrency. Appends never conflict; replacements name the revision they saw."""

    def read(self, where: Filter | None = None) -> list[Row]:
        """The rows that match, in no order. A table that nobody wrote to yet has none."""
        ...

    def stream(self, where: Filter | None = None) -> Iterator[Row]:
        """The same, one after the other: of a table that grows, all rows at once are much more than what is made of
        them."""
        ...

    def columns(self, names: Collection[str], where: Filter | None = None, *, after: int = -1) -> Columns:
        """These columns (of text, whole numbers or times) of the rows that match, and whose number is larger than
        `after`, where it is not -1."""
        ...

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> Iterator[Row]:
        """The rows that `keep` wants, by these columns of them, one after the other; of those after that number."""
        ...

    def sealed(self) -> Sealed | None:
        """Which rows nobody writes again; None where nobody can tell, or there are few."""
        ...

    def revision(self) -> int:
        """The number of the newest commit; -1 before the first."""
        ...

    def state(self) -> str:
        """The table and its newest commit: where it is the same, so are the rows. Another table that was made at the
        same place has another one, and so has one that was restored and written to since."""
        ...

    def read_at(self, where: Filter | None = None) -> tuple[list[Row], int]:
        """Rows and the revision that they are of."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Add the rows in one commit."""
        ...

    def replace(self, rows: Sequence[Row], *, where: Filter, revision: int, note: Mapping[str, str]) -> int:
        """In one commit: rows that match go, the given ones (which match as well) come. Returns the new revision.

        Raises ConflictError, having written nothing, when the table is no longer at `revision`.
        """
        ...

    def compact(self, most_files: int = 64) -> None:
        """Join small files when there are more than `most_files`; readers and writers notice nothing."""
        ...


def numbered(rows: Sequence[Row], spec: TableSpec, revision: int) -> list[Row]:
    """The rows as the commit `revision` writes them: those of a later commit, or later in it, have a larger number."""
    if not spec.sequence:
        return list(rows)
    return [{**row, spec.sequence: (revision + 1) * _MOST_ROWS + at} for at, row in enumerate(rows)]


def commit_of(sequence: int) -> int:
    """The commit that gave a row its number; -1 for a row of releases that gave none."""
    return sequence // _MOST_ROWS - 1


_MOST_ROWS = 2**24


class Store(Protocol):
    """Hands out control tables by their spec."""

    def table(self, spec: TableSpec) -> ControlTable: ...


class Records:
    """Records of one kind, in a control table of the store."""

    spec: ClassVar[TableSpec]

    def __init__(self, store: Store) -> None:
        self._table = store.table(self.spec)

    def revision(self) -> int:
        """Moves with everything that is recorded: whoever polls can tell that nothing is new."""
        return self._table.revision()

    def compact(self) -> None:
        """Join the small files that many appends left."""
        self._table.compact()


def columns_of(rows: Sequence[Row], spec: TableSpec, names: Collection[str]) -> Columns:
    """Columns of rows that are there one by one."""
    import numpy as np

    kinds = {name: spec.columns[name] for name in names}
    times = {n: [micros(cast(datetime, r[n])) for r in rows] for n, kind in kinds.items() if kind == "time"}
    whole = {n: [cast(int, r[n]) for r in rows] for n, kind in kinds.items() if kind == "int"}
    return Columns(
        rows=len(rows),
        numbers={name: np.array(values, np.int64) for name, values in (times | whole).items()},
        texts={n: Texts.of(cast(str, r[n]) for r in rows) for n, kind in kinds.items() if kind == "text"},
    )


def matches(row: Row, where: Filter | None) -> bool:
    """Whether the row has one of the wanted values in every filtered column."""
    return all(row[column] in values for column, values in (where or {}).items())
