"""Back to the code that an earlier release showed: the plan calls it a revert, and nothing is computed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.model import Signature
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.changes import asked_about
from backfill_assets.plan.facts import Shown
from backfill_assets.plan.stages import Request
from backfill_assets.plan.strategy import Strategy
from backfill_assets_tests.fakes import days
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory


@pytest.fixture
def history() -> ProjectHistory:
    """Version 1 of everything, then version 2 of a and b; the code says version 1 again."""
    history = ProjectHistory()
    history.release()
    history.change(a="2", b="2")
    history.release()
    history.change()
    return history


def test_a_revert_is_called_one_and_builds_nothing(history: ProjectHistory) -> None:
    """The release that showed it is named; its tables are used again."""
    first = history.releases[0].id
    plan = history.world.plan(now=history.now)
    assert dict(plan.reverts) == {"a": first, "b": first}
    assert not plan.work
    assert {plan.strategies[name] for name in ("a", "b")} == {Strategy.REVERT}
    assert plan.kept["a"] == f"a revert to the code of release {first}: its tables are used again, nothing to compute"
    assert plan.to_json()["reverts"] == {"a": first, "b": first}
    writes = len(history.world.engine.writes)
    history.release()
    assert len(history.world.engine.writes) == writes
    assert {name: p.version for name, p in history.prod.pointers.items()} == {"a": "a-1", "b": "b-1", "c": "c-1"}


def test_days_that_came_since_are_built_and_the_reason_says_so(history: ProjectHistory) -> None:
    """Only what the older tables lack."""
    history.change(a="2", b="2")
    history.a_day()
    history.change()
    plan = history.world.plan(now=history.now)
    assert [(s.model, s.count) for s in plan.work] == [("a", 1), ("b", 1)]
    said = f"a revert to the code of release {history.releases[0].id}: this is not in its tables"
    assert [getattr(s, "reason", "") for s in plan.work] == [said, said]


def test_what_a_release_showed_in_other_tables_is_told(history: ProjectHistory) -> None:
    """A day of version 2 is restated, and then everything goes back to version 1. The code of version 2 again: its
    table has the day as it was before."""
    history.change(a="2", b="2")
    history.release(Request(restate=(("a", days("02", "02")),)))
    restated = history.releases[-1].id
    history.back(history.releases[0].id)
    kept = history.world.plan(now=history.now).kept
    assert kept["a"] == (
        f"a revert to the code of release {restated}: its tables are used again, nothing to compute; not what was "
        f"corrected of them by then (2024-01-02): backfill rollback {restated} shows that too"
    )


def test_what_no_release_showed_is_no_revert(history: ProjectHistory) -> None:
    """A third version, and what is shown already."""
    history.change(a="3", b="2")
    assert not history.world.plan(now=history.now).reverts


def test_the_gate_asks_about_an_additive_change_in_these_words(history: ProjectHistory) -> None:
    """Not where any model of the question is more than that."""
    old, more = Signature(rows="r", columns={"id": "1"}), Signature(rows="r", columns={"id": "1", "n": "2"})
    other = Signature(rows="s", columns={"id": "1"})
    project = replace(history.world.project, signatures={"a": more, "b": other})
    facts = replace(history.world.facts(history.now), shown=Shown(signatures={"a": old, "b": old}))
    assert asked_about(project, facts, ["a"]) == "an additive, non-breaking change"
    assert asked_about(project, facts, ["a", "b"]) == asked_about(project, facts, ["b"]) == "a change"
    assert str(TableChange(category=Category.ADDITIVE, added=("n",))) == "additive, non-breaking: adds n"
