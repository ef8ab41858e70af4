"""A table is gone that an environment shows. It is not made anew: its commits would be others, and whoever reads those
that are shown would get other rows. A restatement of all that is lost takes its place."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.outcome import Outcome
from backfill_assets.build.version_tables import create_version
from backfill_assets.core.errors import BuildError
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory


def lost() -> ProjectHistory:
    """`b` reads `a`, whose table is gone. It was shown; a day has come since."""
    history = ProjectHistory(a_model("a", "raw"), a_model("b", "a"))
    history.release()
    history.world.tables.remove("a", history.world.project.fingerprints["a"])
    history.now += timedelta(days=1)
    return history


def applied(history: ProjectHistory, request: Request | None = None) -> dict[str, Outcome]:
    plan = history.world.plan(request or Request(), history.now)
    return apply(history.world.bench(patches=plan.patches), plan)


def heads(history: ProjectHistory) -> int:
    return history.world.tables.head("a", history.world.project.fingerprints["a"])


def test_it_is_not_made_anew() -> None:
    """Neither by its next day, nor for what reads it, nor by who asks for the table alone."""
    history = lost()
    outcomes = applied(history)
    assert not outcomes["a"].built and not outcomes["b"].built and heads(history) == -1
    (failure,) = outcomes["a"].failures
    assert "is gone, and prod shows 2024-01-01..2024-01-10 of it" in failure.error
    assert "backfill apply --restate a:2024-01-01..2024-01-10, then promote it" in failure.error
    with pytest.raises(BuildError, match="is gone, and prod shows"):
        create_version(history.world.bench(), "a")
    part = applied(history, Request(restate=(("a", days("03", "04")),)))
    assert part["a"].built and not part["b"].built and heads(history) == -1
    assert all("is gone, and prod shows" in f.error for f in part["b"].failures) and part["b"].failures


def test_other_rows_take_its_place() -> None:
    """All of it is restated, with what reads it. Days that come then are built; for them there is a table again."""
    history = lost()
    history.release(Request(restate=(("a", days("01", "10")),)))
    assert heads(history) == -1
    assert [p.covers.span for p in history.prod.pointers.values()] == [days("01", "10")] * 2
    assert not history.prod.pointers["a"].segments.in_table(history.world.project.fingerprints["a"])
    outcomes = applied(history)
    assert all(outcome.ok and outcome.built for outcome in outcomes.values()) and heads(history) > 0


def test_what_nobody_shows_is_made_anew() -> None:
    """A candidate's table that somebody deleted is built again."""
    history = ProjectHistory(a_model("a", "raw"), a_model("b", "a"))
    applied(history)
    history.world.tables.remove("a", history.world.project.fingerprints["a"])
    assert all(outcome.ok for outcome in applied(history).values()) and heads(history) > 0
