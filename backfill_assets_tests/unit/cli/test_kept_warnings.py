"""A plan tells the warnings about what it changes; of models that it leaves as they are it says that there are some."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets_tests.projects import backfill_here, write_events, write_project
from backfill_assets_tests.unsparked import build, promoted, unsparked

HEADER = "/*\nstart: 2024-01-01\nowner: ana@example.com\ngrain: [ds, id]\n*/\n"
DAILY = HEADER + "SELECT CAST(at AS DATE) AS ds, id FROM raw.events WHERE at >= :start AND at < :end"
ODD = HEADER + "SELECT ds, id FROM daily WHERE ds >= :start AND ds <= :end"
"""Its query reads the first instant of the next day as well."""
LEFT = "warning 2 about odd, odder, which this plan leaves as they are: backfill plan --select odd --select odder"


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """Two models with a warning each, and one with none, are shown."""
    write_events(tmp_path, days=3)
    write_project(tmp_path, {"odd.sql": ODD, "odder.sql": ODD, "daily.sql": DAILY}, clock="2024-01-04")
    return promoted(tmp_path)


def test_of_kept_models_one_line(shown: Path) -> None:
    """Also in the comment of a pull request; all are in the JSON, and of selected models they are told."""
    said = backfill_here("plan", project=shown).out
    assert LEFT in said and "models/odd.sql" not in said
    comment = backfill_here("plan", "--markdown", project=shown).out
    assert "Warnings: 2 about odd, odder, which this plan leaves as they are:" in comment
    assert len(backfill_here("plan", "--json", project=shown).json["warnings"]) == 2
    chosen = backfill_here("plan", "--select", "odd", project=shown).out
    assert "warning models/odd.sql" in chosen and "leaves as" not in chosen


def test_of_a_changed_model_all_of_it(shown: Path) -> None:
    """It is what the plan is about."""
    file = shown / "models" / "odd.sql"
    file.write_text(file.read_text().replace("SELECT ds, id", "SELECT ds, id + 1 AS id"))
    said = backfill_here("plan", project=shown).out
    assert "warning models/odd.sql" in said and "warning 1 about odder, which this plan leaves as it is:" in said
    assert len(plan_request(unsparked(shown)).warnings) == 2
    build(unsparked(shown))
    said = backfill_here("plan", project=shown).out
    assert "warning models/odd.sql" in said and "warning 1 about odder" in said, "it is not shown yet"
