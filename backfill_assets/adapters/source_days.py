"""For which time does a source have rows? From partition values, file statistics, small CSV and JSON files: no JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import takewhile
from typing import Any, cast
from urllib.parse import unquote

from backfill_assets.adapters.csv_days import csv_days
from backfill_assets.adapters.json_days import json_days
from backfill_assets.adapters.known_days import KnownDays
from backfill_assets.adapters.mapped_columns import physical_names
from backfill_assets.adapters.parquet_footer import column_ends, parquet_footer, python_value
from backfill_assets.adapters.source_files import SourceFile, can_list, each_file, files_at
from backfill_assets.adapters.source_table import source_table
from backfill_assets.adapters.time_texts import OF_TYPE, span_of, time_pattern
from backfill_assets.core.intervals import NOTHING, Ranges, utc
from backfill_assets.core.model import Source
from backfill_assets.plan.source_bytes import TimedFile
from backfill_assets.project.folder_types import NULL_FOLDER

MOST_FILES = 5_000
"""Looking at the footers of more Parquet files would make planning slow."""
MOST_BYTES = 64 * 1024 * 1024
"""So would reading more of a source's texts."""
MOST_BYTES_OF_PARQUET = 16 * MOST_BYTES
"""And reading a column of more Parquet files, which is a part of them, where they do not say how far it reaches."""
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_HARMLESS = {"mode", "inferschema", "columnnameofcorruptrecord", "samplingratio", "locale", *OF_TYPE.values()}
_OF_CSV = (
    "header sep delimiter quote escape multiline nullvalue emptyvalue nanvalue positiveinf negativeinf enforceschema "
    "encoding charset maxcolumns maxcharspercolumn"
)
_OF_JSON = "primitivesasstring dropfieldifallnull allownonnumericnumbers"
_KNOWN_OPTIONS = {"csv": _HARMLESS.union(_OF_CSV.split()), "json": _HARMLESS.union(_OF_JSON.split())}
"""By format, options under which it can be told how a time is written; under others nothing is concluded."""


@dataclass(slots=True)
class SourceDays:
    """Looks at each state of a source once; what `known` remembers of its files is not read again."""

    known: KnownDays | None = None
    _seen: dict[str, tuple[Mapping[str, object], list[TimedFile] | None]] = field(
        default_factory=dict[str, tuple[Mapping[str, object], list[TimedFile] | None]]
    )

    def of(self, source: Source, pin: Mapping[str, object]) -> Ranges | None:
        """The `source_days` of what `pin` froze."""
        return None if source.time_column is None else _all_days(self.parts(source, pin))

    def parts(self, source: Source, pin: Mapping[str, object]) -> list[TimedFile] | None:
        """The `source_parts` of what `pin` froze."""
        if source.name not in self._seen or self._seen[source.name][0] != pin:
            self._seen[source.name] = (pin, source_parts(source, pin, self.known))
        return self._seen[source.name][1]


def source_days(source: Source, pin: Mapping[str, object], known: KnownDays | None = None) -> Ranges | None:
    """The time between the first and the last row of each file, by the source's time column: what lies outside has no
    rows. None when files do not say.
    """
    return None if source.time_column is None else _all_days(source_parts(source, pin, known))


def source_parts(source: Source, pin: Mapping[str, object], known: KnownDays | None = None) -> list[TimedFile] | None:
    """The files of a source, with the time of their rows as far as they say it. None where nobody can list them."""
    if source.path is None:
        return None
    if source.format == "delta":
        return _delta(source, cast("int | None", pin.get("commit")))
    if not can_list(source.path):
        return None
    files = files_at(source.path)
    if source.time_column is None or len(files) > MOST_FILES:
        return [TimedFile(days=None, bytes=file.bytes) for file in files]
    days = days_of_files(source, files, known, all_or_none=True)
    return [TimedFile(days=days.get(file), bytes=file.bytes) for file in files]


def days_of_files(
    source: Source, files: Sequence[SourceFile], known: KnownDays | None, *, all_or_none: bool = False
) -> dict[SourceFile, Ranges | None]:
    """The time of the rows of each file of a source that has a time column; None of those that do not say it. What is
    known is not read again. `all_or_none`: those before the first one that does not say it; what follows is not looked
    at."""
    read, began = readable_texts(source, files), datetime.now(UTC)
    columns = source.format == "parquet" and sum(file.bytes for file in files) <= MOST_BYTES_OF_PARQUET
    before = known.read(source, read, files) if known else {}
    days: dict[SourceFile, Ranges | None] = {**before}
    unread = [file for file in files if file not in before]
    for file, span in zip(
        unread, each_file(unread, lambda file: file_days(file, source, read=read, columns=columns)), strict=False
    ):
        days[file] = span
        if span is None and all_or_none:
            break
    if known and any(days.get(file) is not None for file in unread):
        as_listed = frozenset(files_at(source.path or ""))  # one that was written since may be another than was read
        known.keep(source, read, {file: span for file, span in days.items() if file in as_listed}, began=began)
    if all_or_none:
        return {file: days[file] for file in takewhile(lambda file: days.get(file) is not None, files)}
    return days


def _all_days(parts: Sequence[TimedFile] | None) -> Ranges | None:
    if parts is None or any(part.days is None for part in parts):
        return None
    return Ranges.of(day for part in parts for day in part.days or ())


def _delta(source: Source, commit: int | None) -> list[TimedFile] | None:
    table = source_table(source, commit)
    if table is None:
        return None
    actions = table.get_add_actions(flatten=True)
    sizes = [int(size) for size in actions.column("size_bytes").to_pylist()] if actions.num_rows else []
    days = _action_days(table, actions, source.time_column) if source.time_column else {}
    return [
        TimedFile(days=span, bytes=size) for span, size in zip(days.values() or [None] * len(sizes), sizes, strict=True)
    ]


def delta_days(table: Any, column: str) -> dict[str, Ranges | None]:
    """The files of a Delta table by path, each with the time of its rows by a column; None where nothing says it."""
    return _action_days(table, table.get_add_actions(flatten=True), column)


def _action_days(table: Any, actions: Any, column: str) -> dict[str, Ranges | None]:
    if not actions.num_rows:
        return {}
    names, named = {name.lower(): name for name in actions.schema.names}, physical_name(table, column)
    part = names.get(f"partition.{named}")
    first, last = part or names.get(f"min.{named}"), part or names.get(f"max.{named}")
    paths = [unquote(path) for path in actions.column("path").to_pylist()]
    blank: list[Any] = [None] * len(paths)
    wanted = (names.get("num_records"), names.get(f"null_count.{named}"), first, last)
    rows, nulls, lows, highs = (_values(actions.column(name)) if name else blank for name in wanted)
    if part:
        without = [not value.is_valid for value in actions.column(part)]
    else:
        without = [has is not None and has == none for has, none in zip(rows, nulls, strict=True)]
    spans = (
        NOTHING if none or has == 0 else value_span(low, high)
        for has, none, low, high in zip(rows, without, lows, highs, strict=True)
    )
    return dict(zip(paths, spans, strict=True))


def _values(column: Any) -> list[Any]:
    """As Python has them; None for a date or an instant of a year that Python does not know."""
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        return [python_value(column[i].as_py) for i in range(len(column))]


def physical_name(table: Any, column: str) -> str:
    """What a column is called in a Delta log: another name where the table maps columns. Lower-cased."""
    return physical_names(json.loads(table.schema().to_json())).get((column.lower(),), column).lower()


def readable_texts(source: Source, files: Sequence[SourceFile]) -> str | None:
    """The `time_pattern` by which a source's CSV or JSON files are read for their times; None where they are too much
    for that, or its options say something else of them."""
    known = _KNOWN_OPTIONS.get(source.format)
    if known is None or source.time_column is None or any(name.lower() not in known for name in source.options):
        return None
    packed = _PACKED if source.format == "json" else ()  # Arrow holds all of a JSON file at once
    size = sum(file.bytes * (10 if file.inside[-1].lower().endswith(packed) else 1) for file in files)
    return time_pattern(source) if size <= MOST_BYTES else None


def file_days(file: SourceFile, source: Source, *, read: str | None = None, columns: bool = False) -> Ranges | None:
    """By a folder's name (`ds=2024-03-01`), or by the footer of a Parquet file, where that does not say it by the
    column itself (`columns`: whether that is read); of texts by their rows (`read` by this pattern)."""
    column = cast(str, source.time_column).lower()
    for part in file.inside[:-1]:
        name, equals, value = part.partition("=")
        if equals and name.lower() == column:
            return NOTHING if value == NULL_FOLDER else value_span(unquote(value), unquote(value))
    if read is not None:
        return (csv_days if source.format == "csv" else json_days)(file, source, read)
    return _by_column(file, column, read=columns) if source.format == "parquet" else None


def _by_column(file: SourceFile, column: str, *, read: bool) -> Ranges | None:
    said = parquet_footer(file, column)
    if said is None:
        return None
    if not said.rows:
        return NOTHING
    ends = column_ends(file, column) if said.ends is None and read else said.ends
    return NOTHING if ends == () else value_span(*ends) if ends else None


def value_span(low: object, high: object) -> Ranges | None:
    """From a file's first value to its last, included, as far as models may reach: `9999-12-31` is often written for
    what has no end. Delta cuts instants to milliseconds."""
    try:
        first, last = (utc(v) if isinstance(v, str | date) else None for v in (low, high))
    except ValueError:
        return None
    if first is None or last is None:
        return None
    whole = len(high) <= len("2024-03-01") if isinstance(high, str) else not isinstance(high, datetime)
    return span_of(first, last, whole=whole)
