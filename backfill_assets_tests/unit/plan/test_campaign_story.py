"""The campaign story, as far as plans tell it: three columns more (A1, A5), and another meaning for one (A6)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from backfill_assets.plan.category import Change, compare
from backfill_assets.plan.why import reasons
from backfill_assets.settings import EMBEDDED_PROJECT
from backfill_assets.snapshots.loader import load_project
from backfill_assets.snapshots.model import Project

MORE_COLUMNS = [
    (
        "  SELECT conversion_id, CAST(click_time AS DATE) AS ds, campaign_id\n",
        "  SELECT conversion_id, CAST(click_time AS DATE) AS ds, campaign_id,\n"
        "    max(conversion_value) AS conversion_value, bool_or(assisted) AS assisted,\n"
        "    bool_or(view_through) AS view_through\n",
    ),
    (
        "  SELECT ds, campaign_id, count(*) AS conversions\n",
        "  SELECT ds, campaign_id, count(*) AS conversions, sum(conversion_value) AS conversion_value,\n"
        "    count_if(assisted) AS assisted, count_if(view_through) AS view_through\n",
    ),
    (
        "DECIMAL(18, 6)) AS cost_per_acquisition\n",
        "DECIMAL(18, 6)) AS cost_per_acquisition,\n"
        "  CAST(coalesce(acquired.conversion_value, 0) AS DECIMAL(18, 2)) AS conversion_value,\n"
        "  coalesce(acquired.assisted, 0) AS assisted_conversions,\n"
        "  coalesce(acquired.view_through, 0) AS view_through_conversions\n",
    ),
]
REAL_TIMESTAMP = [
    (
        "  FROM acquisitions\n  GROUP BY ds, campaign_id\n)\n",
        "  FROM acquisitions\n  GROUP BY ds, campaign_id\n),\n\n"
        "really_acquired AS (\n"
        "  SELECT CAST(converted_at AS DATE) AS ds, campaign_id, count(DISTINCT conversion_id) AS conversions\n"
        "  FROM raw.conversions\n"
        "  WHERE converted_at >= :start AND converted_at < :end AND landed_on >= :start\n"
        "    AND landed_on < date_add(:end, 14)\n"
        "  GROUP BY CAST(converted_at AS DATE), campaign_id\n"
        ")\n",
    ),
    (
        "CAST(ads.spend / nullif(acquired.conversions, 0)",
        "CAST(ads.spend / nullif(really_acquired.conversions, 0)",
    ),
    (
        "LEFT JOIN raw.campaigns AS",
        "LEFT JOIN really_acquired\n"
        "  ON really_acquired.ds = ads.ds AND really_acquired.campaign_id = ads.campaign_id\n"
        "LEFT JOIN raw.campaigns AS",
    ),
]


def edited(folder: Path, edits: Sequence[tuple[str, str]]) -> Project:
    """The demo with `campaign_performance` changed."""
    shutil.copytree(EMBEDDED_PROJECT / "models", folder / "models", ignore=shutil.ignore_patterns("__pycache__"))
    for file in EMBEDDED_PROJECT.glob("*.yml"):
        shutil.copy(file, folder)
    path = folder / "models" / "campaign_performance.sql"
    text = path.read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    return load_project(folder)


def changes(tmp_path: Path, edits: Sequence[tuple[str, str]]) -> tuple[Project, dict[str, Change]]:
    for name in ("shown", "code"):
        (tmp_path / name).mkdir()
    shown, code = edited(tmp_path / "shown", []), edited(tmp_path / "code", edits)
    return code, {n: compare(shown.signatures[n], code.signatures[n]) for n in code.models}


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
