"""Which types do the names of folders have, as `day=2024-03-01/load=17/`? Those that Spark takes them for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from urllib.parse import unquote

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call a folder whose rows have no value."""
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_FRACTION = re.compile(r"-?\d*\.\d+|-?\d+(?:\.\d*)?[dDfF]|NaN", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d)?", re.ASCII)
_WIDER = {
    frozenset({"int", "bigint"}): "bigint",
    frozenset({"int", "double"}): "double",
    frozenset({"date", "timestamp"}): "timestamp",
}
"""Of two types of one column. Of others it is text: Spark takes neither large integers nor dates for fractions."""


def folder_types(paths: Iterable[str]) -> Mapping[str, str]:
    """Column → its Spark type, by the folders of all files (their paths from the table's folder).

    >>> dict(folder_types(["day=2024-03-01/load=17/a.parquet", "day=2024-03-02/load=9999999999/b.parquet"]))
    {'day': 'date', 'load': 'bigint'}
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        for part in path.split("/")[:-1]:
            name, says, value = part.partition("=")
            if says:
                found[unquote(name)] |= set[str]() if value == NULL_FOLDER else {_type_of(unquote(value))}
    return {name: _common(types) for name, types in found.items()}


def _type_of(value: str) -> str:
    if _WHOLE.fullmatch(value):
        number = int(value)
        return "int" if -(2**31) <= number < 2**31 else "bigint" if -(2**63) <= number < 2**63 else "string"
    if _FRACTION.fullmatch(value):
        return "double"
    with suppress(ValueError):  # a day that no calendar has
        if _DATE.fullmatch(value) and date.fromisoformat(value):
            return "date"
        if _TIMESTAMP.fullmatch(value) and datetime.fromisoformat(value):
            return "timestamp"
    return "string"


def _common(types: set[str]) -> str:
    return next(iter(types)) if len(types) == 1 else _WIDER.get(frozenset(types), "string")
