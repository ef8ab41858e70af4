"""Which of a source's columns do its files have, and as which types? By headers of CSV files and footers of Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from backfill_assets.adapters.csv_header import (
    HeaderColumns,
    as_declared,
    begins_with_names,
    breaks_rows,
    columns_of,
    corrupt_record,
    decimal_commas,
    header_of,
    is_misencoded,
    misreads_quotes,
    rounded_decimals,
    unlike,
)
from backfill_assets.adapters.json_numbers import rounded_json_decimals
from backfill_assets.adapters.parquet_footer import Footer, parquet_footer
from backfill_assets.adapters.source_files import SourceFile, each_file, files_at, newest
from backfill_assets.core.intervals import NOTHING
from backfill_assets.core.model import Source
from backfill_assets.plan.odd_files import LOOKED_AT, FileColumns
from backfill_assets.plan.source_bytes import TimedFile
from backfill_assets.project.file_schema import Values
from backfill_assets.sql.types import decimal_parts


def check_declared(source: Source, files: Sequence[SourceFile]) -> None:
    """Raise PlanError where no file has a column that the source declares. As many files are looked at as that takes,
    the newest first, as a column may be younger than most; of very many nothing is said."""
    if not _say_names(source):
        return
    missing = {c.name for c in source.columns if c.name.lower() != corrupt_record(source)}
    latest: SourceFile | None = None
    for file in newest(files, LOOKED_AT + 1):
        columns = _columns(source, file)
        if columns is None:
            return
        latest = latest or (file if columns.there else None)
        missing -= {*columns.there, *columns.folders}
        if not missing:
            return
    if latest is not None and len(files) <= LOOKED_AT:
        names = ", ".join(c.name for c in source.columns if c.name in missing)
        what = f"no file of source {source.name} has the column {names}"
        raise unlike(source, latest, _names(source, latest) or (), what)


def file_columns(
    source: Source, pin: Mapping[str, object], find_parts: Callable[[], Sequence[TimedFile] | None]
) -> list[FileColumns]:
    """What the newest files of a source have, in the order of their names, and the first of all: its types are what
    Spark takes those of all for. None of those that do not say it, but of CSV, and of JSON with decimals, which may be
    odd all the same. `find_parts`: of which time each file is."""
    by_names, is_csv = _say_names(source), source.format == "csv"
    has_decimals = source.format == "json" and any(decimal_parts(column.type) for column in source.columns)
    if source.path is None or "files" not in pin or not (by_names or is_csv or has_decimals):
        return []
    files, parts = files_at(source.path), find_parts()
    days = [part.days for part in parts] if parts and len(parts) == len(files) else [None] * len(files)
    chosen = {*newest(files, LOOKED_AT), *files[:1]}
    looked = [(file, span) for file, span in zip(files, days, strict=True) if file in chosen]
    every = each_file([file for file, _ in looked], lambda file: _types(source, file))
    return [
        FileColumns(
            name="/".join(file.inside),
            days=NOTHING if _is_empty(source, file) else span,
            written=file.written,
            columns=(types or {}) if by_names else {},
            fields=_fields(source, file) if by_names else frozenset(),
            misread_quotes=is_csv and misreads_quotes(source, file),
            broken_rows=is_csv and breaks_rows(source, file),
            commas=decimal_commas(source, file) if is_csv and by_names else frozenset(),
            rounded=_rounded(source, file),
            misencoded=is_csv and is_misencoded(source, file),
            unsaid_header=is_csv and begins_with_names(source, file),
        )
        for (file, span), types in zip(looked, every, strict=True)
        if types or not by_names
    ]


def _rounded(source: Source, file: SourceFile) -> frozenset[str]:
    if source.format == "json":
        return rounded_json_decimals(source, file)
    return rounded_decimals(source, file) if source.columns_by == "header" else frozenset()


def _say_names(source: Source) -> bool:
    return source.columns_by == "header" or (source.format == "parquet" and bool(source.columns))


def _columns(source: Source, file: SourceFile) -> HeaderColumns | None:
    if source.format == "csv":
        return columns_of(source, file)
    names = _names(source, file)
    return None if names is None else as_declared(source, file, names)


def _names(source: Source, file: SourceFile) -> tuple[str, ...] | None:
    """As the file calls its columns; None where it does not say."""
    if source.format == "csv":
        return header_of(source, file)
    footer = _footer(source, file)
    return None if footer is None or footer.columns is None else tuple(column.name for column in footer.columns)


def _types(source: Source, file: SourceFile) -> dict[str, str | None] | None:
    """The columns by their names in lower case; those of folders have no type."""
    names, footer = _names(source, file), _footer(source, file)
    if not names:
        return None
    types = {column.name: column.type for column in footer.columns or ()} if footer else {}
    return {name.lower(): types.get(name) for name in names} | dict.fromkeys(file.folder_columns)


def _fields(source: Source, file: SourceFile) -> frozenset[str]:
    """What is in the file's structs."""
    footer = _footer(source, file)
    return _ways_within(footer.values) if footer else frozenset()


@lru_cache(maxsize=1_000)
def _ways_within(values: Values) -> frozenset[str]:
    return frozenset(".".join(way) for way, _ in values if len(way) > 1)


def _is_empty(source: Source, file: SourceFile) -> bool:
    footer = _footer(source, file)
    return footer is not None and not footer.rows


def _footer(source: Source, file: SourceFile) -> Footer | None:
    return parquet_footer(file, source.time_column) if source.format == "parquet" else None
