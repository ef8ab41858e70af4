"""Where another open plan is in the way, the next step of a plan is one that works."""

from __future__ import annotations

from pathlib import Path

from backfill_assets.app.next_step import NextStep, Step
from backfill_assets_tests.projects import backfill_here, small_project
from backfill_assets_tests.unsparked import build, promoted, unsparked


def test_another_persons_plan(tmp_path: Path) -> None:
    """Nobody is sent to `apply`, which is refused, but to the plan that has to end."""
    root = promoted(small_project(tmp_path, days=2))
    daily = root / "models" / "daily.sql"
    written = daily.read_text()
    daily.write_text(written.replace("count(*) AS n", "count(*) + 1 AS n"))
    build(unsparked(root, user="ana"))
    [other] = [r.id for r in unsparked(root).control.plans.all() if r.live]
    daily.write_text(written.replace("count(*) AS n", "count(*) + 2 AS n"))
    said = backfill_here("plan", project=root, user="bo").out
    assert f"plan {other} (by ana" in said
    last = said.splitlines()[-1]
    assert last == (
        f"Next: wait until plan {other} is promoted (from the code that it was made with), or drop it: "
        f"backfill abandon {other}; then plan again"
    )
    told = backfill_here("plan", "--json", project=root, user="bo").json["next"]
    assert NextStep(**told) == NextStep(Step.COLLIDES)
    assert backfill_here("plan", project=root, user="ana").out.splitlines()[-1] == "Next: backfill apply"
