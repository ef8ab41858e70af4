"""A shown model that the code does not have any more holds back other rows of what it was computed from.

Nothing builds it again: it would be shown beside rows that it was not computed from.
"""

from __future__ import annotations

from pathlib import Path

from backfill_assets.app.gate import obstacles_ahead
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.prove import prove_built
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.test_routine_beside_older import forward
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

SECOND = Request(restate=(("daily", Interval(utc("2024-01-02"), utc("2024-01-03"))),))
OUT = "put its file back, or take it out of prod: backfill rollback nothing --select running"


def refused(root: Path, request: Request) -> tuple[str, str]:
    """What is refused, of which intervals: the same before anything is built, and when all is built and compared."""
    place = unsparked(root, user="dev")
    plan = plan_request(place, request)
    (ahead,) = obstacles_ahead(place, plan, place.facts())
    build(place, request)
    (record,) = [r for r in place.control.plans.all() if r.live]
    proved = prove_built(place, record.id, plan, place.facts())
    assert ahead in proved.in_the_way and proved.proofs == (), "nothing is compared that cannot be shown"
    prove(place, record.id)
    before = place.control.environments.read("prod").pointers
    verdict = promote_plan(place, plan=record.id).verdict
    (found,) = [o for o in verdict.obstacles if o.model == "running"]
    assert place.control.environments.read("prod").pointers == before
    assert found == ahead and OUT in found.remedy
    return found.what, str(found.intervals)


def test_a_restatement_waits_for_it(tmp_path: Path) -> None:
    """The day that is restated, and the one that looks back at it."""
    root = promoted(small_project(tmp_path, days=3))
    (root / "models" / "running.sql").unlink()
    what, intervals = refused(root, SECOND)
    assert what.startswith("was computed from other rows of daily 2024-01-02") and intervals == "2024-01-02..2024-01-03"


def test_newer_logic_in_place_of_older_waits_for_it(tmp_path: Path) -> None:
    """All of the older logic, and what looks back over the boundary."""
    root = forward(tmp_path)
    (root / "models" / "running.sql").unlink()
    what, intervals = refused(root, Request())
    assert what.startswith("was computed from other rows of daily 2024-01-01..2024-01-08")
    assert intervals == "2024-01-01..2024-01-09"


def test_all_moves_once_its_file_is_back(tmp_path: Path) -> None:
    """The restatement computes its intervals too."""
    root = promoted(small_project(tmp_path, days=3))
    file = root / "models" / "running.sql"
    said = file.read_text()
    file.unlink()
    for text in ("", said):
        if text:
            file.write_text(text)
        place = unsparked(root, user="dev")
        assert bool(text) != bool(obstacles_ahead(place, plan_request(place, SECOND), place.facts()))
