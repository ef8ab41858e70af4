"""What if nothing may be recorded? A store that can be read and refuses every write: for plans of untrusted changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.core.errors import StateError
from backfill_assets.state.columns import Columns
from backfill_assets.state.store import ControlTable, Filter, Keep, Row, Sealed, Store, TableSpec


@dataclass(frozen=True, slots=True)
class ReadOnlyTable:
    """A ControlTable of which only the reading half is there."""

    inner: ControlTable
    why: str

    def read(self, where: Filter | None = None) -> list[Row]:
        return self.inner.read(where)

    def stream(self, where: Filter | None = None) -> Iterator[Row]:
        return self.inner.stream(where)

    def columns(self, names: Collection[str], where: Filter | None = None, *, after: int = -1) -> Columns:
        return self.inner.columns(names, where, after=after)

    def chosen(self, names: Collection[str], keep: Keep, *, after: int = -1) -> Iterator[Row]:
        return self.inner.chosen(names, keep, after=after)

    def sealed(self) -> Sealed | None:
        return self.inner.sealed()

    def revision(self) -> int:
        return self.inner.revision()

    def state(self) -> str:
        return self.inner.state()

    def read_at(self, where: Filter | None = None) -> tuple[list[Row], int]:
        return self.inner.read_at(where)

    def append(self, rows: Sequence[Row]) -> None:
        raise self._refused()

    def replace(self, rows: Sequence[Row], *, where: Filter, revision: int, note: Mapping[str, str]) -> int:
        raise self._refused()

    def compact(self, most_files: int = 64) -> None:
        raise self._refused()

    def _refused(self) -> StateError:
        return StateError("nothing is recorded", why=self.why, fix="run it where the change is trusted")


@dataclass(frozen=True, slots=True)
class ReadOnlyStore:
    """A Store whose tables refuse to be written. `why` is said to who tries."""

    inner: Store
    why: str

    def table(self, spec: TableSpec) -> ControlTable:
        return ReadOnlyTable(self.inner.table(spec), self.why)
