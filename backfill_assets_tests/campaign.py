"""The campaign story's edits of `campaign_performance` (A1, A6), as pairs of old and new text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Edits = Sequence[tuple[str, str]]

MORE_COLUMNS: Edits = [
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
REAL_TIMESTAMP: Edits = [
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
LOCAL_TIMESTAMP: Edits = [
    (old, new.replace("converted_at", "CAST(converted_at_local AS TIMESTAMP)")) for old, new in REAL_TIMESTAMP
]
"""The bug: a wall clock without a zone, read as UTC."""


def edit(project: Path, edits: Edits) -> None:
    """Change `campaign_performance`; each text that is replaced must be there once."""
    path = project / "models" / "campaign_performance.sql"
    text = path.read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
