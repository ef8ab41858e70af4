"""What docs/how-to/erase.md says: which step gets rid of the tables that have somebody's rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.app.janitor import find_garbage
from backfill_assets.app.promote import promote_plan
from backfill_assets.plan.stages import Request
from backfill_assets_tests.dagster_place import nothing_found
from backfill_assets_tests.fakes import days
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, unsparked

YEARS_LATER = "2100-01-01"


def setting(root: Path, **said: object) -> None:
    file = root / "backfill.yml"
    file.write_text(json.dumps(json.loads(file.read_text()) | said))


def free(root: Path, now: str) -> set[str]:
    """The version tables that the janitor would delete, long after the last release."""
    setting(root, clock=YEARS_LATER)
    found = find_garbage(unsparked(root)).rounds
    setting(root, clock=now)
    return {f"{one.table.model}/{one.table.version}" for one in found.goes}


def test_a_restatement_leaves_the_old_table_and_a_code_version_lets_it_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the restated days the version's own table stays, with its files: other days are in it. Another version
    leaves nothing of either."""
    monkeypatch.setattr("backfill_assets.app.promote.prove_built", nothing_found)
    root, now = small_project(tmp_path, days=3), "2024-01-04"
    setting(root, approvals={"required": False})

    def released(request: Request | None = None) -> dict[str, str]:
        place = unsparked(root, user="dev")
        plan, _ = build(place, request)
        assert promote_plan(place, plan=plan.id).verdict.open
        return {n: p.version for n, p in place.control.environments.read("prod").pointers.items()}

    first = released()
    released(Request(restate=(("daily", days("01", "01")),)))
    assert free(root, now) == set()
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("start:", 'code_version: "2"\nstart:', 1))
    second = released()
    assert not set(first.values()) & set(second.values())
    gone = free(root, now)
    assert {f"{n}/{v}" for n, v in first.items()} < gone and len(gone) == 4, "with the tables beside"
