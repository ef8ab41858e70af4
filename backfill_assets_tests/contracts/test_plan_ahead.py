"""A plan announces no promotion that the gate will refuse: what stands in its way is said before anything is built."""

from __future__ import annotations

import json
from pathlib import Path

from backfill_assets.app.promote import promote_plan
from backfill_assets_tests.projects import backfill_here, small_project
from backfill_assets_tests.unsparked import build, unsparked


def test_a_plan_says_what_cannot_be_shown(tmp_path: Path) -> None:
    """A changed model over three of ten published days, of which another model reads all: both are said, with the way
    out, by the plan's text, Markdown and JSON; the whole plan is announced."""
    small_project(tmp_path)
    place = unsparked(tmp_path)
    build(place)
    assert promote_plan(place).verdict.open
    model = tmp_path / "models" / "daily.sql"
    model.write_text(model.read_text().replace("sum(amount)", "sum(amount * 2)"))
    asked = ("plan", "--select", "daily", "--start", "2024-01-01", "--end", "2024-01-03")
    said = " ".join(backfill_here(*asked, project=tmp_path).out.split())
    lost = "daily: prod would lose 2024-01-04..2024-01-10 fix: promote a range that holds them as well"
    assert f"daily cannot be shown in prod, also when all of it is built: {lost}" in said
    assert "Then backfill promote shows" not in said
    assert "daily: prod would lose" in backfill_here(*asked, "--markdown", project=tmp_path).out
    ahead = json.loads(backfill_here(*asked, "--json", project=tmp_path).out)["ahead"]
    assert [(o["model"], o["what"]) for o in ahead] == [("daily", "prod would lose")]
    alone = " ".join(backfill_here("plan", "--select", "daily", project=tmp_path).out.split())
    assert "running: was built from daily" in alone and "Then backfill promote shows" not in alone
    assert "Then backfill promote shows" in " ".join(backfill_here("plan", project=tmp_path).out.split())
