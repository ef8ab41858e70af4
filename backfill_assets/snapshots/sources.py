"""Which tables of others does the project read? `sources.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from backfill_assets.errors import Problem
from backfill_assets.settings import resolve_location, state_root
from backfill_assets.snapshots.documents import Document, read_yaml
from backfill_assets.snapshots.model import Column, Source
from backfill_assets.snapshots.validation import Duration, Name, SparkType, Strict, Text, identifier, validate

SOURCES_FILE = "sources.yml"
_READABLE = ("delta", "parquet")


def _dotted(value: object) -> str:
    parts = value.split(".") if isinstance(value, str) else []
    if not 1 <= len(parts) <= 3:
        raise ValueError("not a name such as events or raw.events")
    for part in parts:
        identifier(part)
    return ".".join(parts)


def _typed(value: object) -> object:
    return value if isinstance(value, Mapping) else {"type": value}


def _options(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in value.items()}


class _Column(Strict):
    type: SparkType
    description: Text = ""


class _Entry(Strict):
    name: Annotated[str, BeforeValidator(_dotted)]
    description: Text = ""
    owner: Text = ""
    format: Literal["delta", "parquet", "csv", "json", "orc", "avro"] = "delta"
    path: str | None = None
    table: str | None = None
    time_column: Name | None = None
    freshness: Duration | None = None
    cut_off: bool = True
    options: Annotated[dict[str, str], BeforeValidator(_options)] = Field(default_factory=dict[str, str])
    columns: dict[Name, Annotated[_Column, BeforeValidator(_typed)]] = Field(default_factory=dict[str, _Column])

    @model_validator(mode="after")
    def _one_place(self) -> _Entry:
        if (self.path is None) == (self.table is None):
            raise ValueError("give either `path` or `table`" + (", not both" if self.path else ""))
        return self


_FIXES = {
    "": "write `path: data/events` for files, or `table: catalog.db.table` for a table of the metastore",
    "freshness": "write it as 36h or 90m",
    "columns": 'write `name: type`, or `name: {type: "decimal(18,4)", description: …}`',
    "format": "write delta, parquet, csv, json, orc or avro",
}


def read_sources(root: Path, problems: list[Problem]) -> tuple[dict[str, Source], dict[str, str], set[str]]:
    """The sources by name, the location of each as its file writes it, and those whose columns the data itself says.

    Problems are appended.
    """
    sources: dict[str, Source] = {}
    written: dict[str, str] = {}
    found_out: set[str] = set()
    document, entries = read_list(root / SOURCES_FILE, "sources", problems)
    for index, data in enumerate(entries):
        entry = validate(_Entry, document, data, problems, at=("sources", index), fixes=_FIXES)
        if entry is None:
            continue
        line = document.line_of("sources", index)
        if (twin := next((s for n, s in sources.items() if n.lower() == entry.name.lower()), None)) is not None:
            what, why = f"two sources are named `{entry.name}`", f"the other is at line {twin.line}"
            problems.append(document.problem("sources", index, what=what, why=why, fix="rename one of them"))
            continue
        source = _source(entry, root, document.file, line)
        if not source.columns:
            found_out.add(source.name)
        columns = source.columns or _physical_columns(source, document, ("sources", index), problems)
        if columns and source.time_column and source.time_column.lower() not in {c.name.lower() for c in columns}:
            what = f"`{source.name}` has no column `{source.time_column}`"
            fix = f"name one of: {', '.join(c.name for c in columns)}"
            problems.append(document.problem("sources", index, "time_column", what=what, fix=fix))
        sources[source.name] = _with_columns(source, columns)
        written[source.name] = f"path {entry.path}" if entry.path is not None else f"table {entry.table}"
    return sources, written, found_out


def read_list(
    file: Path, key: str, problems: list[Problem], *, beside: frozenset[str] = frozenset()
) -> tuple[Document, list[object]]:
    """The entries of a file that holds `key: [...]` (and maybe the keys `beside`); none when there is no such file."""
    if not file.is_file():
        return Document(file=file), []
    document = read_yaml(file.read_text(encoding="utf-8-sig"), file, problems)
    if document is None or document.data is None:
        return Document(file=file), []
    match document.data:
        case {**rest} if key in rest and set(rest) <= {key, *beside} and isinstance(rest[key], list | None):
            return document, rest[key] or []
        case _:
            what, fix = f"the file must be one list, `{key}:`", f"write `{key}:` and below it `  - name: …` entries"
            problems.append(document.problem(what=what, fix=fix))
            return document, []


def _source(entry: _Entry, root: Path, file: Path, line: int) -> Source:
    return Source(
        name=entry.name, format=entry.format, table=entry.table, time_column=entry.time_column, owner=entry.owner,
        path=resolve_location(entry.path, state_root(root)) if entry.path is not None else None,
        columns=tuple(Column(name=n, type=c.type, description=c.description) for n, c in entry.columns.items()),
        options=entry.options, freshness_hours=entry.freshness / 3600 if entry.freshness else None,
        cut_off=entry.cut_off, description=entry.description, file=file, line=line,
    )  # fmt: skip


def _with_columns(source: Source, columns: tuple[Column, ...]) -> Source:
    from dataclasses import replace

    return replace(source, columns=columns)


def _physical_columns(
    source: Source, document: Document, at: tuple[str | int, ...], problems: list[Problem]
) -> tuple[Column, ...]:
    """The columns of the files themselves, for formats that say; a problem when they cannot be read."""
    what = f"the columns of `{source.name}` are unknown"
    if source.path is None or source.format not in _READABLE:
        kind = "a table of a metastore" if source.path is None else f"{source.format} files"
        why = f"{kind} cannot be asked for them without Spark"
        problems.append(document.problem(*at, what=what, why=why, fix="declare them: `columns: {name: type}`"))
        return ()
    from backfill_assets.snapshots.file_schema import read_schema

    try:
        return read_schema(source.format, source.path)
    except Exception as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        fix = f"declare `columns:`, or create the {source.format} table at {source.path}"
        problems.append(document.problem(*at, what=what, why=first, fix=fix))
        return ()
