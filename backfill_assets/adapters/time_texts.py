"""Which days do texts say, as a source's files write them? `2024-03-01…`, or as an option of the source has it."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

from backfill_assets.core.intervals import FIRST_YEAR, LAST_YEAR, LATEST, NOTHING, Interval, Ranges, utc
from backfill_assets.core.model import Source

_ISO = r"^\d{4}-\d{2}-\d{2}([ T]|$)"
_SHORT = r"^\d{4}-(\d|\d-\d{1,2}|\d{2}-\d)([ T]|$)"
"""A month or a day of one digit."""
OF_TYPE = {"date": "dateformat", "timestamp": "timestampformat", "timestamp_ntz": "timestampntzformat"}
"""The option by which Spark reads a column of a type; texts are read by none."""
_PARTS = {
    "yyyy": r"(?P<y>\d{4})", "y": r"(?P<y>\d{4})", "MM": r"(?P<m>\d{2})", "M": r"(?P<m>\d{1,2})", "dd": r"(?P<d>\d{2})",
    "d": r"(?P<d>\d{1,2})",
}  # fmt: skip


def time_pattern(source: Source) -> str | None:
    """A pattern, in Arrow's words, whose groups y, m and d are the day that a value of the time column says; "" where
    it begins with the day as ISO 8601 writes it. None where the source's options do not let anybody tell."""
    wanted = (source.time_column or "").lower()
    kind = next(((c.type or "").lower() for c in source.columns if c.name.lower() == wanted), "")
    options = [OF_TYPE[kind]] if kind in OF_TYPE else [] if kind == "string" else [*OF_TYPE.values()]
    said = {found for option in options if (found := source.option(option))}
    if all(one.startswith("yyyy-MM-dd") for one in said):
        return ""
    return _pattern(said.pop()) if kind in OF_TYPE else None


def _pattern(form: str) -> str | None:
    """The pattern of a form such as `dd/MM/yyyy HH:mm`, up to where its day is said; None for any other letters.

    >>> _pattern("d.M.yyyy")
    '^(?P<d>\\\\d{1,2})\\\\.(?P<m>\\\\d{1,2})\\\\.(?P<y>\\\\d{4})'
    """
    found, there = "^", set[str]()
    if set("XxzZOV") & set(form):  # which day it is in UTC depends on them
        return None
    for token in re.findall(r"([A-Za-z])(\1*)|([^A-Za-z])", form):
        letters, sign = token[0] + token[1], token[2]
        if sign in ("'", "["):
            return None
        if letters and (letters not in _PARTS or letters[0] in there):
            return None
        found += _PARTS[letters] if letters else re.escape(sign)
        there |= {letters[:1]} if letters else set()
        if there == {"y", "M", "d"}:
            return found
    return None


def days_of(values: Any, pattern: str) -> Ranges | None:
    """From the first to the last of an Arrow array of texts; None where none of them is a time."""
    from pyarrow import compute

    call: Any = compute
    if not pattern:
        said = call.filter(values, call.match_substring_regex(values, _ISO))  # drops NULLs as well
        if call.sum(call.match_substring_regex(values, _SHORT)).as_py():  # Spark reads them, too
            return None
    else:
        parts = call.drop_null(call.extract_regex(values, pattern))
        year, month, day = (call.struct_field(parts, name) for name in "ymd")
        two = [call.utf8_lpad(one, width=2, padding="0") for one in (month, day)]
        said = call.binary_join_element_wise(year, *two, "-")
    if not len(said):
        return None if len(values) else NOTHING
    return _span(call, said)


def _span(call: Any, said: Any) -> Ranges | None:
    """Texts that begin with a day: the times of the first and the last two of these, whatever their time zones.

    No Python value becomes an Arrow one here: the first one that does imports pandas, a fifth of a second.
    """
    from pyarrow import concat_arrays

    days = call.utf8_slice_codeunits(said, 0, 10)
    distinct = call.unique(days)
    distinct = distinct.take(call.sort_indices(distinct))
    there = [at for at, day in enumerate(distinct.to_pylist()) if _is_day(day)]
    if not there:
        return NOTHING
    ends = concat_arrays([distinct.slice(at, 1) for at in dict.fromkeys([*there[:2], *there[-2:]])])
    few = call.unique(call.filter(said, call.is_in(days, value_set=ends))).to_pylist()
    instants: list[tuple[datetime, bool]] = []
    for text in few:
        try:
            instants.append((utc(text.replace(" ", "T", 1)), len(text) == len("2024-01-01")))
        except ValueError:
            continue
    if not instants:
        return None
    return span_of(min(instants)[0], max(instants)[0], whole=max(instants)[1])


def _is_day(text: str) -> bool:
    """Whether there is such a day, in the years that models may reach: of others Spark makes NULL."""
    try:
        return FIRST_YEAR <= date.fromisoformat(text).year <= LAST_YEAR
    except ValueError:
        return False


def span_of(first: datetime, last: datetime, *, whole: bool) -> Ranges:
    """From the first instant to the last, included (`whole`: the day of it), in the years that models may reach.

    To the end of the last millisecond, as Delta cuts instants to these, and no interval ends within one.

    >>> from backfill_assets.core.intervals import utc
    >>> str(span_of(utc("2024-01-03"), utc("2024-01-03T23:59:59.999999"), whole=False))
    '2024-01-03'
    """
    last = min(last, LATEST)
    after = last + timedelta(days=1) if whole else last - timedelta(microseconds=last.microsecond % 1000 - 1000)
    found = Interval.clamped(first, after)
    return Ranges((found,)) if found else NOTHING
