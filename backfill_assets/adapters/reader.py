"""What does an environment show, without a JVM? A model's rows as Arrow, straight from the pinned Delta files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from backfill_assets.adapters.data_files import origin_of
from backfill_assets.adapters.delta_errors import delta_reason
from backfill_assets.adapters.folder import file_system
from backfill_assets.adapters.table_log import open_table, table_contents
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.project.object_store import raise_if_away
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Entry, coverage
from backfill_assets.state.settling import Settling, shown_calendar
from backfill_assets.state.table_contents import changed_table_error, difference
from backfill_assets.state.versions import Version, table_path
from backfill_assets.state.view_types import stored_columns, two_types, two_types_error

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset
    from pyarrow.fs import FileSystem


def read_pointer(
    pointer: Pointer,
    warehouse: str,
    *,
    columns: Sequence[str] | None = None,
    start: date | datetime | str | None = None,
    end: date | datetime | str | None = None,
) -> pa.Table:
    """The rows that a pointer shows, as an Arrow table with its columns in the view's order.

    `start` and `end` cut to a half-open range of the time column. Raises StateError when a pinned table is gone, a
    column is unknown, or some of its rows are of a type that cannot be cast safely to the view's.
    """
    import pyarrow as pa

    names = [name for name, _ in pointer.columns]
    wanted = list(columns) if columns is not None else names
    if unknown := [c for c in wanted if c not in names]:
        raise StateError(
            f"{pointer.model} has no column {unknown[0]}", why=f"it has: {', '.join(names)}", fix="correct `columns`"
        )
    asked = Ranges((Interval(utc(start or datetime.min.replace(year=1)), utc(end or datetime(9999, 1, 1))),))
    for column in two_types(pointer.cut(asked)):
        if column.name in wanted:
            raise two_types_error(pointer, column)
    parts = [
        _segment(pointer, segment, part, warehouse, wanted)
        for segment in pointer.segments
        for part in Ranges((segment.interval,)) & asked
    ]
    if not parts:
        first = pointer.segments[0]
        parts = [_segment(pointer, first, first.interval, warehouse, wanted).slice(0, 0)]
    return pa.concat_tables(parts, promote_options="permissive").select(wanted)


def settled_part(
    pointer: Pointer,
    known: Settling,
    versions: Mapping[tuple[str, str], Version],
    entries: Mapping[tuple[str, str], Sequence[Entry]],
) -> Pointer:
    """What a pointer shows without what is provisional, or was not over when it was built, or is not by now.

    `entries` are the ledger's, by model and version. Raises StateError where nothing of it is settled.
    """
    calendar = shown_calendar(pointer, versions)
    provisional = known.provisional(pointer.model, calendar, pointer.covers)
    open_ = pointer.covers - pointer.covers.until(calendar.over(known.clock))
    for segment in pointer.segments:
        built = coverage(entries.get((pointer.model, segment.version), ()), audits="", commit=segment.commit)
        open_ = open_ | (built.lapsed & Ranges((segment.interval,)))
    changing = provisional | open_
    if not pointer.covers - changing:
        raise StateError(
            f"nothing that is shown of {pointer.model} is settled",
            why=f"all of it is provisional, or was not over when it was built: {changing}",
            fix="wait, or read without `settled`: rows may still be replaced as their sources change",
        )
    return replace(pointer, segments=pointer.segments.without(changing))


def show(environment: Environment, model: str) -> Pointer:
    """The environment's pointer of a model. Raises StateError, naming what there is, when it shows no such model."""
    pointer = environment.pointers.get(model)
    if pointer is None:
        shown = ", ".join(sorted(environment.pointers)) or "nothing yet"
        raise StateError(
            f"{environment.name} does not show {model}",
            why=f"it shows: {shown}",
            fix="check the name, or build and promote it: backfill apply, backfill promote",
        )
    return pointer


def _segment(pointer: Pointer, segment: Segment, part: Interval, warehouse: str, columns: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    location = table_path(warehouse, pointer.model, segment.version)
    table = open_table(location, segment.commit)
    if table is None:
        raise StateError(
            f"the table of {pointer.model} {segment.version} is gone",
            why=f"nothing at {location}",
            fix="restore the folder from a backup, or build and promote again",
        )
    if segment.held is not None and (why := difference(segment, table_contents(table))):
        raise changed_table_error(pointer.model, segment, why)
    if pointer.timestamps:
        kind: pa.DataType = pa.timestamp("us", tz="UTC")
        low, high = pa.scalar(part.start, kind), pa.scalar(part.end, kind)
    else:
        low, high = pa.scalar(part.start.date(), pa.date32()), pa.scalar(part.end.date(), pa.date32())
    own = {field.name.lower(): field.name for field in table.schema().fields}  # unlike Spark, Arrow goes by letters
    field = pc.field(own.get(pointer.time_column.lower(), pointer.time_column))
    within = (field >= low) & (field < high)
    there = stored_columns(pointer, segment)
    asked = {name: pc.field(own.get(name.lower(), name)) for name in columns if name.lower() in there}
    try:
        files = _dataset(location, table)
        if origin_of(table) and (others := _rewritten(table, files.get_fragments(within))):
            raise changed_table_error(
                pointer.model, segment, f"files that somebody else wrote again: {', '.join(others)}"
            )
        rows = files.to_table(columns=asked, filter=within)
    except (OSError, pa.ArrowException) as error:
        raise_if_away(location, error)
        lost = _unreadable(location, table, within)
        what = f"a file that cannot be read ({delta_reason(error)})"
        raise changed_table_error(pointer.model, segment, f"{what}: {', '.join(lost)}" if lost else what) from None
    if segment.held is not None and part == segment.held.interval and rows.num_rows != segment.held.rows:
        raise changed_table_error(
            pointer.model, segment, f"{rows.num_rows} rows in its files; {segment.held.rows} were promoted"
        )
    return rows


def _dataset(location: str, table: DeltaTable) -> Dataset:
    """Its files. Spark writes INT96, which Arrow takes for nanoseconds: these reach from 1677 to 2262 only."""
    from pyarrow.dataset import ParquetReadOptions

    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    return table.to_pyarrow_dataset(filesystem=_system(location, table), parquet_read_options=options)


def _system(location: str, table: DeltaTable) -> FileSystem:
    """Where the table's files are: those of an adopted one are named in full."""
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem() if origin_of(table) else file_system(location)


def _rewritten(table: DeltaTable, fragments: Iterable[Any]) -> list[str]:
    """Files of an adopted table that have another size than was adopted, by their paths; three at most. What the log
    says of their rows is not so any more."""
    actions = table.get_add_actions(flatten=True)
    paths, sizes = (actions.column(n).to_pylist() for n in ("path", "size_bytes"))
    known = dict(zip(map(unquote, paths), sizes, strict=True))
    others = (path for path in (str(part.path) for part in fragments) if Path(path).stat().st_size != known.get(path))
    return list(islice(others, 3))


def _unreadable(location: str, table: DeltaTable, chosen: Any) -> list[str]:
    """The files of a range that cannot be read in full, by their paths, which tell the intervals; three at most."""
    import pyarrow as pa

    found: list[str] = []
    try:
        for part in _dataset(location, table).get_fragments(filter=chosen):
            try:
                part.to_table()
            except (OSError, pa.ArrowException) as error:
                raise_if_away(location, error)
                found.append(str(part.path))
    except (OSError, pa.ArrowException) as error:
        raise_if_away(location, error)
        return []
    return found[:3]
