"""For which time does a file of JSON lines have rows? Its time column is read."""

from __future__ import annotations

from typing import Any

from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.adapters.time_texts import days_of
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.model import Source
from backfill_assets.project.object_store import UnreachableError

_AT_ONCE = 16 * 1024 * 1024
"""Bytes: a line may have as many."""


def json_days(file: SourceFile, source: Source, pattern: str) -> Ranges | None:
    """From the file's first row to its last, by the source's time column; None when that cannot be told."""
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, json, schema, string

    if not file.bytes:
        return NOTHING
    name = next((c.name for c in source.columns if c.name.lower() == (source.time_column or "").lower()), "")
    parse = json.ParseOptions(
        explicit_schema=schema([(name or source.time_column or "", string())]), unexpected_field_behavior="ignore"
    )
    try:
        with file.text() as opened:
            table: Any = json.read_json(opened, read_options=json.ReadOptions(block_size=_AT_ONCE), parse_options=parse)
    except UnreachableError:  # that nobody answers does not make its days unknown
        raise
    except (ArrowInvalid, ArrowNotImplementedError, OSError, UnicodeError):
        return None
    return days_of(table.column(0), pattern)
