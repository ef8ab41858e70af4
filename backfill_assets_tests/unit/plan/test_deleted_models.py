"""Of a model whose file is deleted, plans and status say what goes on, and that a new one looks like it renamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.routine import published_context
from backfill_assets.app.status import read_status
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import promoted, unsparked


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    return promoted(small_project(tmp_path, days=2))


def told(place: Context, request: Request | None = None) -> list[tuple[str, str]]:
    return [(w.what, w.why) for w in plan_request(place, request).warnings]


def test_a_deleted_model_is_named(shown: Path) -> None:
    """Once a plan and a status; not by a plan of a part, nor by a routine run, which has it."""
    assert told(unsparked(shown)) == []
    (shown / "models" / "running.sql").unlink()
    place = unsparked(shown)
    what = "prod shows running, which the code does not have any more: routine runs go on extending it"
    why = "they run what was promoted; no plan is about it"
    assert told(place) == [(what, why)]
    [warning] = plan_request(place).warnings
    assert warning.model == "running" and "put its file back" in warning.fix
    assert "backfill rollback nothing --select running" in warning.fix
    assert told(place, Request(select=("daily",))) == []
    assert told(published_context(place)) == []
    status = read_status(place)
    assert status.deleted == (warning,)
    assert status.to_json()["deleted"] == [
        {"model": "running", "place": "models", "what": what, "why": why, "fix": warning.fix}
    ]


def test_a_model_with_its_query_that_is_new_looks_like_it_renamed(shown: Path) -> None:
    (shown / "models" / "running.sql").rename(shown / "models" / "running_total.sql")
    [warning] = plan_request(unsparked(shown)).warnings
    assert "running_total, which is new, has its query: it looks renamed" in warning.why
    assert "name the file running again" in warning.fix
