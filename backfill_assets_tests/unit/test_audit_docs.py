"""Is docs/audits.md true? Each kind has a row, and each example in it is an audit that loads."""

from __future__ import annotations

import re
from pathlib import Path

from backfill_assets.audits.kinds import KINDS
from backfill_assets.project.loader import load_project
from backfill_assets_tests.projects import CHECKOUT, write_project

SOURCES = """\
sources:
  - {name: raw.campaigns, path: x, columns: {id: bigint, end_date: date}}
  - {name: raw.clicks, path: x, time_column: at, columns: {at: timestamp, campaign: bigint}}
  - {name: raw.ads, path: x, columns: {ds: date, campaign_id: bigint, ad_id: bigint, channel: string, email: string,
      clicks: bigint, impressions: bigint, ctr: double, spend: double,
      updated_at: timestamp}}
"""
MODEL = """\
/*
start: 2024-01-01
grain: [ds, campaign_id, channel]
audits:
{audits}
*/
SELECT * FROM raw.ads WHERE ds >= :start AND ds < :end
"""


def rows() -> list[tuple[str, str]]:
    """(kind, example) of the table; a row without a kind is about the one above it."""
    text = (CHECKOUT / "docs" / "audits.md").read_text()
    found = re.findall(r"^\| (?:`(\w+)`)? ?\| `(- [^`]+)` \|", text, re.MULTILINE)
    kinds: list[tuple[str, str]] = []
    for kind, example in found:
        kinds.append((kind or kinds[-1][0], example))
    return kinds


def test_every_kind_is_documented() -> None:
    """In the order of the code, with an example of that kind."""
    found = rows()
    assert list(dict.fromkeys(kind for kind, _ in found)) == list(KINDS)
    assert all(re.match(rf"- {kind}\b", example) for kind, example in found)


def test_every_example_loads(tmp_path: Path) -> None:
    """All of them, in one model; and the query that is shown."""
    query = re.findall(r"```sql\n(.*?)```", (CHECKOUT / "docs" / "audits.md").read_text(), re.DOTALL)
    examples = [example for _, example in rows()]
    model = MODEL.format(audits="\n".join(f"  {example}" for example in examples))
    write_project(tmp_path, {"campaign_performance.sql": model}, sources=SOURCES)
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "no_orphans.sql").write_text(query[0])
    audits = load_project(tmp_path).models["campaign_performance"].audits
    assert [audit.kind for audit in audits] == [kind for kind, _ in rows()]
