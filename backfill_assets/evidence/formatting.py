"""How are dates, numbers and lists said to people? In words that need no explanation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.wording import listed

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
SHOWN = 6


def day(instant: datetime) -> str:
    """A date without a doubt about which number is the month.

    >>> from backfill_assets.core.intervals import utc
    >>> day(utc("2024-03-01"))
    '1 March 2024'
    """
    return f"{instant.day} {MONTHS[instant.month - 1]} {instant.year}"


def moment(instant: datetime) -> str:
    """An instant, to the minute.

    >>> from backfill_assets.core.intervals import utc
    >>> moment(utc("2024-03-01T14:05"))
    '1 March 2024, 14:05 UTC'
    """
    return f"{day(instant)}, {instant:%H:%M} UTC"


def span(interval: Interval, cadence: Cadence) -> str:
    """From the first to the last day, both included; months and hours as such.

    >>> span(Interval.of("2024-01-01", "2025-06-24"), Cadence.DAILY)
    'from 1 January 2024 to 23 June 2025'
    >>> span(Interval.of("2024-01-01", "2024-03-01"), Cadence.MONTHLY)
    'from January to February 2024'
    """
    last = cadence.shift(cadence.ceil(interval.end), -1)
    match cadence:
        case Cadence.MONTHLY:
            first_said, last_said = _month(interval.start), _month(last)
            alone = f"in {first_said}"
        case Cadence.HOURLY:
            first_said, last_said = moment(interval.start), moment(last)
            alone = f"in the hour from {first_said}"
        case Cadence.WEEKLY:
            first_said, last_said = day(interval.start), day(last + timedelta(days=6))
            return f"from {_without(first_said, last_said)} to {last_said}"
        case Cadence.DAILY:
            first_said, last_said = day(interval.start), day(last)
            alone = f"on {first_said}"
    return alone if first_said == last_said else f"from {_without(first_said, last_said)} to {last_said}"


def spans(ranges: Ranges, cadence: Cadence, most: int = 4) -> str:
    """Several of them; many are summed up.

    >>> some = Ranges.of([Interval.of("2024-01-01", "2024-01-03"), Interval.of("2024-01-05", "2024-01-06")])
    >>> spans(some, Cadence.DAILY)
    'from 1 to 2 January 2024 and on 5 January 2024'
    """
    said = [span(i, cadence) for i in ranges]
    if len(said) > most and ranges.span:
        return f"{span(ranges.span, cadence)}, with gaps"
    return listed(said)


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "day"), count(1540, "day"), count(0, "dashboard")
    ('1 day', '1,540 days', 'no dashboards')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number or 'no':{',' if number else ''}} {plural or noun + 's'}"


def every(number: int, noun: str, plural: str = "") -> str:
    """All of a number of things.

    >>> every(1, "test"), every(2, "test"), every(8, "test")
    ('its one test', 'both tests', 'all 8 tests')
    """
    many = plural or f"{noun}s"
    return f"its one {noun}" if number == 1 else f"both {many}" if number == 2 else f"all {number:,} {many}"


def few(names: Sequence[str], most: int = SHOWN) -> str:
    """At most so many of them, and how many more there are.

    >>> few(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    return listed(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most:,} more"


def number(value: float) -> str:
    """A number as people write it: few digits, thousands apart.

    >>> number(1234567.8), number(12.345), number(0.01234), number(3), number(-1500.5), number(0)
    ('1,234,568', '12.35', '0.01234', '3', '-1,500', '0')
    """
    size = abs(value)
    if value == round(value) or size >= 1000:
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:,.2f}"
    return f"{value:.4g}"


def percent(part: float) -> str:
    """A share, with its sign.

    >>> percent(0.0312), percent(-0.5), percent(0.00001), percent(0)
    ('+3.1 %', '−50 %', '+0.001 %', '0 %')
    """
    if not part:
        return "0 %"
    sign = "+" if part > 0 else "−"
    return f"{sign}{abs(part) * 100:.2g} %" if abs(part) < 1 else f"{sign}{abs(part) * 100:,.0f} %"


def size(many: float) -> str:
    """Bytes.

    >>> size(0), size(2_360_000), size(999)
    ('0 bytes', '2.4 MB', '999 bytes')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if many >= unit:
            return f"{many / unit:,.1f} {name}".replace(".0 ", " ")
    return f"{many:,.0f} bytes"


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def _without(first: str, last: str) -> str:
    """The first of two dates without the year, or month and year, that both have: it is said with the last."""
    parts, others = first.split(), last.split()
    while len(parts) > 1 and len(parts) == len(others) and parts[-1] == others[-1]:
        parts.pop()
        others.pop()
    return " ".join(parts)


def _month(instant: datetime) -> str:
    return f"{MONTHS[instant.month - 1]} {instant.year}"
