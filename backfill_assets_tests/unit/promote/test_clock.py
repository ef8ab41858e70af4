"""The janitor and clocks that jump: whatever the year, nothing goes by a clock that nobody confirmed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.core.errors import StateError
from backfill_assets.promote.clock import check_clock, newest_record
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.fakes import days
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

KEEP = timedelta(days=30)
NOW = datetime.now(UTC)


@pytest.fixture
def history() -> ProjectHistory:
    history = ProjectHistory()
    history.release()
    return history


@pytest.mark.parametrize("later", [timedelta(days=30, seconds=1), timedelta(days=1500), timedelta(days=-2)])
def test_a_clock_that_jumped_is_not_believed(history: ProjectHistory, later: timedelta) -> None:
    """The retention or more after the newest record, or far before it: refused, with what to do."""
    now = datetime.now(UTC) + later
    with pytest.raises(StateError, match="nothing is removed: the clock says") as refusal:
        check_clock(history.world.control, now=now, retention=KEEP)
    assert f"backfill janitor --apply --today {now:%Y-%m-%d}" in refusal.value.fix
    check_clock(history.world.control, now=now, retention=KEEP, today=now.date())


@pytest.mark.parametrize("later", [timedelta(hours=-3), timedelta(0), timedelta(days=29)])
def test_a_clock_that_goes_on_is(history: ProjectHistory, later: timedelta) -> None:
    """Machines whose clocks differ by hours, and a project in which nobody worked for weeks."""
    check_clock(history.world.control, now=datetime.now(UTC) + later, retention=KEEP)


def test_the_date_that_is_confirmed_must_be_the_clocks(history: ProjectHistory) -> None:
    """Somebody who says what day it is finds the wrong clock."""
    with pytest.raises(StateError, match="you say"):
        check_clock(history.world.control, now=NOW + timedelta(days=1500), retention=KEEP, today=NOW.date())
    check_clock(history.world.control, now=NOW, retention=KEEP, today=(NOW + timedelta(days=1)).date())


def test_a_record_of_a_wrong_clock_is_outlived(history: ProjectHistory) -> None:
    """A machine in 2030 wrote one; the next one of a good clock is the newest, by the order of commits."""
    control = history.world.control
    wrong = Entry(kind=Kind.FAILED, model="a", version="a-1", interval=days("20"), at=NOW + timedelta(days=1500))
    control.ledger.append([wrong])
    assert newest_record(control) == wrong.at
    control.ledger.append([Entry(kind=Kind.FAILED, model="a", version="a-1", interval=days("20"), at=NOW)])
    check_clock(control, now=datetime.now(UTC), retention=KEEP)


def test_an_empty_warehouse_has_no_newest_record() -> None:
    """There is nothing that could go."""
    check_clock(ProjectHistory().world.control, now=NOW + timedelta(days=5000), retention=KEEP)
