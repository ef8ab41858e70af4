"""What is said of a plan that is open beside another one, by another request: does its command go on with it?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.app.candidate import open_plan
from backfill_assets.app.plan import claim_of, plan_request
from backfill_assets.app.preview import preview
from backfill_assets.plan.leases import Again, ParallelPlan
from backfill_assets.plan.stages import Request
from backfill_assets.promote.lifecycle import parallel_plan_text
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, promoted, unsparked

DAILY = Request(select=("daily",))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """`daily` and `running` as prod shows them, where nobody has to approve; of `daily` a plan of all is open."""
    root = small_project(tmp_path, days=3)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    promoted(root)
    edit(root, "daily", "count(*) AS n", "count(*) + 1 AS n")
    build(unsparked(root, user="dev"))
    return root


def edit(root: Path, model: str, old: str, new: str) -> None:
    file = root / "models" / f"{model}.sql"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def beside(root: Path, user: str = "dev") -> ParallelPlan:
    """What is said of the first plan by a plan of `daily` alone, and once more when that is opened."""
    place = unsparked(root, user=user)
    [planned] = preview(place, DAILY).claim.beside
    opened = open_plan(place, plan_request(place, DAILY))
    assert opened is not None and opened.beside == (planned,)
    return planned


def test_by_the_code_that_it_was_made_of(shop: Path) -> None:
    """Its command goes on with it."""
    found = beside(shop)
    assert found.again is Again.CONTINUES
    assert "`backfill apply` goes on with it" in parallel_plan_text(found)
    place = unsparked(shop, user="dev")
    claim = claim_of(place, plan_request(place))
    assert claim.continues and claim.continues.id == found.plan.id


def test_by_code_that_changes_more(shop: Path) -> None:
    """Its command would replace it, and does."""
    edit(shop, "running", "sum(now.total) AS total", "sum(now.total) + 1 AS total")
    found = beside(shop)
    assert found.again is Again.REPLACES
    said = parallel_plan_text(found)
    assert "goes on with it" not in said and "which replaces it" in said and f"backfill abandon {found.plan.id}" in said
    place = unsparked(shop, user="dev")
    opened = open_plan(place, plan_request(place))
    assert opened is not None and found.plan.id in {old.id for old in opened.superseded}


def test_by_code_of_somebody_else_that_changes_more(shop: Path) -> None:
    """Nor is it gone on with, nor replaced."""
    edit(shop, "running", "sum(now.total) AS total", "sum(now.total) + 1 AS total")
    found = beside(shop, "eva")
    assert found.again is Again.ANOTHER
    said = parallel_plan_text(found)
    assert "goes on with it" not in said and "replaces" not in said
