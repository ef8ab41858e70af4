"""Which instants do `start` and `end` of a SQLMesh model say? What depends on the day on which it is read says none."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})|(\d{4})(\d\d)(\d\d)", re.ASCII)
_MIDNIGHT = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


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
