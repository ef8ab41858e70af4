"""What did somebody ask for? Days and ranges as people write them, in a terminal or in the UI."""

from __future__ import annotations

from datetime import datetime, timedelta

from backfill_assets.errors import SettingsError
from backfill_assets.intervals import Interval, utc


def days_of(text: str, option: str = "") -> tuple[str, Interval]:
    """`model:2024-03-01..2024-03-04`, or one day. Raises SettingsError, quoting `option` before it."""
    model, _, days = text.partition(":")
    first, _, last = days.partition("..")
    try:
        return model, Interval(utc(first), _after(last or first))
    except ValueError as error:
        raise SettingsError(
            f"{option}{text} is not understood",
            why=f"it names a model, then the first and the last day ({error})",
            fix=f"write {option}campaign_performance:2024-03-01..2024-03-04",
        ) from None


def instant(text: str | None, option: str, *, last: bool = False) -> datetime | None:
    """The instant that a day or ISO text names; a last day is included, so its end is the next midnight.

    Raises SettingsError, quoting `option`, for what is no day.
    """
    if text is None:
        return None
    try:
        return _after(text) if last else utc(text)
    except ValueError:
        raise SettingsError(
            f"{option} {text} is no day",
            why="it must be ISO 8601",
            fix=f"write {option} 2024-03-01, or 2024-03-01T05:00",
        ) from None


def _after(text: str) -> datetime:
    """The end of what a last day or an instant names: a day is included."""
    return utc(text) + timedelta(days=1) if len(text.strip()) <= len("2024-03-01") else utc(text)
