"""A column that only gets other letters, capital or small, is another one for pandas and Arrow: plans say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.preflight import plan_impacts
from backfill_assets.app.promote import promote_plan
from backfill_assets.plan.plan import by_now
from backfill_assets.plan.stages import Plan, Request, plan_from_json
from backfill_assets_tests.fakes import days
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import RedEngine, build, unsparked

CONSUMERS = """\
consumers:
  - {name: board, owner: ana@example.com, reads: {daily: {columns: [kind]}}}
  - {name: other, owner: ana@example.com, reads: {daily: {columns: [n]}}}
"""


def opened(root: Path, kind: str) -> Context:
    """The project, whose engine writes the one column in these letters."""
    place = unsparked(root, user="dev")
    cast("RedEngine", place.engine()).columns = (("ds", "date"), (kind, "string"), ("n", "bigint"))
    return place


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    root = small_project(tmp_path, days=2)
    (root / "consumers.yml").write_text(CONSUMERS)
    place = opened(root, "kind")
    build(place)
    assert promote_plan(place).verdict.open
    return root


def edit(root: Path, *pairs: tuple[str, str]) -> None:
    file = root / "models" / "daily.sql"
    text = file.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def letters(plan: Plan) -> list[str]:
    return [w.what for w in plan.warnings if "will be called" in w.what]


OTHER_VALUES = ("sum(amount)", "sum(2 * amount)")


def test_new_letters_are_told_with_who_reads_the_column(shown: Path) -> None:
    """By the plan, before and after it is built, and by what it means for its consumers."""
    edit(shown, OTHER_VALUES)
    assert letters(plan_request(unsparked(shown))) == []
    edit(shown, ("kind, count", "kind AS Kind, count"))
    place = unsparked(shown)
    plan = plan_request(place)
    assert letters(plan) == ["daily: column kind will be called Kind in prod"]
    [warning] = [w for w in plan.warnings if "will be called" in w.what]
    assert warning.place == "models/daily.sql" and "pandas" in warning.why
    assert warning.why.endswith("Who reads it, by consumers.yml: board")
    assert plan_from_json(json.loads(json.dumps(plan.to_json()))).respelled == {"daily": (("kind", "Kind"),)}
    board, other = plan_impacts(place, plan, place.facts().environment)
    told = "kind: will be called Kind, of other letters: pandas, Arrow and polars do not find kind any more"
    assert str(board.models[0].changes[0]) == told and board.affected
    assert not other.models
    build(opened(shown, "KIND"))
    built = unsparked(shown)
    assert letters(plan_request(built))[0] == "daily: column kind will be called KIND in prod", "as it is in the table"
    assert by_now(built.project, built.facts(), plan).respelled["daily"] == (("kind", "KIND"),)


def test_rows_that_are_computed_again_bring_the_new_letters(shown: Path) -> None:
    """Code that is the same but for letters is kept, and nothing changes; its table beside has them."""
    edit(shown, ("kind, count", "kind AS Kind, count"))
    assert letters(plan_request(unsparked(shown))) == []
    again = Request(restate=(("daily", days("01", "01")),))
    assert letters(plan_request(unsparked(shown), again)) == ["daily: column kind will be called Kind in prod"]
