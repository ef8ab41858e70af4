"""Which tables of others does the project read? `sources.yml`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from backfill_assets.core.errors import Problem, SettingsError
from backfill_assets.core.model import Column, Source, SourceReady
from backfill_assets.core.wording import did_you_mean
from backfill_assets.files.documents import Document, read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.files.validation import (
    ColumnName,
    ColumnNames,
    Duration,
    Strict,
    Text,
    columns_once,
    identifier,
    setting,
    shown,
    text,
    validate,
)
from backfill_assets.project.header import SparkType
from backfill_assets.project.locations import plain_path, resolve_location, wrong_location
from backfill_assets.project.settings import state_root

SOURCES_FILE = "sources.yml"
_READABLE = ("delta", "parquet")
_PART = re.compile(r"`[^`\n]{1,255}`|[A-Za-z0-9_]{1,255}")


def _dotted(value: object) -> str:
    parts = value.split(".") if isinstance(value, str) else []
    if not 1 <= len(parts) <= 3:
        raise ValueError("not a name such as events or raw.events")
    for part in parts:
        identifier(part)
    return ".".join(parts)


def _typed(value: object) -> object:
    return value if isinstance(value, Mapping) else {"type": value}


def _location(value: object) -> str:
    found = text(value)
    if problem := wrong_location(found, written=False):
        raise ValueError(problem)
    return found


def _options(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {(name := text(k)): _sign(v) if name.lower() in _SIGNS else setting(v) for k, v in value.items()}


_SIGNS = frozenset(
    {
        "sep",
        "delimiter",
        "quote",
        "escape",
        "chartoescapequoteescaping",
        "comment",
        "linesep",
        "nullvalue",
        "emptyvalue",
    }
)
"""Options that say with which signs a file is written."""


def _sign(value: object) -> str:
    """A text as it is: files are separated by tabs."""
    if not isinstance(value, str):
        return setting(value)
    if "\0" in value:
        raise ValueError("the text holds a zero byte")
    return value


def _table(value: object) -> str:
    """`table`, `schema.table` or `catalog.schema.table`; nothing that could be more SQL than a name."""
    found = text(value)
    parts = found.split(".")
    if not 1 <= len(parts) <= 3 or not all(_PART.fullmatch(part) for part in parts):
        raise ValueError("not the name of a table such as catalog.schema.events")
    return found


def _file_name(value: object) -> str:
    """The name of a file in a folder; no path."""
    found = text(value)
    if not found or "/" in found or "\\" in found or found in (".", ".."):
        raise ValueError("not the name of a file such as _SUCCESS")
    return found


class _Column(Strict):
    type: SparkType
    description: Text = ""


class _DeclaredReady(Strict):
    file: Annotated[str, BeforeValidator(_file_name)]
    every_day: bool = True


class SourceEntry(Strict):
    """A table that others write. Each key says what it is for, in docs/models.md too."""

    name: Annotated[str, BeforeValidator(_dotted)]
    """what models call it, as in `raw.events`"""
    description: Text = ""
    """what a row is, for people"""
    owner: Text = ""
    """who answers for it"""
    format: Literal["delta", "parquet", "csv", "json", "orc", "avro"] = "delta"
    """`delta`, `parquet`, `csv`, `json`, `orc` or `avro`"""
    path: Annotated[str, BeforeValidator(_location)] | None = None
    """a folder or file, from the project's folder, or a URI; this or `table`"""
    table: Annotated[str, BeforeValidator(_table)] | None = Field(default=None, validate_default=True)
    """a table that Spark finds by its name, as in `catalog.db.events`"""
    time_column: ColumnName | None = None
    """the column that says of which time a row is: models begin and end with it, and late rows are told by it"""
    freshness: Duration | None = None
    """how old its newest row may be before `backfill watch` names it, as in `36h`: see docs/watch.md"""
    settle: Duration | None = None
    """how long rows of a day may still come: routine runs build such days again. See docs/late-data.md"""
    cut_off: bool = True
    """`false`: days without rows mean something, and models do not end where it does"""
    options: Annotated[dict[str, str], BeforeValidator(_options)] = Field(default_factory=dict[str, str])
    """Spark's reader options"""
    columns: Annotated[dict[ColumnName, Annotated[_Column, BeforeValidator(_typed)]], BeforeValidator(columns_once)] = (
        Field(default_factory=dict[str, _Column])
    )
    """`{name: type}` or `{name: {type, description}}`; Delta and Parquet files say them themselves"""
    key: ColumnNames = ()
    """columns that no two rows share: held against the data before anything is computed from it"""
    mask: ColumnNames = ()
    """columns whose values nobody should see: see docs/diff.md#masked-columns"""
    ready: Literal["later_rows"] | _DeclaredReady | None = Field(default=None)
    """when a day of it is complete: `{file: _SUCCESS}` in the day's folder, or `later_rows`"""

    @field_validator("ready")
    @classmethod
    def _can_be_told(cls, value: object, info: ValidationInfo) -> object:
        # info.data lacks what was refused already: that is told by itself
        said = info.data
        if value is None:
            return None
        if "time_column" in said and said["time_column"] is None:
            raise ValueError("it says of which times all rows are there: `time_column` is needed")
        if said.get("cut_off") is False:
            raise ValueError("`cut_off: false` says that models do not end where the source does; `ready` that they do")
        if "path" in said and (said["path"] is None or "://" in said["path"]) and said.get("format") != "delta":
            raise ValueError("nobody can look without Spark: it works for Delta tables and local files")
        if said.get("table"):
            raise ValueError("nobody can look at a catalog table without Spark: it works for paths")
        if isinstance(value, _DeclaredReady) and said.get("format") == "delta":
            raise ValueError("files beside a Delta table say nothing of its commits: write later_rows")
        return value

    @field_validator("table")
    @classmethod
    def _one_place(cls, value: str | None, info: ValidationInfo) -> str | None:
        # info.data lacks a path that was refused already: that is told by itself
        if "path" in info.data and (info.data["path"] is None) == (value is None):
            raise ValueError("give either `path` or `table`" + (", not both" if value else ""))
        return value


_PLACE = "write `path: data/events` for files, or `table: catalog.db.table` for a table of the metastore"
_FIXES = {
    "path": _PLACE,
    "table": _PLACE,
    "name": "write a name such as events or raw.events",
    "key": "write the columns that no two rows share, as `key: [id]`",
    "freshness": "write it as 36h or 90m",
    "settle": "write how long rows of a day may still come after it, as in 14 days",
    "columns": 'write `name: type`, or `name: {type: "decimal(18,4)", description: …}`',
    "ready": "write later_rows, or {file: _SUCCESS}: the file that a day's folder has once the day is complete",
    "format": "write delta, parquet, csv, json, orc or avro",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources of a project's file.

    `entries` by name, `written` the location of each as the file writes it, `found_out` those whose columns the data
    itself says. `certain`: no name is missing among them because it could not be read.
    """

    entries: Mapping[str, Source]
    written: Mapping[str, str]
    found_out: frozenset[str]
    certain: bool
    faults: Mapping[str, tuple[Problem, ...]]
    """What is wrong with the data of some that are found out."""


def read_sources(
    root: Path,
    problems: list[Problem],
    *,
    guessing: bool = False,
    recorded: Mapping[str, tuple[Column, ...]] | None = None,
) -> Sources:
    """What the file says. Problems are appended; a source that has some is there without columns, for its readers.

    `guessing`: those of columns that nobody declared say how the data looks. Not where a stranger may name the data.
    `recorded`: the columns that undeclared ones are taken to have, whatever their data says by now.
    """
    sources: dict[str, Source] = {}
    written: dict[str, str] = {}
    found_out: set[str] = set()
    faults: dict[str, tuple[Problem, ...]] = {}
    entries = read_list(root / SOURCES_FILE, "sources", problems)
    document, certain = entries.document, entries.read
    for index, data in enumerate(entries.items):
        entry = validate(SourceEntry, document, data, problems, at=("sources", index), fixes=_FIXES)
        line = document.line_of("sources", index)
        if entry is None:
            name = _named(data)
            certain = certain and name is not None
            if name is not None:
                sources.setdefault(name, Source(name=name, file=document.file, line=line))
            continue
        if (twin := next((s for n, s in sources.items() if n.lower() == entry.name.lower()), None)) is not None:
            what, why = f"two sources are named `{entry.name}`", f"the other is at line {twin.line}"
            problems.append(document.problem("sources", index, what=what, why=why, fix="rename one of them"))
            continue
        source = _source(entry, root, document.file, line)
        if not source.columns:
            found_out.add(source.name)
        found: list[Problem] = []
        columns = source.columns or (recorded or {}).get(source.name, ())
        columns = columns or _physical_columns(source, document, ("sources", index), found, guessing)
        if columns and source.time_column and source.time_column.lower() not in {c.name.lower() for c in columns}:
            names = [c.name for c in columns]
            what = f"`{source.name}` has no column `{source.time_column}`"
            fix = did_you_mean(source.time_column, names, f"name one of: {', '.join(names)}")
            found.append(document.problem("sources", index, "time_column", what=what, fix=fix))
        names = [c.name for c in columns]
        for said, at, name in [(s, i, n) for s in ("key", "mask") for i, n in enumerate(getattr(source, s))]:
            if columns and name.lower() not in {n.lower() for n in names}:
                what = f"`{source.name}` has no column `{name}`"
                fix = did_you_mean(name, names, f"name one of: {', '.join(names)}")
                found.append(document.problem("sources", index, said, at, what=what, fix=fix))
        if found and source.name in found_out and _says_columns(source):
            faults[source.name] = tuple(found)
        problems += found
        sources[source.name] = replace(source, columns=columns, declared=_declared(data, columns))
        written[source.name] = f"path {plain_path(entry.path)}" if entry.path is not None else f"table {entry.table}"
    return Sources(entries=sources, written=written, found_out=frozenset(found_out), certain=certain, faults=faults)


def _declared(data: object, columns: Sequence[Column]) -> str:
    written = {k: v for k, v in data.items() if k != "columns"} if isinstance(data, Mapping) else {}
    entry = json.loads(json.dumps(written, sort_keys=True, default=str))
    # In their order: code that nobody looks into may read them by their places.
    return json.dumps(entry | {"columns": {c.name: {"type": c.type} for c in columns}})


def _named(data: object) -> str | None:
    """The name in an entry that is wrong elsewhere; None when the name is wrong, too."""
    try:
        return _dotted(data.get("name")) if isinstance(data, Mapping) else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The items of a file that is one list, and (`read`) whether they are all that it says."""

    document: Document
    items: Sequence[object] = ()
    read: bool = True


def read_list(file: Path, key: str, problems: list[Problem], *, beside: frozenset[str] = frozenset()) -> Entries:
    """The entries of a file that holds `key: [...]` (and maybe the keys `beside`); none when there is no such file."""
    before = len(problems)
    text = read_text(file, problems, missing=True)
    document = read_yaml(text, file, problems) if text is not None else None
    if document is None or document.data is None:
        return Entries(document=Document(file=file), read=len(problems) == before)
    fix = f"write `{key}:` and below it `  - name: …` entries"
    data = document.data
    if not isinstance(data, Mapping):
        problems.append(document.problem(what=f"the file must be one list, `{key}:`", why="it is none", fix=fix))
        return Entries(document=document, read=False)
    known = [key, *sorted(beside)]
    for name in data:
        if name not in known:
            what, why = f"unknown key `{name}`", f"the file must be one list, `{key}:`"
            problems.append(document.problem(str(name), what=what, why=why, fix=did_you_mean(str(name), known, fix)))
    items = data.get(key)
    if key in data and not isinstance(items, list | None):
        problems.append(document.problem(key, what=f"`{key}` must be a list", why=f"it is {shown(items)}", fix=fix))
    right = isinstance(items, list) or (key in data and items is None)
    return Entries(document=document, items=items if isinstance(items, list) else (), read=right)


def _source(entry: SourceEntry, root: Path, file: Path, line: int) -> Source:
    return Source(
        name=entry.name, format=entry.format, table=entry.table, time_column=entry.time_column, owner=entry.owner,
        path=resolve_location(entry.path, state_root(root)) if entry.path is not None else None,
        columns=tuple(Column(name=n, type=c.type, description=c.description) for n, c in entry.columns.items()),
        options=entry.options, key=entry.key, mask=entry.mask,
        freshness_hours=entry.freshness / 3600 if entry.freshness else None, cut_off=entry.cut_off,
        settle=entry.settle or 0, ready=_ready(entry),
        description=entry.description, file=file, line=line,
    )  # fmt: skip


def _ready(entry: SourceEntry) -> SourceReady | None:
    match entry.ready:
        case None:
            return None
        case _DeclaredReady(file=file, every_day=every_day):
            return SourceReady(file=file, every_day=every_day)
        case _:
            return SourceReady()


def _declaring(source: Source, guessing: bool) -> str:
    """How columns are declared: as the data looks, where that can be told."""
    if guessing:
        from backfill_assets.project.guessed_schema import guessed_columns

        try:
            if guess := guessed_columns(source):
                columns, file = guess
                return f"declare them; by the first rows of {file} (look at the types): `{columns}`"
        except UnicodeDecodeError as error:
            said = "such as windows-1252" if error.encoding.startswith("utf-8") else f"as it is not {error.encoding}"
            return f"name the encoding of its files, {said}: `options: {{encoding: …}}`; then declare them"
    return "declare them: `columns: {name: type}`"


def _says_columns(source: Source) -> bool:
    """Whether its files can be asked for their columns."""
    return source.path is not None and source.format in _READABLE


_NOTHING_THERE = ("TableNotFoundError", "FileNotFoundError")
"""What delta-rs and Arrow raise where there is no table. (delta-rs's classes take long to import.)"""


def _physical_columns(
    source: Source, document: Document, at: tuple[str | int, ...], problems: list[Problem], guessing: bool
) -> tuple[Column, ...]:
    """The columns of the files themselves, for formats that say; a problem when they cannot be read."""
    what = f"the columns of `{source.name}` are unknown"
    if not _says_columns(source):
        kind = "a table of a metastore" if source.path is None else f"{source.format} files"
        why = f"{kind} cannot be asked for them without Spark"
        problems.append(document.problem(*at, what=what, why=why, fix=_declaring(source, guessing)))
        return ()
    from backfill_assets.project.file_schema import read_schema

    try:
        return read_schema(source.format, source.path or "")
    except SettingsError as error:
        problems.append(document.problem(*at, what=what, why=f"{error.what}: {error.why}", fix=error.fix))
        return ()
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        create = "create" if type(error).__name__ in _NOTHING_THERE else "mend"
        fix = f"declare `columns:`, or {create} the {source.format} table at {source.path}"
        problems.append(document.problem(*at, what=what, why=first, fix=fix))
        return ()
