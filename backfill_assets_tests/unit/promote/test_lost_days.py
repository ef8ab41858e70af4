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
from backfill_assets_tests.unit.promote.office import Office


@pytest.fixture
def office() -> Office:
    """Version 2 of a and b showed the eleventh, and somebody went back to version 1, at once: it is out of sight."""
    found = Office()
    found.release()
    found.change(a="2", b="2")
    found.release()
    found.a_day()
    assert found.back(at_once=True).moved
    return found


def changed(office: Office) -> dict[str, str]:
    world = office.world
    apply(world.bench(now=office.now), world.plan(now=office.now))
    facts = world.facts(office.now)
    case = world.cases(required=False).promotion(Request(), facts, world.plan(now=office.now))
    return {name: str(part) for name, part in case.changed.items()}


def test_what_is_out_of_sight(office: Office) -> None:
    """Until it is shown again, whatever else is released."""
    assert {n: p.segments for n, p in out_of_sight(office.releases).items()} == {
        n: Segments.of_table(f"{n}-2", 5, [days("11")]) for n in "ab"
    }
    office.a_day()
    assert {n: str(p.covers) for n, p in out_of_sight(office.releases).items()} == {}


def test_the_same_rows_come_back_without_asking(office: Office) -> None:
    """They were let through when they were released."""
    assert changed(office) == {"a": "2024-01-01..2024-01-10", "b": "2024-01-01..2024-01-10"}


def test_other_rows_are_a_change(office: Office) -> None:
    """They were withdrawn while nobody saw them, and built again."""
    world = office.world
    withdraw(world.control, world.tables, world.project, [("b", days("11"))], now=office.now, by="dev")
    assert changed(office) == {"a": "2024-01-01..2024-01-10", "b": "2024-01-01..2024-01-11"}


def test_other_logic_is_a_change(office: Office) -> None:
    """Also of days that are not shown at this moment."""
    office.change(a="3", b="3")
    assert changed(office) == {"a": "2024-01-01..2024-01-11", "b": "2024-01-01..2024-01-11"}


def test_what_the_older_version_gains_is_growth(office: Office) -> None:
    """The routine run brings the day in the logic that somebody went back to."""
    office.change()
    assert changed(office) == {}


def test_days_that_are_not_brought_back(office: Office) -> None:
    """What stays out of sight is no change of a move that is about something else."""
    facts = office.world.facts(office.now)
    shown = facts.environment.pointers["a"]
    assert not find_changed_rows(office.world.project, facts, office.world.tables, [shown]).changed
