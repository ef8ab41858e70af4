"""Which files have a column as another type than is read of all? Spark reads some of these as other values.

It takes the types of one file for those of all. In Parquet it looks at how a value is stored rather than at what it
means: 12.50 as decimal(9,2) is read as the int 1250, a date as the number of its day, without a word. From ORC it makes
NULL of a number that is too large, and 12 of 12.50.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from backfill_assets.adapters.parquet_footer import parquet_footer
from backfill_assets.adapters.source_files import SourceFile, each_file
from backfill_assets.core.model import Column, Source
from backfill_assets.core.wording import first_few
from backfill_assets.plan.odd_files import NANOSECONDS
from backfill_assets.project.file_schema import arrow_columns
from backfill_assets.project.object_store import UnreachableError
from backfill_assets.sql.text import literal
from backfill_assets.sql.types import INTEGERS, decimal_parts
from backfill_assets.sql.wider_types import is_read_as

MARK = "[SOURCE_FILE_OF_ANOTHER_TYPE]"
"""What the error begins with that a batch gets which reads such a column."""
_MOST_FILES = 20_000
"""The newest of them are looked into, in each process."""

_OF_ORC = frozenset({*INTEGERS, "float", "double", "boolean", "date"})

Others = tuple[tuple[str, str], ...]
"""Columns, in lower case, and their types in a file, where these are not read as they are."""


def by_other_types(
    source: Source, files: Sequence[SourceFile], read: Mapping[str, str]
) -> dict[Others, list[SourceFile]]:
    """The files by what of them is not read as it is; () of most. `read`: by column, in lower case, the type that all
    files are read with. What a file does not say, or its folders do, is nobody's fault here."""
    newest = {*sorted(files, key=lambda file: file.written, reverse=True)[:_MOST_FILES]}
    looked = [file for file in files if file in newest]
    others = dict(zip(looked, each_file(looked, lambda file: _others(source, file, read)), strict=True))
    found: dict[Others, list[SourceFile]] = {}
    for file in files:
        found.setdefault(others.get(file, ()), []).append(file)
    return found


def refusal(source: Source, files: Sequence[SourceFile], column: str, there: str, read: str) -> str:
    """An SQL expression that fails where a value of these files' column is needed, and nowhere else: rows that a query
    leaves out by other columns, and columns that it does not read, cost nothing."""
    names = first_few(sorted("/".join(file.inside) for file in files))
    text = f"{MARK} {column} is {there} in {names} of {source.name}, and {read} is read of all its files"
    return f"CAST(raise_error({literal(text)}) AS {read})"


def _others(source: Source, file: SourceFile, read: Mapping[str, str]) -> Others:
    columns = _of_orc(file) if source.format == "orc" else _of_parquet(file, source.time_column)
    found = [
        (name, column.type)
        for column in columns
        if (name := column.name.lower()) in read and name not in file.folder_columns
        if column.type and not is_read_as(column.type, read[name])
    ]
    return tuple(sorted(found))


def _of_parquet(file: SourceFile, time_column: str | None) -> Sequence[Column]:
    footer = parquet_footer(file, time_column)
    columns = footer.columns if footer else None
    return [c for c in columns or () if c.type != NANOSECONDS]  # Spark refuses these in words of its own


@lru_cache(maxsize=20_000)
def _of_orc(file: SourceFile) -> Sequence[Column]:
    """Numbers and days: of instants and texts both libraries do not say the same."""
    from pyarrow import ArrowException
    from pyarrow.orc import ORCFile

    try:
        with file.opened() as opened:
            columns = arrow_columns(ORCFile(opened).schema)
    except UnreachableError:
        raise
    except (ArrowException, OSError, UnicodeError):  # whoever reads it says so
        return ()
    return [c for c in columns if c.type in _OF_ORC or decimal_parts(c.type)]
