"""How long was a run at work? From its first record to its last, without the pauses in which it waited to go on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

from backfill_assets.state.ledger import Entry, Kind

PAUSE = 300.0
"""Seconds without a record after which the beginning of a batch ends a pause: one follows the other at once."""


def seconds_at_work(entries: Iterable[Entry], until: datetime | None = None) -> float:
    """The seconds of one run's records, and of what is under way `until` an instant."""
    found = sorted(entries, key=lambda e: e.at)
    spent = [(later.at - one.at).total_seconds() for one, later in pairwise(found) if not _paused(one, later)]
    if until is not None and found:
        spent.append((until - found[-1].at).total_seconds())
    return sum(spent)


def _paused(one: Entry, later: Entry) -> bool:
    long = (later.at - one.at).total_seconds() > PAUSE
    return long and later.kind is Kind.STARTED and one.kind is not Kind.STARTED
