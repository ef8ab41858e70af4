"""How is it written that rows of an interval may come later? As a header's `settle`."""

from __future__ import annotations

from datetime import timedelta

LONGEST = timedelta(days=366)
"""The longest that it can be."""
TOO_LONG = f"`settle` is at most {LONGEST.days} days: what is older is changed by a restatement here"


def settle(length: timedelta) -> str:
    """As a header has it.

    >>> [settle(timedelta(days=1)), settle(timedelta(hours=25)), settle(timedelta(minutes=15))]
    ['1 day', '25h', '15m']
    """
    day, hour, minute = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
    if not length % day:
        return f"{length // day} day{'' if length == day else 's'}"
    return f"{length // minute}m" if length % hour else f"{length // hour}h"
