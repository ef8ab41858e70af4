"""A plan that was built before a day settled, on real Delta tables: prod keeps the rows that came, plan or no plan.

What should be shown is counted in the source's own history, by pandas.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.carry_out import unseen
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import (
    _settle,  # pyright: ignore[reportPrivateUsage]
    published_context,
)
from backfill_assets.plan.stages import Request
from backfill_assets.promote.gate import gate
from backfill_assets_tests.contracts.test_frozen_sources import COUNTS, SOURCES, add, counting, counts
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.projects import backfill_here, write_project
from backfill_assets_tests.unsparked import build, prove

PLAIN = COUNTS.format(source="clicks").replace("batch_size: 1", "batch_size: 1\nsettle: 3 days")
MODEL = PLAIN.replace("at < :end", "NOT at >= :end")
"""How far this one reads nobody can tell: what comes may belong to any day that the window reaches back to."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Eight days of a Delta source are shown; a plan of newer logic is built from the same commit and compared."""
    write_project(tmp_path, {"counts.sql": MODEL}, sources=SOURCES, clock="2024-01-09")
    add(tmp_path, *range(1, 9), rows=2)
    build(counting(tmp_path))
    assert promote_plan(counting(tmp_path)).verdict.open
    return tmp_path


def newer_logic(root: Path) -> str:
    (root / "models" / "counts.sql").write_text(MODEL.replace("count(*)", "count(*) * 1"))
    place = counting(root)
    build(place)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    return plan


def settle(root: Path) -> None:
    """As the beginning of a routine run does."""
    place = counting(root)
    shown = published_context(place)
    shown._engine = place._engine  # pyright: ignore[reportPrivateUsage]
    assert not _settle(shown, run="", follow=unseen).held


def shown(root: Path) -> dict[str, int]:
    """Rows by day that a reader of prod gets."""
    place = Context.open(root)
    pointer = place.control.environments.read("prod").pointers["counts"]
    tables = DeltaTables(place.warehouse)
    return {
        f"{at:%d}": cell.rows
        for s in pointer.segments
        for at, cell in tables.cells("counts", s.version, s.commit).items()
        if s.interval.holds(at)
    }


def in_the_way(root: Path) -> dict[str, str]:
    place, plan = counting(root), plan_request(counting(root))
    facts = place.facts()
    found = gate(cases_of(place, facts).promotion(Request(), facts, plan)).obstacles
    return {str(o.intervals): o.remedy for o in found if "older rows of source clicks" in o.what}


def test_rows_that_settled_stay(root: Path) -> None:
    """Late rows come on the seventh, and what they may belong to by the window is settled over night. The plan of
    before is refused for these days alone; built again, as the refusal says, it has the rows that came."""
    plan = newer_logic(root)
    assert in_the_way(root) == {}
    add(root, 7, rows=5)
    settle(root)
    assert shown(root) == counts(root / "data" / "clicks", 1), "what is shown is what came"
    found = in_the_way(root)
    assert [*found] == ["2024-01-05..2024-01-07"]
    done = promote_plan(counting(root), plan=plan)
    assert not done.verdict.open and any("older rows of source clicks" in o.what for o in done.verdict.obstacles)
    assert shown(root)["07"] == 7
    command = found["2024-01-05..2024-01-07"].partition(", then")[0].split()[1:]
    assert command == ["withdraw", "counts:2024-01-05..2024-01-07"] and backfill_here(*command, project=root).code == 0
    build(counting(root))
    assert in_the_way(root) == {}
    place = counting(root)
    rows = DeltaTables(place.warehouse).cells("counts", place.project.fingerprints["counts"])
    assert {f"{at:%d}": cell.rows for at, cell in rows.items()} == counts(root / "data" / "clicks", 1)


def test_a_night_is_in_the_way_of_what_its_rows_reach(root: Path) -> None:
    """Late rows that were settled before the plan was built are not; a day that lands is, of the days that its rows may
    belong to by the window, and were computed again from it."""
    add(root, 7, rows=5)
    settle(root)
    newer_logic(root)
    assert in_the_way(root) == {}
    add(root, 9, rows=2)
    settle(root)
    assert [*in_the_way(root)] == ["2024-01-06..2024-01-08"]


def test_a_query_that_says_how_far_it_reads(root: Path) -> None:
    """Late rows are of their own day, and a day that lands is of no other one: the rows of all others are the same."""
    (root / "models" / "counts.sql").write_text(PLAIN)
    build(counting(root))
    [plan] = [r.id for r in counting(root).control.plans.all() if r.live]
    prove(counting(root), plan)
    add(root, 7, rows=5)
    settle(root)
    assert shown(root) == counts(root / "data" / "clicks", 1), "what is shown is what came"
    assert [*in_the_way(root)] == ["2024-01-07"]
    add(root, 9, rows=2)
    settle(root)
    assert [*in_the_way(root)] == ["2024-01-07"]


def test_the_plan_says_so_before(root: Path) -> None:
    newer_logic(root)
    add(root, 7, rows=5)
    settle(root)
    assert backfill_here("withdraw", "counts:2024-01-08", project=root).code == 0
    said = " ".join(backfill_here("plan", project=root).out.split())
    assert "was computed from older rows of source clicks than prod shows: 2024-01-05..2024-01-07" in said


@pytest.mark.parametrize(
    ("end", "said"), [("", "2024-01-05..2024-01-08"), ("\nend: 2024-01-07", "2024-01-05..2024-01-06")]
)
def test_what_lies_beyond_the_end_is_not_called_provisional(root: Path, end: str, said: str) -> None:
    """No routine run builds a day again that the header leaves out."""
    (root / "models" / "counts.sql").write_text(MODEL.replace("settle: 3 days", f"settle: 3 days{end}"))
    assert f"provisional  counts {said}: routine runs replace it" in backfill_here("status", project=root).out
