"""Who approves in tests and in the examples? Their owners, as everywhere: nothing switches that off by the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.new_project import make_project
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.demo.examples.data import EXAMPLES
from backfill_assets.project.loader import load_project
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests.fakes import World, a_model
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, unsparked


def test_the_shared_fixtures_ask(tmp_path: Path) -> None:
    """A project that a test writes, and a world of fakes: by the rules that users get who write none."""
    project = load_project(small_project(tmp_path, days=2))
    assert project.settings.approvals == ApprovalRules() == World(a_model("a")).project.settings.approvals
    assert all(model.owner for model in project.models.values())
    assert World(a_model("a")).cases().required


def test_a_change_in_a_shared_fixture_waits(tmp_path: Path) -> None:
    """Built, and complete: published rows stay as they are until their owner has said yes."""
    root = small_project(tmp_path, days=2)
    place = unsparked(root, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    model = root / "models" / "daily.sql"
    model.write_text(model.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    place = unsparked(root, user="dev")
    build(place)
    assert "needs approval by ana@example.com" in " ".join(o.what for o in promote_plan(place).verdict.obstacles)


@pytest.mark.parametrize("example", ["", *EXAMPLES])
def test_the_demo_and_the_examples_ask(example: str, tmp_path: Path) -> None:
    """One person plays all parts there: the author's own yes counts, but it has to be given, and is recorded so."""
    if example:
        make_project(tmp_path, example)
    rules = Context.open(tmp_path if example else EMBEDDED_PROJECT).project.settings.approvals
    assert rules == ApprovalRules(self=True) and rules.required
