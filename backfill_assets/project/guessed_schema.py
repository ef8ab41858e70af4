"""Which columns may files have that do not say so? As the first rows of one of them look, for an author to check."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import defaultdict
from typing import Any

import yaml

from backfill_assets.core.errors import SettingsError
from backfill_assets.core.model import Source
from backfill_assets.project.column_types import column_types
from backfill_assets.project.file_schema import arrow_type
from backfill_assets.project.object_store import arrow_path

_BYTES = 1024 * 1024
"""So much of a file is looked at."""


def guessed_columns(source: Source) -> tuple[str, str] | None:
    """What `columns:` of sources.yml could say, and the file that it was guessed from; None where nothing can be told.

    CSV without a header names no columns. Raises UnicodeDecodeError where files are in another encoding than it says.
    """
    named = source.format == "json" or (source.format == "csv" and source.option("header").lower() == "true")
    if source.path is None or not named:
        return None
    from pyarrow import ArrowException

    try:
        file, head = _head(source.path)
        columns = _csv(source, head) if source.format == "csv" else _json(head)
    except UnicodeDecodeError:
        raise
    except (ArrowException, csv.Error, OSError, TypeError, ValueError, SettingsError):
        return None
    said = yaml.safe_dump(columns, default_flow_style=True, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    return (f"columns: {said.strip()}", file) if columns else None


def _head(path: str) -> tuple[str, bytes]:
    """The name of the first file that has content, and its first whole lines."""
    from pyarrow.fs import FileSelector, FileType

    system, place = arrow_path(path)
    info = system.get_file_info(place)
    found = [info] if info.type == FileType.File else system.get_file_info(FileSelector(place, recursive=True))
    files = [f for f in found if f.type == FileType.File and f.size and not f.base_name.startswith(("_", "."))]
    first = min(files, key=lambda f: f.path)
    with system.open_input_stream(first.path) as opened:
        head = opened.read(_BYTES)
    return first.base_name, head if len(head) < _BYTES else head[: head.rindex(b"\n") + 1]


def _csv(source: Source, head: bytes) -> dict[str, str]:
    text = head.decode(source.option("encoding") or source.option("charset", "utf-8-sig"))
    rows = list(csv.reader(text.splitlines(), delimiter=source.separator))
    types = column_types(rows[0], rows[1:])
    return {name: "bigint" if type_ == "int" else type_ for name, type_ in types.items()}  # later rows may be larger


def _json(head: bytes) -> dict[str, str]:
    from pyarrow import ArrowInvalid
    from pyarrow.json import read_json

    try:
        schema = read_json(io.BytesIO(head)).schema
    except ArrowInvalid:  # values of two kinds in one column, as 1 and "one"
        schema = read_json(io.BytesIO(_of_one_kind(head))).schema
    return {field.name: _type(field.type) for field in schema}


def _of_one_kind(head: bytes) -> bytes:
    """The same lines, with text in place of values of several kinds."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in head.splitlines() if line.strip()]
    kinds: defaultdict[str, set[type]] = defaultdict(set)
    for name, value in ((name, value) for row in rows for name, value in row.items() if value is not None):
        kinds[name].add(float if type(value) is int else type(value))
    mixed = {name for name, found in kinds.items() if len(found) > 1}
    return "\n".join(
        json.dumps({name: "text" if name in mixed and value is not None else value for name, value in row.items()})
        for row in rows
    ).encode()


def _type(type_: Any) -> str:
    """The Spark type of what pyarrow guessed; a text where that is none that Spark's readers take."""
    from pyarrow import types

    if types.is_struct(type_):
        return f"struct<{','.join(f'{f.name}:{_type(f.type)}' for f in type_)}>"
    if types.is_list(type_):
        return f"array<{_type(type_.value_type)}>"
    return "timestamp" if types.is_timestamp(type_) else arrow_type(type_) or "string"
