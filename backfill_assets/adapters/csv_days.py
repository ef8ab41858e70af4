"""For which time does a CSV file have rows? Its time column is read."""

from __future__ import annotations

from typing import Any

from backfill_assets.adapters.csv_header import Dialect, columns_of
from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.adapters.time_texts import days_of
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Source
from backfill_assets.project.object_store import UnreachableError


def csv_days(file: SourceFile, source: Source, pattern: str) -> Ranges | None:
    """From the file's first row to its last, by the source's time column; None when that cannot be told.

    A value that is no time ends a build, or is NULL there."""
    from pyarrow import ArrowInvalid, csv

    header = source.option("header", "false").lower() == "true"
    wanted = (source.time_column or "").lower()
    dialect = Dialect.of(source)
    if not _one_sign(dialect.separator) or not (dialect.quote == "" or _one_sign(dialect.quote)):
        return None
    if dialect.escape not in ("\\", dialect.quote):  # Arrow escapes outside of quotes as well
        return None
    parse = csv.ParseOptions(
        delimiter=dialect.separator,
        quote_char=dialect.quote or False,
        newlines_in_values=source.option("multiline", "false").lower() == "true",
    )
    try:
        if source.columns:
            there = [c.name.lower() for c in source.columns]
            if source.columns_by == "header":
                columns = columns_of(source, file)
                there = [(name or "").lower() for name in columns.there] if columns else []
            if wanted not in there:
                return None if file.bytes else NOTHING
            name = f"f{there.index(wanted)}"
            read = csv.ReadOptions(autogenerate_column_names=True, skip_rows=int(header), encoding=dialect.encoding)
        elif header:
            with file.text() as opened:
                names = csv.open_csv(opened, csv.ReadOptions(encoding=dialect.encoding), parse).schema.names
            name = next((n for n in names if n.lower() == wanted), "")
            read = csv.ReadOptions(encoding=dialect.encoding)
        else:
            return None
        if not file.bytes or not name:
            return None if file.bytes else NOTHING
        convert = csv.ConvertOptions(include_columns=[name], column_types={name: "string"})
        with file.text() as opened:
            table: Any = csv.read_csv(opened, read_options=read, parse_options=parse, convert_options=convert)
        values = table.column(name)
    except UnreachableError:  # that nobody answers does not make its days unknown
        raise
    except PlanError:  # a build refuses it
        return None
    except (ArrowInvalid, LookupError, OSError, TypeError, UnicodeError) as error:
        return NOTHING if "Empty CSV" in str(error) else None
    return days_of(values, pattern)


def _one_sign(option: str) -> bool:
    """Whether it is what pyarrow takes; Spark takes more, such as `||`."""
    return len(option) == 1 and option.isascii() and option not in "\r\n"
