"""Is what `consumers.yml` says still so? It is as good as the last time that somebody made sure."""

from __future__ import annotations

from datetime import date, timedelta


def stale_since(verified: date | None, today: date, days: int) -> date | None:
    """The first day on which it does not count as confirmed any more; None while it does. Never confirmed: today.

    >>> stale_since(date(2024, 1, 1), date(2024, 3, 1), 90)
    >>> stale_since(date(2024, 1, 1), date(2024, 5, 1), 90)
    datetime.date(2024, 4, 1)
    """
    end = verified + timedelta(days=days + 1) if verified else today
    return end if end <= today else None
