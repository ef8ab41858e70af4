"""Which types do the columns of a CSV file have, as its texts look?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime


def column_types(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """The narrowest Spark type that all values of each column have; empty ones are NULL.

    >>> column_types(["id", "zip", "at", "nothing"], [["1", "01234", "2024-01-01T10:00:00Z", ""], ["2", "9", "", ""]])
    {'id': 'int', 'zip': 'string', 'at': 'timestamp', 'nothing': 'string'}
    """
    return {name: _narrowest([row[at] for row in rows if at < len(row)]) for at, name in enumerate(header)}


def _narrowest(values: list[str]) -> str:
    given = [v for v in values if v != ""]
    for kind, fits in (
        ("int", _int),
        ("bigint", _bigint),
        ("double", _double),
        ("date", _date),
        ("timestamp", _moment),
    ):
        if given and all(fits(v) for v in given):
            return kind
    return "boolean" if given and all(v.lower() in ("true", "false") for v in given) else "string"


def _int(value: str) -> bool:
    return re.fullmatch(r"-?\d{1,9}", value) is not None and (value == "0" or not value.lstrip("-").startswith("0"))


def _bigint(value: str) -> bool:
    return re.fullmatch(r"-?\d{1,18}", value) is not None and (value == "0" or not value.lstrip("-").startswith("0"))


def _double(value: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", value) is not None and re.match(r"-?0\d", value) is None


def _date(value: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _moment(value: str) -> bool:
    try:
        return re.match(r"\d{4}-\d\d-\d\d", value) is not None and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
