"""What is in a control table? Its rows one by one, or columns of all of them as arrays.

A command asks the same of one state of a table many times: few rows are read once, and then kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast, overload

from backfill_assets.state.columns import Columns, Texts
from backfill_assets.state.store import ColumnType, Filter, Keep, Row, TableSpec

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core import RecordBatch
    from deltalake import DeltaTable

_BLANK: Mapping[ColumnType, object] = {
    "text": "", "time": datetime.fromtimestamp(0, UTC), "int": 0, "float": 0.0, "bool": False,
}  # fmt: skip
"""What a row that an earlier release wrote has in columns that came later."""
_FEW = 5_000
"""Rows of one state of a table that are kept in memory, of all that is asked of it together: some megabytes."""


@dataclass(frozen=True, slots=True)
class ControlRows:
    """The rows of an opened table. Whoever writes to it goes on from there: then rows may be newer than `commit`, which
    costs a reader who minds another look."""

    table: DeltaTable
    spec: TableSpec
    commit: int
    """The one that was opened."""
    kept: dict[str, list[RecordBatch]] = field(default_factory=dict)
    """What was read before, by the condition."""

    def rows(self, where: Filter | None) -> Iterator[Row]:
        """Those that match."""
        for part in self._parts(where):
            yield from self._dicts(part)

    def chosen(self, names: Collection[str], keep: Keep, after: int) -> Iterator[Row]:
        """Those that `keep` wants by these columns, of those after that number."""
        import numpy as np
        from arro3.core import Array

        for part in self._parts(None, after):
            wanted = np.flatnonzero(keep(self._columns([_arrow(part)], names)))
            if len(wanted):
                yield from self._dicts(part.take(Array.from_numpy(wanted.astype(np.uint64))))

    def columns(self, names: Collection[str], where: Filter | None, after: int) -> Columns:
        """These columns of the rows that match, of those after that number."""
        condition = self._condition(where, after)
        counts = self.table.get_add_actions().column("num_records").to_pylist()
        many = None in counts or sum(counts) > _FEW
        parts = self._read(condition, names) if many else self._parts(where, after)
        return self._columns(map(_arrow, parts), names)

    def _condition(self, where: Filter | None, after: int) -> str:
        later = [f'"{self.spec.sequence}" > {after}'] if after >= 0 else []
        conditions = [*([predicate(where)] if where else []), *later]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _parts(self, where: Filter | None, after: int = -1) -> Iterator[RecordBatch]:
        condition = self._condition(where, after)
        if (known := self.kept.get(condition)) is not None:
            yield from known
            return
        room = _FEW - sum(part.num_rows for parts in [*self.kept.values()] for part in parts)
        found: list[RecordBatch] = []
        for part in self._read(condition, self.spec.columns):
            room -= part.num_rows
            if room >= 0:
                found.append(part)
            yield part
        if room >= 0:
            self.kept[condition] = found

    def _read(self, condition: str, names: Collection[str]) -> Iterator[RecordBatch]:
        from deltalake import QueryBuilder

        younger = younger_columns(self.table, self.spec)
        columns = ", ".join(f'"{name}"' for name in names if name not in younger)
        yield from QueryBuilder().register("t", self.table).execute(f"SELECT {columns} FROM t{condition}")

    def _dicts(self, part: RecordBatch) -> Iterator[Row]:
        values: list[Iterable[object]] = []
        there = set(part.schema.names)
        for name, kind in self.spec.columns.items():
            column, blank = part.column(name) if name in there else None, _BLANK[kind]
            if column is None:
                values.append(repeat(blank, part.num_rows))
            elif column.null_count:
                values.append([blank if value is None else value for value in column.to_pylist()])
            else:
                values.append(column.to_pylist())
        for row in zip(*values, strict=True):
            yield dict(zip(self.spec.columns, row, strict=True))

    def _columns(self, parts: Iterable[pa.RecordBatch], names: Collection[str]) -> Columns:
        import numpy as np

        rows, found = 0, {name: list[Any]() for name in names}
        for part in parts:
            rows += part.num_rows
            for name in names:
                found[name].append(_column(part, name, self.spec.columns[name]))
        numbers: dict[str, Any] = {}
        texts: dict[str, Texts] = {}
        for name, each in found.items():
            if self.spec.columns[name] != "text":
                numbers[name] = np.concatenate([np.zeros(0, np.int64), *each])
                continue
            texts[name] = _joined(each)
        return Columns(rows=rows, numbers=numbers, texts=texts)


def younger_columns(table: DeltaTable, spec: TableSpec) -> set[str]:
    """What a table lacks that an earlier release made."""
    return set(spec.columns) - {field.name for field in table.schema().fields}


def _joined(parts: Sequence[Any]) -> Texts:
    """One column of parts that each have texts of their own."""
    import numpy as np
    import pyarrow as pa

    if not parts:
        return Texts.of(())
    texts: Any = pa.concat_arrays([part.dictionary for part in parts]).dictionary_encode()
    places, codes, at = _numbers(texts.indices, np.int32), list[Any](), 0
    for part in parts:
        codes.append(places[at : at + len(part.dictionary)][_numbers(part.indices, np.int32)])
        at += len(part.dictionary)
    return Texts(codes=np.concatenate(codes).astype(np.int64), values=_Values(texts.dictionary))


def _numbers(array: Any, kind: Any) -> Any:
    """An array without NULLs as numpy has it. (`to_numpy` imports pandas, which takes half a second.)"""
    import numpy as np

    return np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]


class _Values(Sequence[str]):
    """Texts that are made when somebody asks for them: of a million batches nobody does."""

    def __init__(self, values: Any) -> None:
        self._values = values

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._values[at].to_pylist() if isinstance(at, slice) else self._values[at].as_py()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values.to_pylist())


def predicate(where: Filter) -> str:
    """A filter in SQL."""
    parts: list[str] = []
    for column, values in where.items():
        texts = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
        parts.append(f'"{column}" IN ({texts})' if texts else "1 = 0")
    return " AND ".join(parts)


def _arrow(part: RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.record_batch(cast(Any, part))


def _column(part: pa.RecordBatch, name: str, kind: ColumnType) -> Any:
    """Numbers as they are in an array, texts as a dictionary of them."""
    import numpy as np
    import pyarrow as pa

    found: Any = part.column(name) if name in part.schema.names else None
    if kind != "text":
        if found is None:
            return np.zeros(part.num_rows, np.int64)
        whole = (found.cast(pa.timestamp("us", tz="UTC")) if kind == "time" else found).cast(pa.int64())
        return _numbers(whole.fill_null(0) if whole.null_count else whole, np.int64).copy()  # lets go of the part
    if found is None:
        return pa.nulls(part.num_rows, pa.string()).fill_null("").dictionary_encode()
    plain = found.cast(pa.string())
    return (plain.fill_null("") if plain.null_count else plain).dictionary_encode()
