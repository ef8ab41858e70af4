"""What may a reader rely on? Taken from a model, and from the record of a version."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from backfill_assets.contracts.contract import Contract, Promise, promised, published_contract
from backfill_assets.contracts.levels import compare_contracts
from backfill_assets.core.model import Project
from backfill_assets.project.loader import load_project
from backfill_assets.project.stored import to_definition
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW
from backfill_assets_tests.unit.project.helpers import project

MODEL = """\
/*
start: 2024-01-01
grain: [DS, Channel]
contract:
  semantics: {CLICKS: "clicks,   UTC days"}
audits:
  - not_null: [channel]
  - not_null: {columns: [clicks], severity: warn}
  - accepted_values: {column: channel, values: [web, email]}
  - accepted_values: {column: clicks, values: [1, 2], severity: warn}
*/
SELECT CAST(event_time AS DATE) AS ds, channel, count(*) AS Clicks, max_by(spend, campaign_id) AS spend
FROM raw.ad_events WHERE event_time >= :start AND event_time < :end GROUP BY ALL
"""
CONTRACT = Contract(
    columns=(
        Promise(name="ds", type="date", nullable=False),
        Promise(name="channel", type="string", nullable=False, values=("email", "web")),
        Promise(name="clicks", type="bigint", semantics="clicks, UTC days"),
        Promise(name="spend", type=None),
    ),
    grain=("ds", "channel"),
    time_column="ds",
    cadence="daily",
)


def record(loaded: Project, name: str = "m") -> Version:
    """As the control table gives it back."""
    return Version(
        model=name,
        version=loaded.fingerprints[name],
        upstream={},
        columns=(("ds", "date"), ("channel", "string"), ("Clicks", "bigint"), ("spend", "decimal(18,4)")),
        definition=json.loads(json.dumps(to_definition(loaded.models[name]))),
        created=NOW,
    )


def test_what_a_model_promises(tmp_path: Path) -> None:
    """Types from the query, NULL and values from blocking audits, meanings from the contract; names in lower case."""
    assert promised(load_project(project(tmp_path, m_sql=MODEL)), "m") == CONTRACT


def test_a_built_table_knows_its_types(tmp_path: Path) -> None:
    """Its record fills in what the query does not say."""
    loaded = load_project(project(tmp_path, m_sql=MODEL))
    spend = Promise(name="spend", type="decimal(18,4)")
    assert promised(loaded, "m", record(loaded)) == replace(CONTRACT, columns=(*CONTRACT.columns[:3], spend))


def test_what_a_version_promised(tmp_path: Path) -> None:
    """Its record gives the same contract as the code that made it: nothing differs."""
    loaded = load_project(project(tmp_path, m_sql=MODEL))
    stored = published_contract(record(loaded))
    assert stored is not None
    assert compare_contracts(stored, promised(loaded, "m", record(loaded))) == ()


def test_a_record_without_one() -> None:
    """A record that lacks parts, or is not there, gives no contract."""
    bare = Version(model="m", version="1", upstream={}, columns=(), definition={"grain": ["ds"]}, created=NOW)
    assert published_contract(bare) is None and published_contract(None) is None
