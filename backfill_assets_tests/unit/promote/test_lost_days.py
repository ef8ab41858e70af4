"""Days that `rollback --now` gave up were published: others in their place need approvals when they come back."""

from __future__ import annotations

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.segments import Segments
from backfill_assets.plan.stages import Request
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets.state.releases import out_of_sight
from backfill_assets_tests.fakes import days
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory


@pytest.fixture
def history() -> ProjectHistory:
    """Version 2 of a and b showed the eleventh, and somebody went back to version 1, at once: it is out of sight."""
    found = ProjectHistory()
    found.release()
    found.change(a="2", b="2")
    found.release()
    found.a_day()
    assert found.back(at_once=True).moved
    return found


def changed(history: ProjectHistory) -> dict[str, str]:
    world = history.world
    apply(world.bench(now=history.now), world.plan(now=history.now))
    facts = world.facts(history.now)
    case = world.cases(required=False).promotion(Request(), facts, world.plan(now=history.now))
    return {name: str(part) for name, part in case.changed.items()}


def test_what_is_out_of_sight(history: ProjectHistory) -> None:
    """Until it is shown again, whatever else is released."""
    assert {n: p.segments for n, p in out_of_sight(history.releases).items()} == {
        n: Segments.of_table(f"{n}-2", 5, [days("11")]) for n in "ab"
    }
    history.a_day()
    assert {n: str(p.covers) for n, p in out_of_sight(history.releases).items()} == {}


def test_the_same_rows_come_back_without_asking(history: ProjectHistory) -> None:
    """They were let through when they were released."""
    assert changed(history) == {"a": "2024-01-01..2024-01-10", "b": "2024-01-01..2024-01-10"}


def test_other_rows_are_a_change(history: ProjectHistory) -> None:
    """They were withdrawn while nobody saw them, and built again."""
    world = history.world
    withdraw(world.control, world.tables, world.project, [("b", days("11"))], now=history.now, by="dev")
    assert changed(history) == {"a": "2024-01-01..2024-01-10", "b": "2024-01-01..2024-01-11"}


def test_other_logic_is_a_change(history: ProjectHistory) -> None:
    """Also of days that are not shown at this moment."""
    history.change(a="3", b="3")
    assert changed(history) == {"a": "2024-01-01..2024-01-11", "b": "2024-01-01..2024-01-11"}


def test_what_the_older_version_gains_is_growth(history: ProjectHistory) -> None:
    """The routine run brings the day in the logic that somebody went back to."""
    history.change()
    assert changed(history) == {}


def test_days_that_are_not_brought_back(history: ProjectHistory) -> None:
    """What stays out of sight is no change of a move that is about something else."""
    facts = history.world.facts(history.now)
    shown = facts.environment.pointers["a"]
    assert not find_changed_rows(history.world.project, facts, history.world.tables, [shown]).changed
