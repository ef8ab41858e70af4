"""Which instants do `start` and `end` of a SQLMesh model say, and in which form are those of its time column? What
depends on the day on which it is read says none."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})|(\d{4})(\d\d)(\d\d)", re.ASCII)
_MIDNIGHT = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_STRFTIME = {"Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss"}
_ISO = ("yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss")
"""Forms that a cast reads."""


def spark_format(text: str) -> str | None:
    """The form of a time column's texts (strftime's, or Spark's) as Spark has it; empty for one that a cast reads, None
    for one that Spark reads otherwise, or that does not say a whole day.

    >>> [spark_format(t) for t in ("%Y%m%d", "%Y-%m-%d", "%d.%m.%Y", "yyyyMMdd", "%b %d %Y", "%Y%m")]
    ['yyyyMMdd', '', 'dd.MM.yyyy', 'yyyyMMdd', None, None]
    """
    if text.lower() in ("%y-%m-%d", "yyyy-mm-dd"):
        return ""
    found = re.sub(r"%([A-Za-z])", lambda word: _STRFTIME.get(word[1], "?"), text)
    words = re.findall(r"y+|M+|d+|H+|m+|s+", found)
    once = len(set(words)) == len(words) and {"yyyy", "MM", "dd"} <= set(words) <= set(_STRFTIME.values())
    if not once or set(found) - set("yMdHms-/. _:"):
        return None
    return "" if found in _ISO else found


def sorts(form: str) -> bool:
    """Whether texts of a form come in the order of their days.

    >>> sorts("yyyyMMdd"), sorts("dd.MM.yyyy")
    (True, False)
    """
    words = re.findall(r"y+|M+|d+|H+|m+|s+", form)
    return words == [w for w in _STRFTIME.values() if w in words]


def first_instant(text: str) -> datetime | None:
    """The instant that a `start` says; None for one that is not known.

    >>> first_instant("20240205").isoformat(), first_instant("1 week ago")
    ('2024-02-05T00:00:00+00:00', None)
    """
    try:
        if (found := _DAY.fullmatch(text) or _MIDNIGHT.fullmatch(text)) is not None:
            year, month, day = (int(part) for part in found.groups() if part is not None)
            return datetime(year, month, day, tzinfo=UTC)
        if _MOMENT.fullmatch(text):
            said = datetime.fromisoformat(text)
            return said.astimezone(UTC) if said.tzinfo is not None else said.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    return None


def instant_after(text: str) -> datetime | None:
    """The first instant after an `end`: a day there is the last one that is computed, a time is the first that is not.

    >>> [instant_after(t).isoformat() for t in ("2024-02-05", "2024-02-05 06:00", "2024/02/05")]
    ['2024-02-06T00:00:00+00:00', '2024-02-05T06:00:00+00:00', '2024-02-05T00:00:00+00:00']
    """
    found = first_instant(text)
    if found is None or not _DAY.fullmatch(text):
        return found
    try:
        return found + timedelta(days=1)
    except OverflowError:
        return None
