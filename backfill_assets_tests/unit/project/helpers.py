"""Small projects in a folder, for tests of what reads them."""

from __future__ import annotations

from pathlib import Path

SOURCES = """\
sources:
  - name: raw.ad_events
    path: data/ad_events
    columns: {event_time: timestamp, campaign_id: bigint, channel: string, spend: "decimal(18,4)"}
"""
EVENTS = """\
/*
start: 2024-01-01
grain: [ds, campaign_id]
*/
SELECT CAST(event_time AS DATE) AS ds, campaign_id, count(*) AS clicks, sum(spend) AS spend
FROM raw.ad_events
WHERE event_time >= :start AND event_time < :end
GROUP BY 1, 2
"""
REPORT = """\
/*
start: 2024-01-01
grain: [ds]
*/
SELECT ds, sum(clicks) AS clicks FROM events WHERE ds >= :start AND ds < :end GROUP BY ds
"""
PYTHON = '''\
from backfill_assets import model


@model(
    start="2024-01-01",
    grain=["ds"],
    columns={"ds": {"type": "date"}, "roi": {"type": "double"}},
    upstream={"raw": "raw.ad_events"},
)
def roi(events, raw, interval):
    """Return on spend."""
    return events
'''


def project(root: Path, **files: str) -> Path:
    """A project with the usual source; `m_sql` is the file models/m.sql, `m_py` models/m.py, `sources` sources.yml."""
    contents = {"sources.yml": SOURCES, "models/events.sql": EVENTS} | {
        "models/" + name.replace("_sql", ".sql").replace("_py", ".py"): text
        for name, text in files.items()
        if name.endswith(("_sql", "_py"))
    }
    contents |= {f"{name}.yml": text for name, text in files.items() if not name.endswith(("_sql", "_py"))}
    for name, text in contents.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def sql(query: str, header: str = "start: 2024-01-01\ngrain: [ds]\n") -> str:
    """A SQL model's text; with the usual header the query begins at line 5."""
    return f"/*\n{header}*/\n{query}\n"
