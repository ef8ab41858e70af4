"""For which time does a CSV file have rows? Its time column is read, where the files are few enough for that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from backfill_assets.adapters.csv_header import Dialect, columns_of
from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import FIRST_YEAR, LAST_YEAR, LATEST, NOTHING, Interval, Ranges, utc
from backfill_assets.core.model import Source
from backfill_assets.project.object_store import UnreachableError

MOST_BYTES = 64 * 1024 * 1024
"""More of a source would make planning slow."""

_KNOWN_OPTIONS = frozenset(
    {"header", "sep", "delimiter", "quote", "multiline", "mode", "inferschema", "nullvalue", "enforceschema"}
)
"""Options under which a time reads as it is written; under others (a format, an encoding) nothing is concluded."""


def is_readable(source: Source, files: Sequence[SourceFile]) -> bool:
    """Whether the source's files are read for their times, and few enough."""
    if source.format != "csv" or any(name.lower() not in _KNOWN_OPTIONS for name in source.options):
        return False
    return sum(file.bytes for file in files) <= MOST_BYTES


def csv_days(file: SourceFile, source: Source) -> Ranges | None:
    """From the file's first row to its last, by the source's time column; None when that cannot be told.

    A value that is no time ends a build, or is NULL there."""
    from pyarrow import ArrowInvalid, compute, csv

    header = source.option("header", "false").lower() == "true"
    wanted = (source.time_column or "").lower()
    dialect = Dialect.of(source)
    if not _one_sign(dialect.separator) or not (dialect.quote == "" or _one_sign(dialect.quote)):
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
            read = csv.ReadOptions(autogenerate_column_names=True, skip_rows=int(header))
        elif header:
            with file.text() as opened:
                names = csv.open_csv(opened, parse_options=parse).schema.names
            name = next((n for n in names if n.lower() == wanted), "")
            read = csv.ReadOptions()
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
    except (ArrowInvalid, KeyError, OSError, UnicodeError) as error:
        return NOTHING if "Empty CSV" in str(error) else None
    call: Any = compute
    said = call.filter(values, call.match_substring_regex(values, r"^\d{4}-\d{2}-\d{2}([ T]|$)"))  # drops NULLs as well
    if not len(said):
        return None if len(values) else NOTHING
    return _span(call, said)


def _one_sign(option: str) -> bool:
    """Whether it is what pyarrow takes; Spark takes more, such as `||`."""
    return len(option) == 1 and option.isascii() and option not in "\r\n"


def _span(call: Any, said: Any) -> Ranges | None:
    """Texts that begin with a day: the times of the first and the last two of these, whatever their time zones.

    No Python value becomes an Arrow one here: the first one that does imports pandas, a fifth of a second.
    """
    from pyarrow import concat_arrays

    days = call.utf8_slice_codeunits(said, 0, 10)
    distinct = call.unique(days)
    distinct = distinct.take(call.sort_indices(distinct))
    there = [at for at, day in enumerate(distinct.to_pylist()) if FIRST_YEAR <= int(day[:4]) <= LAST_YEAR]
    if not there:
        return NOTHING
    distinct = distinct.slice(there[0], len(there))  # sorted, so years out of reach are at its ends
    ends = concat_arrays([distinct.slice(0, 2), distinct.slice(max(0, len(there) - 2))])
    few = call.unique(call.filter(said, call.is_in(days, value_set=ends))).to_pylist()
    instants: list[tuple[datetime, bool]] = []
    for text in few:
        try:
            instants.append((utc(text.replace(" ", "T", 1)), len(text) == len("2024-01-01")))
        except ValueError:
            continue
    if not instants:
        return None
    return span_of(min(instants)[0], max(instants)[0], whole=max(instants)[1])


def span_of(first: datetime, last: datetime, *, whole: bool) -> Ranges:
    """From the first instant to the last, included (`whole`: the day of it), in the years that models may reach."""
    last = min(last, LATEST) + (timedelta(days=1) if whole else timedelta(milliseconds=1))
    found = Interval.clamped(first, last)
    return Ranges((found,)) if found else NOTHING
