"""Which Parquet files are a pinned table's rows, for a reader that knows no Delta? From its log, by delta-rs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from backfill_assets.adapters.data_files import data_files, is_outside, origin_of
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.segments import Segment
from backfill_assets.project.folder_types import NULL_FOLDER
from backfill_assets.project.object_store import SCHEME, arrow_path, is_s3, raise_if_away
from backfill_assets.promote.duckdb_views import PinnedFiles
from backfill_assets.state.table_contents import changed_table_error
from backfill_assets.state.versions import table_path

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem

_HARMLESS = frozenset({"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint"})
"""What Delta asks a reader to know that does not make its rows others than its files'."""


def pinned_files(
    warehouse: str, model: str, segment: Segment, parts: Ranges, columns: Collection[str]
) -> list[PinnedFiles]:
    """The files of a segment's table that have rows of these ranges, put together by the types of these columns in
    them: a reader takes those of its first file for all.

    Raises StateError when the table or a file is gone or damaged, and when files alone are not its rows.
    """
    location = table_path(warehouse, model, segment.version)
    table = open_table(location, segment.commit)
    if table is None:
        raise StateError(
            f"the table of {model} {segment.version} is gone",
            why=f"nothing at {location}",
            fix="restore the folder from a backup, or build and promote again",
        )
    _check_features(location, table)
    wanted = {file.path for file in data_files(table) if any(part.holds(file.at) for part in parts)}
    partitions = tuple(table.metadata().partition_columns)
    names = {c.lower() for c in columns}
    files = list(_files(table, location, partitions, wanted, names))
    system, _ = arrow_path("/") if origin_of(table) else arrow_path(location)
    with ThreadPoolExecutor(max_workers=8) as pool:
        schemas = list(pool.map(lambda file: _columns(system, model, segment, file, names), files))
    alike: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for file, schema in zip(files, schemas, strict=True):
        alike[schema, file.values].append(file.path)
    return [
        PinnedFiles(
            paths=tuple(sorted(paths)),
            columns=frozenset(name for name, _ in schema),
            folders=() if values else partitions,
            values=values,
        )
        for (schema, values), paths in alike.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: str
    """In full, or a URI."""
    bytes: int
    values: tuple[tuple[str, str | None], ...]
    """Of its partition columns, where the names of its folders do not say just these."""


def _check_features(location: str, table: DeltaTable) -> None:
    """Raise StateError where other rows or names are in the files than the table has."""
    protocol, settings = table.protocol(), table.metadata().configuration
    asked = sorted({*(protocol.reader_features or ())} - _HARMLESS)
    if protocol.min_reader_version == 2 or settings.get("delta.columnMapping.mode", "none") != "none":
        asked.append("columnMapping")
    if asked:
        raise StateError(
            f"the files of {location} alone are not its rows",
            why=f"somebody turned on {', '.join(dict.fromkeys(asked))}, which only a reader of Delta follows",
            fix="read it with Spark; a restatement of the model writes its rows to a table without that",
        )


def _files(
    table: DeltaTable, location: str, partitions: tuple[str, ...], wanted: set[str], columns: set[str]
) -> Iterator[_File]:
    """The wanted files. Folders may say other values than the log (Spark writes instants there in its session's zone),
    and folders further up may have the names of columns."""
    actions = table.get_add_actions(flatten=True)
    said = {name: actions.column(f"partition.{name}").to_pylist() for name in partitions}
    paths, sizes = (actions.column(n).to_pylist() for n in ("path", "size_bytes"))
    for number, (logged, size) in enumerate(zip(paths, sizes, strict=True)):
        path = unquote(logged)
        if path not in wanted:
            continue
        full = path if is_outside(path) else f"{location.rstrip('/')}/{path}"
        folders = [(n, unquote(v)) for n, _, v in (p.partition("=") for p in PurePosixPath(full).parts[:-1]) if v]
        values = {name: said[name][number] for name in partitions}
        read = [(n, v) for n, v in folders if n in values or n.lower() in columns]
        plain = len(read) == len(values) and all(n in values and _says(v, values[n]) for n, v in read)
        yield _File(path=full, bytes=size, values=() if plain else tuple((n, _text(v)) for n, v in values.items()))


_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d+)?)?")


def _says(text: str, value: Any) -> bool:
    """Whether a folder's name says the value that the log does."""
    if value is None or text == NULL_FOLDER:
        return value is None and text == NULL_FOLDER
    if isinstance(value, date):
        return bool(_TIME.fullmatch(text)) and utc(text) == utc(value)
    return text == _text(value)


def _text(value: Any) -> str | None:
    """A partition's value as a text. Raises StateError for what has none."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case datetime():
            return f"{utc(value):%Y-%m-%d %H:%M:%S.%f}"
        case date() | int() | float() | Decimal():
            return str(value)
        case _:
            raise StateError(
                f"a partition of {type(value).__name__} cannot be shown", why=f"{value!r}", fix="read it with Spark"
            )


def _columns(
    system: FileSystem, model: str, segment: Segment, file: _File, names: set[str]
) -> tuple[tuple[str, str], ...]:
    """Name (lower-cased) and Arrow's type of each of these columns of a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, size = file.path, file.bytes
    inside = path.removeprefix(SCHEME) if is_s3(path) else path
    try:
        with system.open_input_file(inside) as opened:
            if opened.size() != size:
                raise changed_table_error(model, segment, f"{path} with {opened.size()} bytes, not {size}")
            schema = pq.read_schema(opened)
    except (OSError, pa.ArrowException) as error:
        raise_if_away(path, error)
        raise changed_table_error(model, segment, f"a file that cannot be read: {path}") from None
    return tuple(sorted((f.name.lower(), str(f.type)) for f in schema if f.name.lower() in names))
