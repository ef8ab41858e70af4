"""Do all readers find the same rows in somebody else's Parquet files? Told from their footers, before an adoption.

Spark finds a column by its name in any case, and translates what was written in the old calendar or as INT96; Arrow
does neither. What both read alike is left: days and instants that the table's log proves to be of recent times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from typing import TYPE_CHECKING

from backfill_assets.core.wording import listed

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

Bounds = tuple[date | datetime | None, date | datetime | None]
"""The first value of a column in a file and the last; None: it has none."""
ALIKE = (1900, 2262)
"""Years, the last one excluded, of which old calendars, old time zones and INT96 make no difference."""
_SPARK = b"org.apache.spark.version"
_OLD = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""By these Spark says in a footer that it wrote days and instants in the old calendar; before 3.0 it always did."""


def changed_files(files: Mapping[str, Mapping[str, Bounds]], columns: Sequence[str]) -> list[str]:
    """The files of which readers would show different rows, or that cannot be read: path in full, and why.

    `files` says of each what the table's log knows of its columns' values; `columns` are those that are read.
    """
    with ThreadPoolExecutor(max_workers=8) as pool:
        found = pool.map(lambda file: _difference(file[0], file[1], columns), files.items())
        return [f"{path}: {why}" for path, why in zip(files, found, strict=True) if why]


def _difference(path: str, bounds: Mapping[str, Bounds], columns: Sequence[str]) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        said = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        return str(error).splitlines()[0]
    there = set(said.schema.to_arrow_schema().names)
    wanted = {name.lower(): name for name in columns}
    if others := sorted(n for n in there if wanted.get(n.lower(), n) != n):
        return f"its columns are called {listed(others)}"
    properties: Mapping[bytes, bytes] = said.metadata or {}
    spark = properties.get(_SPARK, b"")
    proved = {name for name, of in bounds.items() if spark and _alike(of)}
    old = spark.startswith((b"1.", b"2.")) or any(key in properties for key in _OLD)
    if unclear := sorted(_told_otherwise(said, old, columns) - proved):
        return f"{listed(unclear)} may have values that were written in the old calendar, or as INT96"
    return ""


def _alike(of: Bounds) -> bool:
    first, last = of
    return first is None or last is None or (first.year >= ALIKE[0] and last.year < ALIKE[1])


def _told_otherwise(said: FileMetaData, old: bool, columns: Sequence[str]) -> set[str]:
    """The columns in which a day or an instant may mean something else to Spark than to Arrow."""
    leaves = [said.schema.column(number) for number in range(said.num_columns)]
    paths = [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "INT96" or (old and str(leaf.logical_type).startswith(("Date", "Timestamp")))
    ]
    return {name for name in columns for path in paths if path == name or path.startswith(f"{name}.")}
