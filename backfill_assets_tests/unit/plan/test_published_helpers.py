"""A shown Python model that imports other files of the project, beside newer code: what runs, and what is held back?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.adapters.model_code import load_function
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import published_context
from backfill_assets.core.errors import StateError
from backfill_assets.plan.stages import Build
from backfill_assets.project.stored import from_definition
from backfill_assets.promote.extend import as_published
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets_tests.projects import small_project, write_events
from backfill_assets_tests.unsparked import build, unsparked

SCORED = """\
from backfill_assets import model
from lib.score import THRESHOLD


@model(
    start="2024-01-01",
    grain=["ds"],
    owner="ana@example.com",
    columns={"ds": {"type": "date"}, "n": {"type": "bigint"}},
)
def scored(daily, interval):
    return THRESHOLD
"""
READER = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds]
*/
SELECT ds, n FROM scored WHERE ds >= :start AND ds < :end
"""


def promoted(root: Path, scored: str = SCORED) -> Path:
    """Prod shows `daily` and `running`, `scored` over `daily`, and `reader` over that."""
    small_project(root, days=3)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    (root / "models" / "scored.py").write_text(scored)
    (root / "models" / "reader.sql").write_text(READER)
    (root / "lib").mkdir()
    (root / "lib" / "score.py").write_text("THRESHOLD = 3\n")
    (root / "data" / "rates.csv").write_text("a,1\n")
    place = unsparked(root)
    build(place)
    assert promote_plan(place).verdict.open
    return root


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def a_day_later(root: Path) -> tuple[dict[str, str], tuple[Obstacle, ...]]:
    """What a routine run would build of a fourth day, and what it leaves."""
    write_events(root, days=4)
    edit(root / "backfill.yml", "2024-01-04", "2024-01-05")
    shown = published_context(unsparked(root))
    plan, left = as_published(shown.project, plan_request(shown, resume=False))
    return {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)}, left


@pytest.mark.parametrize(
    ("also", "old", "new"),
    [
        ("models/daily.sql", "count(*) AS n", "count(*) + 0 AS n"),
        ("lib/score.py", "THRESHOLD = 3", "THRESHOLD = 4"),
        ("models/scored.py", "return THRESHOLD", "return 4"),
    ],
)
def test_what_is_imported_runs_by_its_stored_text(tmp_path: Path, also: str, old: str, new: str) -> None:
    """Its upstream is another version by an edit that nobody promoted; so may be the file that it imports, and it."""
    root = promoted(tmp_path / "p")
    edit(root / "models" / "daily.sql", "sum(amount)", "2 * sum(amount)")
    edit(root / also, old, new)
    shown = published_context(unsparked(root)).project
    assert load_function(shown.models["scored"], root)(daily=None, interval=None) == 3
    built, left = a_day_later(root)
    assert built == dict.fromkeys(("daily", "running", "scored", "reader"), "2024-01-04") and left == ()


def test_a_file_that_is_not_stored_holds_back_its_readers_only(tmp_path: Path) -> None:
    """The content of data is in no record. All else is extended."""
    code = SCORED.replace("    return", "    open('data/rates.csv').read()\n    return")
    root = promoted(tmp_path / "p", code)
    edit(root / "models" / "daily.sql", "sum(amount)", "2 * sum(amount)")
    built, left = a_day_later(root)
    assert built == dict.fromkeys(("daily", "running"), "2024-01-04")
    assert [o.model for o in left] == ["scored", "reader"]
    assert "its stored code cannot run: it reads data/rates.csv, which may be another now" in str(left[0])
    assert "put back what was there, or promote what is declared now" in str(left[0])
    assert "it reads scored" in str(left[1])


def test_a_text_that_is_read_as_a_file_is_not_stored(tmp_path: Path) -> None:
    """What is opened is on disk as it is now; and a record of an earlier release has no texts."""
    code = SCORED.replace("    return", "    open('lib/score.py').read()\n    return")
    place = unsparked(promoted(tmp_path / "p", code))
    [record] = [v for v in place.control.versions.all().values() if v.model == "scored"]
    assert record.definition["helpers"]
    with pytest.raises(StateError, match=r"cannot be extended by its stored code") as told:
        from_definition("scored", record.version, record.definition)
    assert "lib/score.py" in str(told.value.why)
    old = {k: v for k, v in record.definition.items() if k != "files"}
    with pytest.raises(StateError, match="cannot be extended by its stored code"):
        from_definition("scored", record.version, old)
