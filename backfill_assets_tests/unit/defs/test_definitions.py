"""Does the asset graph say what the project's files say?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from backfill_assets.app.context import Context
from backfill_assets.core.errors import ProjectError
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.defs.io_manager import IO_MANAGER_KEY
from backfill_assets.defs.metadata import split_owner
from backfill_assets_tests.projects import EVENTS, write_project

DAILY = """\
/*
description: What happened each day.
owner: ann@example.com
start: 2024-01-01
grain: [ds]
pool: heavy
tags: {team: growth}
columns: {ds: The day., n: How many.}
audits:
  - range: {column: n, min: 1, max: 500}
  - completeness: {min_rows: 1}
  - row_count: {within_percent: 5, severity: warn}
*/
SELECT CAST(at AS DATE) AS ds, count(*) AS n, sum(amount) AS total
FROM raw.events WHERE at >= :start AND at < :end GROUP BY CAST(at AS DATE)
"""
LATER = """\
/*
owner: the night shift
start: 2024-01-01
grain: [ds]
lookback: 2
*/
SELECT ds, n + 1 AS more FROM daily WHERE ds >= :start AND ds < :end
"""
CONSUMERS = """\
consumers:
  - {name: board, kind: dashboard, owner: bob@example.com, reads: {daily: [ds, n]}, history: 30 days, notice: 7 days,
     last_verified: 2024-01-02, url: "https://example.com/board"}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_project(tmp_path, {"daily.sql": DAILY, "later.sql": LATER}, sources=EVENTS)
    (tmp_path / "consumers.yml").write_text(CONSUMERS)
    return tmp_path


@pytest.fixture
def specs(root: Path) -> dict[str, dg.AssetSpec]:
    return {s.key.to_user_string(): s for s in build_definitions(root).resolve_all_asset_specs()}


def test_graph_runs_from_sources_to_consumers(specs: dict[str, dg.AssetSpec]) -> None:
    """Sources feed models, models feed prod's views, views feed consumers: the graph is the impact analysis."""
    above = {name: sorted(d.asset_key.to_user_string() for d in s.deps) for name, s in specs.items()}
    assert above == {
        "raw/events": [],
        "daily": ["raw/events"],
        "later": ["daily"],
        "prod/daily": ["daily"],
        "prod/later": ["later"],
        "consumer/board": ["prod/daily"],
    }


def test_a_consumer_carries_its_terms(specs: dict[str, dg.AssetSpec]) -> None:
    """What it reads and how far back, how long before it wants to know, when somebody made sure."""
    metadata = specs["consumer/board"].metadata
    said = {k: getattr(v, "text", v) for k, v in metadata.items()}
    assert said["reads daily"] == "ds, n, the newest 30 days"
    assert (said["notice"], said["confirmed"], said["criticality"]) == ("7 days", "2024-01-02", "medium")


def test_asset_carries_what_the_file_says(specs: dict[str, dg.AssetSpec], root: Path) -> None:
    """Code version, owner, kinds, tags, description with the code, columns with types, lineage."""
    project = Context.open(root).project
    daily = specs["daily"]
    assert daily.code_version == project.fingerprints["daily"]
    assert daily.owners == ["ann@example.com"]
    assert daily.kinds == {"spark", "delta", "sql"}
    assert daily.tags["team"] == "growth"
    assert daily.description and "What happened each day." in daily.description and "sum(amount)" in daily.description
    columns = daily.metadata["dagster/column_schema"]
    assert isinstance(columns, dg.TableSchema | dg.TableSchemaMetadataValue)
    schema = columns if isinstance(columns, dg.TableSchema) else columns.schema
    assert [(c.name, c.type, c.description) for c in schema.columns][:2] == [
        ("ds", "date", "The day."),
        ("n", "bigint", "How many."),
    ]
    lineage: Any = daily.metadata["dagster/column_lineage"]
    lineage = getattr(lineage, "column_lineage", lineage)
    assert lineage.deps_by_column["total"] == [dg.TableColumnDep(dg.AssetKey(["raw", "events"]), "amount")]
    assert daily.metadata["grain"] in ("ds", dg.TextMetadataValue("ds"))


def test_owner_that_dagster_refuses_is_metadata(specs: dict[str, dg.AssetSpec]) -> None:
    """An owner who is neither an e-mail address nor a team is still shown."""
    assert specs["later"].owners == []
    assert specs["later"].metadata["owner"] in ("the night shift", dg.TextMetadataValue("the night shift"))
    assert split_owner("team:growth") == (["team:growth"], {})


def test_each_audit_is_a_check_that_states_its_threshold(root: Path) -> None:
    """Blocking or warning as the file says; the threshold is in the description."""
    asset = build_definitions(root).get_assets_def("daily")
    checks = {c.name: c for c in asset.check_specs}
    assert set(checks) == {"range_n", "completeness", "row_count", "unique_grain"}
    assert checks["range_n"].blocking and "< 1" in str(checks["range_n"].description)
    assert "> 500" in str(checks["range_n"].description)
    assert not checks["row_count"].blocking and "±5 % of prod" in str(checks["row_count"].description)


def test_what_audits_look_at_comes_first(tmp_path: Path) -> None:
    """A model or source that only an audit reads is an upstream of the asset: Dagster orders runs by that."""
    audits = "audits:\n  - relationships: {columns: ds, to: later}\n  - sql: odd\n"
    alone = LATER.replace("FROM daily", "FROM (SELECT DATE '2024-01-01' AS ds, 1 AS n)")
    assert alone != LATER and "audits:\n" in DAILY
    write_project(tmp_path, {"daily.sql": DAILY.replace("audits:\n", audits), "later.sql": alone}, sources=EVENTS)
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "odd.sql").write_text("SELECT ds FROM daily JOIN raw.events AS e ON e.id = n")
    asset = build_definitions(tmp_path).get_assets_def("daily")
    assert {key.to_user_string() for key in asset.dependency_keys} == {"raw/events", "later"}
    assert "odd" in {c.name for c in asset.check_specs}


def test_runs_are_made_for_ranges(root: Path) -> None:
    """One run a range, a pool where the model says so, and every asset on the io manager that cannot be redirected."""
    found = build_definitions(root)
    asset = found.get_assets_def("daily")
    assert asset.backfill_policy == dg.BackfillPolicy.single_run()
    assert asset.op.pool == "heavy"
    assert {o.io_manager_key for n, o in asset.op.output_dict.items() if n == "result"} == {IO_MANAGER_KEY}
    assert found.resources and IO_MANAGER_KEY in found.resources
    assert found.executor is dg.in_process_executor
    assert found.jobs and not [j.name for j in found.jobs if getattr(j, "partitions_def", None)], "they go by ranges"


def test_only_models_can_be_materialized(root: Path) -> None:
    """Sources, prod's views and consumers are there to be seen: no run can write them."""
    graph = build_definitions(root).resolve_asset_graph()
    assert {k.to_user_string() for k in graph.materializable_asset_keys} == {"daily", "later"}


def test_loading_opens_neither_spark_nor_a_table(root: Path) -> None:
    """Dagster loads the code location often: it must stay cheap, and work before anything was built."""
    before = "pyspark.sql.session" in sys.modules
    build_definitions(root)
    assert before or "pyspark.sql.session" not in sys.modules
    assert not (root / ".backfill").exists()


def test_environment_names_the_views(tmp_path: Path) -> None:
    """A project for another environment shows that environment's views."""
    write_project(tmp_path, {"daily.sql": DAILY}, environment="staging")
    keys = {s.key.to_user_string() for s in build_definitions(tmp_path).resolve_all_asset_specs()}
    assert "staging/daily" in keys and "prod/daily" not in keys


def test_project_with_problems_lists_all_of_them(tmp_path: Path) -> None:
    """A file that is wrong does not hide another."""
    write_project(tmp_path, {"a.sql": "SELECT 1", "b.sql": DAILY.replace("grain: [ds]", "")})
    with pytest.raises(ProjectError) as error:
        build_definitions(tmp_path)
    assert {p.file.name for p in error.value.problems} == {"a.sql", "b.sql"}
