"""A model is deleted while a plan of it is open: what is left is another plan, and every message names a way on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import look_at_plan
from backfill_assets.app.plan import claim_of, plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.runbook import look_for_runbook
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BackfillError, BuildError
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets_tests.fakes import FakeEngine
from backfill_assets_tests.projects import DAILY, small_project
from backfill_assets_tests.unsparked import build, unsparked


def unprepared(job: Job) -> None:
    if job.model.name == "coal":
        raise BuildError("cannot prepare coal", why="its query is wrong", fix="correct it")


@pytest.fixture
def deleted(tmp_path: Path) -> tuple[Context, str]:
    """Two green models and one that was never built are a plan; then the file of that one is deleted."""
    root = small_project(tmp_path, days=2)
    coal = root / "models" / "coal.sql"
    coal.write_text(DAILY.format(batch_size=1, batch_concurrency=1))
    place = unsparked(root, user="dev")
    engine = place.engine()
    assert isinstance(engine, FakeEngine)
    engine.before_prepare = unprepared
    _, done = build(place)
    assert {name for name, outcome in done.items() if not outcome.green} == {"coal"}
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    coal.unlink()
    return unsparked(root, user="dev"), plan


def test_what_is_left_is_another_plan(deleted: tuple[Context, str]) -> None:
    """It replaces the one that nobody can finish by this code, and is promoted like any."""
    place, plan = deleted
    left = plan_request(place)
    claim = claim_of(place, left)
    assert claim.continues is None and [r.id for r in claim.supersedes] == [plan]
    assert left.id != plan
    assert promote_plan(place).verdict.open
    assert set(place.control.environments.read("prod").pointers) == {"daily", "running"}
    assert not find_plan(place.control, plan).live


@pytest.mark.parametrize(
    "look",
    [
        lambda place, plan: promote_plan(place, plan=plan),
        lambda place, plan: look_at_plan(place, find_plan(place.control, plan)),
        lambda place, plan: look_for_runbook(place, plan),
    ],
    ids=["promote", "evidence", "runbook"],
)
def test_every_message_names_the_commands_that_lead_on(
    deleted: tuple[Context, str], look: Callable[[Context, str], object]
) -> None:
    """The code that the plan was made of, or the end of the plan."""
    place, plan = deleted
    with pytest.raises(BackfillError) as found:
        look(place, plan)
    assert "coal" in str(found.value)
    assert f"check out the code that plan {plan} was made of" in found.value.fix
    assert f"`backfill abandon {plan}`, then `backfill apply`" in found.value.fix
