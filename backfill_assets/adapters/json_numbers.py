"""Which decimals do JSON lines write with more places after the point than are declared? Spark rounds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, cast

from backfill_assets.adapters.csv_header import finer_decimals
from backfill_assets.adapters.source_files import SourceFile
from backfill_assets.core.model import Source
from backfill_assets.project.object_store import UnreachableError

_BYTES = 16 * 1024
"""Of these the values are looked at."""


def rounded_json_decimals(source: Source, file: SourceFile) -> frozenset[str]:
    """The columns (in lower case) of a file of JSON lines, as far as it is looked at, with such numbers, written as
    numbers or as texts. Not those within structs."""
    if source.option("multiline").lower() == "true":
        return frozenset()
    return finer_decimals(source, file, lambda: _places(file))


@lru_cache(maxsize=100_000)
def _places(file: SourceFile) -> dict[str, int]:
    found: dict[str, int] = {}
    try:
        for row in _rows(file):
            for name, value in row.items():
                found[name.lower()] = max(found.get(name.lower(), 0), _after_the_point(value))
    except UnreachableError:
        raise
    except (OSError, ValueError, RecursionError):  # gone, damaged, no JSON lines: whoever reads it says so
        return {}
    return found


def _rows(file: SourceFile) -> Iterator[dict[str, Any]]:
    with file.text() as opened:
        content = bytes(opened.read(_BYTES))
    lines = content.split(b"\n")
    for line in lines if len(content) < _BYTES else lines[:-1]:
        row: object = json.loads(line, parse_float=Decimal) if line.strip() else None
        if isinstance(row, dict):
            yield cast("dict[str, Any]", row)


def _after_the_point(value: object) -> int:
    """
    >>> [_after_the_point(value) for value in (Decimal("1.250"), "2.125", 3, "n/a", None, Decimal("1e-3"))]
    [2, 3, 0, 0, 0, 3]
    """
    try:
        number = value if isinstance(value, Decimal) else Decimal(value) if isinstance(value, str) else Decimal(0)
    except InvalidOperation:
        return 0
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return 0
    text = "".join(map(str, digits))
    return max(0, -exponent - (len(text) - len(text.rstrip("0"))))
