"""Two releases of one project over one warehouse: every row of both models says which release it is of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.app.context import Context
from backfill_assets.app.gate import judge_plan
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import DAILY, RUNNING, SMALL_SPARK, build_all, write_events, write_project

DAYS = 4
JOINED = """
SELECT min(d.mark) AS daily_first, max(d.mark) AS daily_last, min(r.mark) AS running_first, max(r.mark) AS running_last,
  count(*) AS n
FROM {0}.daily AS d JOIN {0}.running AS r ON r.ds = d.ds"""
"""One row: the releases that a join of the two views saw, and its number of rows."""
ROWS = 2 * DAYS


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The same two models, marked 1 and 2, both built. `pointers` are what an environment shows of each release."""

    one: Context
    two: Context
    pointers: tuple[tuple[Pointer, ...], tuple[Pointer, ...]]


def build_releases(root: Path, environment: str, spark: dict[str, str] | None = None, *, grace: float = 5) -> Releases:
    """Build both releases, and promote neither. `grace`: seconds that a promotion leaves to readers."""
    places = [Context.open(_project(root, number, environment, spark or {}, grace)) for number in (1, 2)]
    pointers: list[tuple[Pointer, ...]] = []
    for place in places:
        outcomes = build_all(place)
        assert all(o.ok for o in outcomes.values()), outcomes
        facts = place.facts()
        verdict = judge_plan(place, Request(), facts, make_plan(place.project, facts, Request()))
        assert verdict.open and len(verdict.pointers) == 2
        pointers.append(verdict.pointers)
    return Releases(one=places[0], two=places[1], pointers=(pointers[0], pointers[1]))


def _project(root: Path, number: int, environment: str, spark: dict[str, str], grace: float) -> Path:
    folder = root / f"release{number}"
    write_events(root, days=DAYS)
    mark = f"{number} AS mark"
    models = {
        "daily.sql": DAILY.format(batch_size=DAYS, batch_concurrency=1).replace(
            "count(*) AS n", f"count(*) AS n, {mark}"
        ),
        "running.sql": RUNNING.format(batch_size=DAYS).replace("SELECT now.ds,", f"SELECT now.ds, {mark},"),
    }
    write_project(folder, models, clock=f"2024-01-{DAYS + 1:02}", environment=environment)
    settings = json.loads((folder / "backfill.yml").read_text())
    settings |= {"warehouse": str(root / "warehouse"), "spark": SMALL_SPARK | spark, "cutover_grace": grace}
    (folder / "backfill.yml").write_text(json.dumps(settings))
    (folder / "sources.yml").write_text(
        (folder / "sources.yml").read_text().replace("data/events", str(root / "data/events"))
    )
    return folder
