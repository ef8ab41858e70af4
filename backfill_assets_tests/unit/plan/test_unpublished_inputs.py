"""Published history is computed again from what is published beside it, also where the code says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.stages import Build, Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import promoted, unsparked

SECOND = Interval(utc("2024-01-02"), utc("2024-01-03"))


def test_a_reader_of_what_is_edited_is_not_restated(tmp_path: Path) -> None:
    """`running` reads nothing of what is other in the new `daily`, and keeps its version: its days would be computed
    from rows that nobody shows."""
    root = promoted(small_project(tmp_path, days=3))
    file = root / "models" / "daily.sql"
    published = file.read_text()
    file.write_text(published.replace("count(*) AS n", "count(*) + 1 AS n"))
    request = Request(restate=(("running", SECOND),))
    place = unsparked(root, user="dev")
    assert place.project.fingerprints["running"] == place.control.environments.read("prod").pointers["running"].version
    with pytest.raises(
        PlanError, match="running cannot be computed again: it reads daily, of which prod shows"
    ) as said:
        plan_request(place, request)
    assert "load the code that is published" in said.value.fix
    file.write_text(published)
    plan = plan_request(unsparked(root, user="dev"), request)
    assert [(s.model, str(s.intervals)) for s in plan.stages if isinstance(s, Build)] == [("running", "2024-01-02")]
