"""Can the clock be trusted to say what is old enough to go? Not when it jumped: a wrong year makes everything old."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from backfill_assets.core.errors import StateError
from backfill_assets.state.control import Control

BEHIND = timedelta(days=1)
"""How far the newest record may be in the future: machines' clocks disagree."""


def newest_record(control: Control) -> datetime | None:
    """When the newest records say that they were written; newest by the order of commits, whatever clocks say."""
    entries, plans, releases = control.ledger.entries(), control.plans.all(), control.releases.everywhere()
    last = [*(e.at for e in entries[-1:]), *(p.since for p in plans[-1:])]
    if releases:
        last.append(max(releases, key=lambda r: r.revision).at)
    return max(last, default=None)


def check_clock(control: Control, *, now: datetime, retention: timedelta, today: date | None = None) -> None:
    """Raise StateError when `now` is further from the newest record than makes sense, and nobody confirmed the date.

    `today` is what a person says that the date is (a day off is a matter of time zones).
    """
    if today is not None:
        if abs((now.date() - today).days) > 1:
            raise StateError(
                f"nothing is removed: the clock says {now:%Y-%m-%d}, and you say {today}",
                why="one of the two is wrong",
                fix="correct the machine's clock, or take `clock:` out of backfill.yml",
            )
        return
    newest = newest_record(control)
    if newest is None or newest - BEHIND <= now < newest + retention:
        return
    far = (
        f"{abs((now - newest).days)} days {'after' if now > newest else 'before'} the newest record ({newest:%Y-%m-%d})"
    )
    raise StateError(
        f"nothing is removed: the clock says {now:%Y-%m-%d}, {far}",
        why="a clock that jumped makes everything old, the only release that can be gone back to as well",
        fix="correct the machine's clock, or take `clock:` out of backfill.yml; if the date is right and nobody worked "
        f"here for so long, confirm it: backfill janitor --apply --today {now:%Y-%m-%d}",
    )
