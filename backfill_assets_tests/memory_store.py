"""Where do the records of a test of decisions live? In lists: a Store whose tables live in this process."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from backfill_assets.core.errors import ConflictError
from backfill_assets.state.columns import Columns
from backfill_assets.state.ledger_rows import LedgerRows
from backfill_assets.state.store import Filter, Keep, Row, Sealed, TableSpec, columns_of, matches, numbered


@dataclass(slots=True)
class MemoryTable:
    """A ControlTable in a list: the fake that tests of decisions use."""

    spec: TableSpec
    rows: list[Row] = field(default_factory=list[Row])
    commits: int = 0
    sealed_rows: int = 0
    """So many of the first rows count as written for good."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, where: Filter | None = None) -> list[Row]:
        return [row for row in list(self.rows) if matches(row, where)]

    def stream(self, where: Filter | None = None) -> Iterator[Row]:
        return iter(self.read(where))

    def columns(self, names: Collection[str], where: Filter | None = None, *, after: int = -1) -> Columns:
        return columns_of(self._after(self.read(where), after), self.spec, names)

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> Iterator[Row]:
        rows = self._after(list(self.rows), after)
        wanted = keep(columns_of(rows, self.spec, names)) if rows else ()
        return (row for row, mine in zip(rows, wanted, strict=True) if mine)

    def sealed(self) -> Sealed | None:
        if not self.sealed_rows:
            return None
        return Sealed(name=f"{id(self)} {self.sealed_rows}", last=self._number(self.rows[self.sealed_rows - 1]))

    def _after(self, rows: list[Row], after: int) -> list[Row]:
        return rows if after < 0 else [row for row in rows if self._number(row) > after]

    def _number(self, row: Row) -> int:
        return cast(int, row[self.spec.sequence])

    def revision(self) -> int:
        return self.commits - 1

    def state(self) -> str:
        return f"{id(self)} {self.revision()} {id(self.rows)} {len(self.rows)}"

    def read_at(self, where: Filter | None = None) -> tuple[list[Row], int]:
        with self.lock:
            return self.read(where), self.revision()

    def append(self, rows: Sequence[Row]) -> None:
        with self.lock:
            self.rows.extend(numbered(rows, self.spec, self.commits))
            self.commits += 1

    def replace(self, rows: Sequence[Row], *, where: Filter, revision: int, note: Mapping[str, str]) -> int:
        assert all(matches(row, where) for row in rows)
        with self.lock:
            if revision != self.revision():
                raise ConflictError(f"expected revision {revision}, found {self.revision()}")
            self.rows = [row for row in self.rows if not matches(row, where)] + numbered(rows, self.spec, self.commits)
            self.commits += 1
            return self.revision()

    def compact(self, most_files: int = 64) -> None:
        pass


@dataclass(slots=True)
class MemoryRows:
    """A KnownRows in this process."""

    name: str = ""
    rows: LedgerRows | None = None

    def read(self, name: str) -> LedgerRows | None:
        return self.rows if name == self.name else None

    def keep(self, name: str, rows: LedgerRows) -> None:
        self.name, self.rows = name, rows


@dataclass(slots=True)
class MemoryStore:
    """A Store whose tables live in this process."""

    tables: dict[str, MemoryTable] = field(default_factory=dict[str, MemoryTable])

    def table(self, spec: TableSpec) -> MemoryTable:
        return self.tables.setdefault(spec.name, MemoryTable(spec=spec))
