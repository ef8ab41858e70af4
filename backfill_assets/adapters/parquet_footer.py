"""What does a Parquet file say of itself, without a look at its rows? Its columns, and how far one of them reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.core.model import Column
from backfill_assets.plan.odd_files import NANOSECONDS
from backfill_assets.project.file_schema import Values, arrow_columns, arrow_type, arrow_values
from backfill_assets.project.object_store import UnreachableError
from backfill_assets.sql.wider_types import UNSIGNED

Ends: TypeAlias = tuple[Any, Any] | tuple[()] | None
"""The least and the largest value of a column; () where it is NULL in each row, None where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """What a file says of itself."""

    rows: int
    columns: tuple[Column, ...] | None
    """Its own, in their order, with the types that Spark has for them as far as they are plain; None: of a kind that
    is not known here."""
    values: Values
    """Those in its columns, with the types that the file says, one without a sign as such; "" where that is not known
    here."""
    ends: Ends
    """Of the column that was asked about, as far as it says them."""


def parquet_footer(file: SourceFile, column: str | None) -> Footer | None:
    """A file's footer, with the ends of a column in any letters; None where it has none that can be read."""
    try:
        return read_footer(file, column)
    except UnreachableError:  # that nobody answers says nothing of the file
        raise
    except OSError:  # nor does this; it is asked again
        return None


def read_footer(file: SourceFile, column: str | None) -> Footer | None:
    """The same; None of what is no Parquet. Raises OSError where it cannot be read just now."""
    return _footer(file, (column or "").lower())


@lru_cache(maxsize=100_000)
def _footer(file: SourceFile, column: str) -> Footer | None:
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import ParquetFile

    try:
        with file.opened() as opened:
            said: Any = ParquetFile(opened).metadata
    except UnreachableError:
        raise
    except OSError as error:
        if error.errno is not None:  # the disk's; Arrow has none for a file that is no Parquet
            raise
        return None
    except (ArrowInvalid, UnicodeError):
        return None
    columns, values = _shared(*_told(said))
    return Footer(rows=said.num_rows, columns=columns, values=values, ends=_ends(said, column) if column else None)


@lru_cache(maxsize=1_000)
def _shared(columns: tuple[Column, ...] | None, values: Values) -> tuple[tuple[Column, ...] | None, Values]:
    """The same, once for all files that have them: thousands do."""
    return columns, values


def _told(said: Any) -> tuple[tuple[Column, ...] | None, Values]:
    """The columns, and the values in them."""
    from pyarrow import ArrowException

    try:
        schema = said.schema.to_arrow_schema()
        columns, found = arrow_columns(schema), list(arrow_values(schema))
    except (ArrowException, UnicodeError):
        return None, ()
    # What Spark writes, and reads, by default.
    older = [said.schema.column(i).physical_type == "INT96" for i in range(said.num_columns)]
    if len(older) != len(found):  # an empty struct is no column
        return columns, ()
    types = {way: _type(type_, old) for (way, type_), old in zip(found, older, strict=True)}
    values = tuple((tuple(name.lower() for name in way), type_ or "") for way, type_ in types.items())
    return tuple(replace(c, type=types.get((c.name,), c.type)) for c in columns), values


def _type(type_: Any, older: bool) -> str | None:
    if str(type_).startswith("timestamp[ns"):
        return "timestamp" if older else NANOSECONDS
    return str(type_) if str(type_) in UNSIGNED else arrow_type(type_)


def _ends(said: Any, column: str) -> Ends:
    places = [i for i in range(said.num_columns) if said.schema.column(i).path.lower() == column]
    if not places or not said.num_row_groups:
        return None
    lows: list[Any] = []
    highs: list[Any] = []
    for group in range(said.num_row_groups):
        chunk = said.row_group(group).column(places[0])
        statistics = chunk.statistics
        if statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values:
            continue
        if statistics is None or not statistics.has_min_max:
            return None
        low, high = python_value(lambda s=statistics: s.min), python_value(lambda s=statistics: s.max)
        if low is None or high is None:
            return None
        lows.append(low)
        highs.append(high)
    return (min(lows), max(highs)) if lows else ()


def column_ends(file: SourceFile, column: str) -> Ends:
    """Those of a column in any letters, read from all of its rows: what older writers, and Spark for its instants, say
    nothing of."""
    try:
        return _column_ends(file, column)
    except UnreachableError:
        raise
    except OSError:  # it is asked again
        return None


@lru_cache(maxsize=100_000)
def _column_ends(file: SourceFile, column: str) -> Ends:
    from pyarrow import ArrowException, compute
    from pyarrow.parquet import ParquetFile

    call: Any = compute
    ends: list[Any] = []
    try:
        with file.opened() as opened:
            read = ParquetFile(opened, coerce_int96_timestamp_unit="us")  # nanoseconds end in 2262
            names = [name for name in read.schema_arrow.names if name.lower() == column]
            for part in read.iter_batches(columns=names[:1]) if names else ():
                found = call.min_max(part.column(0))
                ends += [python_value(found[end].as_py) for end in ("min", "max") if found[end].is_valid]
    except (ArrowException, UnicodeError):
        return None
    if not names or None in ends:
        return None
    return (min(ends), max(ends)) if ends else ()


def python_value(read: Callable[[], Any]) -> Any:
    """What is read, as Python has it; None for a date or an instant of a year that Python does not know."""
    try:
        return read()
    except (OverflowError, ValueError):
        return None
