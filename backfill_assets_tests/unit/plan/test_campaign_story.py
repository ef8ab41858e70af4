"""The campaign story, as far as plans tell it: three columns more (A1, A5), and another meaning for one (A6)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from backfill_assets.core.model import Project
from backfill_assets.plan.category import TableChange, change_between
from backfill_assets.plan.reasons import reasons
from backfill_assets.project.loader import load_project
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets_tests.campaign import MORE_COLUMNS, REAL_TIMESTAMP, edit


def edited(folder: Path, edits: Sequence[tuple[str, str]]) -> Project:
    """The demo with `campaign_performance` changed."""
    shutil.copytree(EMBEDDED_PROJECT / "models", folder / "models", ignore=shutil.ignore_patterns("__pycache__"))
    for file in EMBEDDED_PROJECT.glob("*.yml"):
        shutil.copy(file, folder)
    edit(folder, edits)
    return load_project(folder)


def changes(tmp_path: Path, edits: Sequence[tuple[str, str]]) -> tuple[Project, dict[str, TableChange]]:
    for name in ("shown", "code"):
        (tmp_path / name).mkdir()
    shown, code = edited(tmp_path / "shown", []), edited(tmp_path / "code", edits)
    return code, {n: change_between(shown.signatures[n], code.signatures[n]) for n in code.models}


def test_three_columns_more(tmp_path: Path) -> None:
    """Additive, unasked; neither model downstream reads them, so neither is built again, and the plan says why."""
    code, found = changes(tmp_path, MORE_COLUMNS)
    added = "conversion_value, assisted_conversions, view_through_conversions"
    assert str(found["campaign_performance"]) == f"additive, non-breaking: adds {added}"
    for reader in ("roi_analysis", "campaign_trends_monthly"):
        assert str(found[reader]) == "unchanged"
        assert reasons(code, reader, found) == (f"reads none of what changed in campaign_performance ({added})",)


def test_cost_per_acquisition_by_the_real_timestamp(tmp_path: Path) -> None:
    """Breaking, by name of the column; `roi_analysis` (Python) reads it, `campaign_trends_monthly` does not."""
    code, found = changes(tmp_path, REAL_TIMESTAMP)
    assert str(found["campaign_performance"]) == "breaking: cost_per_acquisition may differ"
    roi = "breaking: cost_per_acquisition, acquisition_cost_index may differ"
    assert str(found["roi_analysis"]) == roi
    assert reasons(code, "roi_analysis", found) == (
        "reads campaign_performance.cost_per_acquisition for acquisition_cost_index, cost_per_acquisition",
    )
    assert str(found["campaign_trends_monthly"]) == "unchanged"
    assert reasons(code, "campaign_trends_monthly", found) == (
        "reads none of what changed in campaign_performance (cost_per_acquisition)",
    )


def test_a_comment(tmp_path: Path) -> None:
    """What decides no row is no change."""
    _, found = changes(tmp_path, [("-- Some deliveries come twice", "-- Twice")])
    assert {str(c) for c in found.values()} == {"unchanged"}
