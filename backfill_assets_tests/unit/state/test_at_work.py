"""How long did a run work? Without the hours in which it waited for a window."""

from __future__ import annotations

from datetime import timedelta

from backfill_assets.core.intervals import utc
from backfill_assets.state.at_work import seconds_at_work
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.fakes import days

BEGAN = utc("2024-03-01T05:00")


def records(*said: tuple[int, Kind]) -> list[Entry]:
    """Each so many minutes after the run began."""
    return [
        Entry(kind=kind, model="a", version="a-1", interval=days("01"), at=BEGAN + timedelta(minutes=minutes))
        for minutes, kind in said
    ]


def test_a_run_works_from_its_first_record_to_its_last() -> None:
    """However long a batch, or its audits, took."""
    found = records((0, Kind.STARTED), (90, Kind.BUILT), (120, Kind.AUDITED), (121, Kind.STARTED), (300, Kind.BUILT))
    assert seconds_at_work(reversed(found)) == 300 * 60
    assert seconds_at_work([]) == 0


def test_a_pause_is_no_work() -> None:
    """Sixteen hours between a finished batch and the next one are none; what is under way is."""
    found = records((0, Kind.STARTED), (50, Kind.BUILT), (51, Kind.AUDITED), (1020, Kind.STARTED))
    assert seconds_at_work(found) == 51 * 60
    assert seconds_at_work(found, BEGAN + timedelta(minutes=1080)) == (51 + 60) * 60


def test_batches_side_by_side() -> None:
    """One that begins while another one is under way ends no pause."""
    assert seconds_at_work(records((0, Kind.STARTED), (60, Kind.STARTED), (70, Kind.BUILT))) == 70 * 60
