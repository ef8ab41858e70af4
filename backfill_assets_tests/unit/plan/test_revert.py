"""Back to the code that an earlier release showed: the plan calls it a revert, and nothing is computed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.model import Signature
from backfill_assets.plan.category import Category, Change
from backfill_assets.plan.changes import kind_of
from backfill_assets.plan.strategy import Strategy
from backfill_assets_tests.unit.promote.office import Office


@pytest.fixture
def office() -> Office:
    """Version 1 of everything, then version 2 of a and b; the code says version 1 again."""
    office = Office()
    office.release()
    office.change(a="2", b="2")
    office.release()
    office.change()
    return office


def test_a_revert_is_called_one_and_builds_nothing(office: Office) -> None:
    """The release that showed it is named; its tables are used again."""
    first = office.releases[0].id
    plan = office.world.plan(now=office.now)
    assert dict(plan.reverts) == {"a": first, "b": first}
    assert not plan.work
    assert {plan.strategies[name] for name in ("a", "b")} == {Strategy.REVERT}
    assert plan.kept["a"] == f"a revert to the code of release {first}: its tables are used again, nothing to compute"
    assert plan.to_json()["reverts"] == {"a": first, "b": first}
    writes = len(office.world.engine.writes)
    office.release()
    assert len(office.world.engine.writes) == writes
    assert {name: p.version for name, p in office.prod.pointers.items()} == {"a": "a-1", "b": "b-1", "c": "c-1"}


def test_days_that_came_since_are_built_and_the_reason_says_so(office: Office) -> None:
    """Only what the older tables lack."""
    office.change(a="2", b="2")
    office.a_day()
    office.change()
    plan = office.world.plan(now=office.now)
    assert [(s.model, s.count) for s in plan.work] == [("a", 1), ("b", 1)]
    said = f"a revert to the code of release {office.releases[0].id}: this is not in its tables"
    assert [getattr(s, "reason", "") for s in plan.work] == [said, said]


def test_what_no_release_showed_is_no_revert(office: Office) -> None:
    """A third version, and what is shown already."""
    office.change(a="3", b="2")
    assert not office.world.plan(now=office.now).reverts


def test_the_gate_asks_about_an_additive_change_in_these_words(office: Office) -> None:
    """Not where any model of the question is more than that."""
    old, more = Signature(rows="r", columns={"id": "1"}), Signature(rows="r", columns={"id": "1", "n": "2"})
    other = Signature(rows="s", columns={"id": "1"})
    project = replace(office.world.project, signatures={"a": more, "b": other})
    facts = replace(office.world.facts(office.now), shown={"a": old, "b": old})
    assert kind_of(project, facts, ["a"]) == "an additive, non-breaking change"
    assert kind_of(project, facts, ["a", "b"]) == kind_of(project, facts, ["b"]) == "a change"
    assert str(Change(category=Category.ADDITIVE, added=("n",))) == "additive, non-breaking: adds n"
