"""Which columns may files have that do not say so? As the first rows of one of them look, for an author to check."""

from __future__ import annotations

import io
import json
from typing import Any

from backfill_assets.core.errors import SettingsError
from backfill_assets.core.model import Source
from backfill_assets.project.file_schema import arrow_type
from backfill_assets.project.object_store import arrow_path

_BYTES = 1024 * 1024
"""So much of a file is looked at."""


def guessed_columns(source: Source) -> tuple[str, str] | None:
    """What `columns:` of sources.yml could say, and the file that it was guessed from; None where nothing can be told.

    CSV without a header names no columns. pyarrow guesses as Spark's `inferSchema` does, but for times without a zone,
    which are `timestamp` here, as elsewhere in Spark's readers.
    """
    named = source.format == "json" or (source.format == "csv" and source.option("header").lower() == "true")
    if source.path is None or not named:
        return None
    from pyarrow import ArrowException

    separator = source.option("sep") or source.option("delimiter", ",")
    try:
        file, head = _head(source.path)
        types = _csv(head, separator) if source.format == "csv" else _json(head)
    except (ArrowException, OSError, TypeError, ValueError, SettingsError):
        return None
    columns = ", ".join(f"{_quoted(name)}: {_quoted(type_)}" for name, type_ in types.items())
    return (f"columns: {{{columns}}}", file) if columns else None


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


def _csv(head: bytes, separator: str) -> dict[str, str]:
    from pyarrow import compute, csv, types

    call: Any = compute
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    read: Any = csv.read_csv(io.BytesIO(head), parse_options=parse)
    texts = csv.ConvertOptions(column_types=dict.fromkeys(read.schema.names, "string"))
    said: Any = csv.read_csv(io.BytesIO(head), parse_options=parse, convert_options=texts)
    found: dict[str, str] = {}
    for at, field in enumerate(read.schema):  # 01234 is a code: as a number it is another one
        code = types.is_integer(field.type) and call.any(call.match_substring_regex(said.column(at), "^0[0-9]")).as_py()
        found[field.name] = "string" if code else _type(field.type)
    return found


def _json(head: bytes) -> dict[str, str]:
    from pyarrow import json as lines

    return {field.name: _type(field.type) for field in lines.read_json(io.BytesIO(head)).schema}


def _type(type_: Any) -> str:
    """The Spark type of what pyarrow guessed; a text where that is none that Spark's readers take."""
    from pyarrow import types

    if types.is_struct(type_):
        return f"struct<{','.join(f'{f.name}:{_type(f.type)}' for f in type_)}>"
    if types.is_list(type_):
        return f"array<{_type(type_.value_type)}>"
    return "timestamp" if types.is_timestamp(type_) else arrow_type(type_) or "string"


def _quoted(text: str) -> str:
    """As YAML takes it: words that it has a meaning for, and all that is no word, in quotes."""
    plain = text.isidentifier() and text.lower() not in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    return text if plain else json.dumps(text)
