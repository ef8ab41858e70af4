"""How are names and numbers of intervals said in a sentence?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.intervals import Cadence

SHOWN = 6
"""Names of a list that is cut off."""


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed([])
    ('a, b and c', 'a', '')
    """
    every = list(names)
    return f"{', '.join(every[:-1])} {last} {every[-1]}" if len(every) > 1 else "".join(every)


def first_few(names: Iterable[str], most: int = SHOWN) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, quote: str = "`") -> str:
    """`did you mean x?` for the closest known name, in whatever letters; `otherwise` where none is like it.

    >>> did_you_mean("onwer", ["owner", "start"]), did_you_mean("Order", ["orders"], quote="")
    ('did you mean `owner`?', 'did you mean orders?')
    >>> did_you_mean("x", ["orders"], "name one of these")
    'name one of these'
    """
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name[:200].lower(), list(by_lower), n=1)
    return f"did you mean {quote}{by_lower[close[0]]}{quote}?" if close else otherwise


def day_text(instant: datetime) -> str:
    """As `start:` says it.

    >>> from backfill_assets.core.intervals import utc
    >>> day_text(utc("2024-03-01")), day_text(utc("2024-03-01T06:00"))
    ('2024-03-01', '2024-03-01T06:00')
    """
    return f"{instant:%Y-%m-%d}" if instant == Cadence.DAILY.floor(instant) else f"{instant:%Y-%m-%dT%H:%M}"


def one(cadence: Cadence) -> str:
    """An interval.

    >>> one(Cadence.HOURLY), one(Cadence.DAILY)
    ('an hour', 'a day')
    """
    return f"an {cadence.unit}" if cadence is Cadence.HOURLY else f"a {cadence.unit}"


def amount(intervals: int, cadence: Cadence) -> str:
    """A number of intervals.

    >>> amount(540, Cadence.DAILY)
    '540 days'
    """
    return f"{intervals:,} {cadence.unit}{'s' * (intervals != 1)}"


def amount_of(intervals: int, calendar: Calendar) -> str:
    """The same, with the zone of its days where it has one.

    >>> amount_of(3, Calendar(Cadence.DAILY, "Europe/Berlin"))
    '3 days of Europe/Berlin'
    """
    zone = f" of {calendar.time_zone}" if calendar.time_zone else ""
    return f"{amount(intervals, calendar.cadence)}{zone}"


def span_of_time(seconds: float) -> str:
    """A whole number of days, or hours.

    >>> span_of_time(14 * 86400), span_of_time(86400), span_of_time(5400)
    ('14 days', '1 day', '1.5 hours')
    """
    days = seconds / 86400
    number, unit = (days, "day") if days >= 1 and days.is_integer() else (seconds / 3600, "hour")
    return f"{number:g} {unit}{'s' * (number != 1)}"
