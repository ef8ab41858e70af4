"""What does the view of a model say in DuckDB? SQL over the data files of its pinned commits.

No extension is needed: the files are those that the Delta log names at the commit, and what a folder's name says of a
partition column is what the log says (`adapters/pinned_files.py`), or else the log's value is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.promote.view_columns import ViewColumn, view_columns
from backfill_assets.sql.other_engines import duckdb_value, name_text, type_text, value_text, within_text


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFiles:
    """Data files of a table at a commit that hold the same columns, of the same types."""

    paths: tuple[str, ...]
    """In full, or URIs."""
    columns: frozenset[str]
    """Those in the files, lower-cased."""
    folders: tuple[str, ...] = ()
    """The partition columns, when the names of the folders say their values."""
    values: tuple[tuple[str, str | None], ...] = ()
    """Else their names and values, as texts: instants in UTC, without a zone."""


FilesOf = Callable[[Segment, Ranges, Collection[str]], Sequence[PinnedFiles]]
"""Finds the files of a segment's table that may have rows of these ranges; of the columns with these names."""


def duckdb_view(pointer: Pointer, files_of: FilesOf) -> str:
    """The view's query. Raises PromotionError for a type that DuckDB has no equal of, and what `files_of` raises."""
    return "\nUNION ALL\n".join(_branches(pointer, files_of))


def _branches(pointer: Pointer, files_of: FilesOf) -> Iterator[str]:
    empty = True
    for segment, parts in pointer.segments.tables():
        columns = [_known(pointer, column) for column in view_columns(pointer, pointer.columns, segment)]
        time = _time_column(pointer, segment)
        stored = {column.stored for column in columns if column.stored} | {time.stored}
        for files in files_of(segment, parts, stored):
            empty = False
            selected = ", ".join(f"{_value(column, files)} AS {name_text(column.name)}" for column in columns)
            within = within_text(_value(time, files), parts, "duckdb", timestamps=pointer.timestamps)
            yield f"SELECT {selected}\nFROM {_relation(files)}\nWHERE {within}"
    if empty:  # there is no file to ask for types
        nothing = (f"CAST(NULL AS {type_text(kind, 'duckdb')}) AS {name_text(name)}" for name, kind in pointer.columns)
        yield f"SELECT {', '.join(nothing)}\nWHERE false"


def _time_column(pointer: Pointer, segment: Segment) -> ViewColumn:
    kind = next(kind for name, kind in pointer.columns if name.lower() == pointer.time_column.lower())
    [found] = view_columns(pointer, [(pointer.time_column, kind)], segment)
    return found


def _known(pointer: Pointer, column: ViewColumn) -> ViewColumn:
    for kind in (column.kind, column.stored_kind):
        try:
            if kind:
                type_text(kind, "duckdb")
        except ValueError:
            raise PromotionError(
                f"column {column.name} of {pointer.model} cannot be shown in DuckDB",
                why=f"it is {kind}, which DuckDB does not read from Parquet as Spark does",
                fix="give the model a column of another type beside it, or read this one with Spark",
            ) from None
    return column


def _value(column: ViewColumn, files: PinnedFiles) -> str:
    name, kind = name_text(column.stored), type_text(column.kind, "duckdb")
    texts = {c.lower(): name for c in files.folders}
    texts |= {c.lower(): "NULL" if text is None else value_text(text) for c, text in files.values}
    if column.stored and (text := texts.get(column.stored.lower())):
        if column.stored_kind == "timestamp" or _midnight(column):
            text = f"CAST({text} AS TIMESTAMP) AT TIME ZONE 'UTC'"
        return f"CAST({text} AS {kind})"
    if not column.stored or column.stored.lower() not in files.columns:
        return f"CAST(NULL AS {kind})"
    if _midnight(column):
        return f"CAST({name} AS TIMESTAMP) AT TIME ZONE 'UTC'"
    return f"CAST({duckdb_value(name, column.stored_kind)} AS {kind})"


def _midnight(column: ViewColumn) -> bool:
    """Whether a date is shown as an instant: in UTC, whatever the session's zone."""
    return (column.stored_kind, column.kind) == ("date", "timestamp")


def _relation(files: PinnedFiles) -> str:
    paths = ",\n  ".join(value_text(_literally(path)) for path in files.paths)
    hive = "hive_partitioning = false"
    if files.folders:
        types = ", ".join(f"{value_text(name)}: VARCHAR" for name in files.folders)
        hive = f"hive_partitioning = true, hive_types = {{{types}}}"
    return f"read_parquet([\n  {paths}\n], {hive})"


def _literally(path: str) -> str:
    """A path as a pattern that only it fits.

    >>> _literally("/data/w[1]*/a.parquet")
    '/data/w[[]1][*]/a.parquet'
    """
    return "".join(f"[{c}]" if c in "[*?" else c for c in path)
