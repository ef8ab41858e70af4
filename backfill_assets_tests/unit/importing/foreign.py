"""Small projects of other tools, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONFIG = "model_defaults:\n  dialect: duckdb\n  start: 2024-01-01\n"
EXTERNAL = """\
- name: raw.orders
  columns: {id: int, customer_id: int, day: date, moment: timestamp, amount: "decimal(12,2)", status: text, ratio: double}
- name: raw.items
  columns: {order_id: int, price: double, quantity: int, day: date}
- name: raw.customers
  columns: {id: int, name: text, since: date}
"""


def sqlmesh_project(root: Path, files: Mapping[str, str], *, config: str = CONFIG, external: str = EXTERNAL) -> Path:
    """A SQLMesh project's folder: models by path."""
    for path, text in {"config.yaml": config, "external_models.yaml": external, **files}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def sqlmesh_model(query: str, *, name: str = "shop.m", kind: str = "time_column day", more: str = "") -> str:
    """The file of a model of days. The query begins at line 6."""
    return (
        f"MODEL (\n  name {name},\n  kind INCREMENTAL_BY_TIME_RANGE ({kind}),\n  grain (day, id){more}\n);\n{query}\n"
    )


def dbt_model(name: str, code: str, config: Mapping[str, Any], reads: Sequence[str], **more: Any) -> dict[str, Any]:
    """A model's node of a manifest, with dbt's defaults."""
    defaults = {
        "enabled": True, "alias": None, "schema": None, "database": None, "tags": [], "meta": {}, "group": None,
        "materialized": "incremental", "incremental_strategy": None, "batch_size": None, "lookback": 1, "begin": None,
        "persist_docs": {}, "post-hook": [], "pre-hook": [], "quoting": {}, "column_types": {}, "full_refresh": None,
        "unique_key": None, "on_schema_change": "ignore", "on_configuration_change": "apply", "grants": {},
        "packages": [], "docs": {"show": True, "node_color": None}, "event_time": None, "concurrent_batches": None,
        "contract": {"enforced": False, "alias_types": True}, "access": "protected",
    }  # fmt: skip
    return {
        "resource_type": "model", "name": name, "alias": name, "package_name": "shop", "language": "sql",
        "original_file_path": f"models/{name}.sql", "raw_code": code, "depends_on": {"nodes": list(reads), "macros": []},
        "columns": {}, "constraints": [], "version": None, "config": {**defaults, **config}, **more,
    }  # fmt: skip


def dbt_source(name: str, columns: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """A source's node."""
    return {
        "resource_type": "source", "source_name": "raw", "name": name, "identifier": name, "schema": "raw",
        "package_name": "shop", "columns": {c: {"name": c, "data_type": t} for c, t in columns.items()},
        "config": {"event_time": "day"},
        **more,
    }  # fmt: skip


def dbt_test(
    kind: str, model: str, column: str, *, config: Mapping[str, Any] | None = None, **arguments: Any
) -> dict[str, Any]:
    """A generic test's node."""
    defaults = {
        "enabled": True, "severity": "ERROR", "store_failures": None, "where": None, "limit": None, "tags": [],
        "fail_calc": "count(*)", "warn_if": "!= 0", "error_if": "!= 0", "materialized": "test", "meta": {},
    }  # fmt: skip
    others = [arguments.pop("other")] if "other" in arguments else []
    return {
        "resource_type": "test", "name": f"{kind}_{column}", "original_file_path": "models/schema.yml",
        "package_name": "shop", "attached_node": model, "depends_on": {"nodes": [*others, model]},
        "test_metadata": {"name": kind, "namespace": None, "kwargs": {"column_name": column, "model": "…", **arguments}},
        "config": {**defaults, **(config or {})},
    }  # fmt: skip


ORDERS = {
    "id": "int",
    "customer_id": "int",
    "day": "date",
    "moment": "timestamp",
    "amount": "decimal(12,2)",
    "status": "varchar",
}


def manifest(
    folder: Path, nodes: Sequence[Mapping[str, Any]], *, sources: Sequence[Mapping[str, Any]] = (), **more: Any
) -> Path:
    """A manifest.json with these nodes and the source raw.orders."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "manifest.json"
    every = [*sources, dbt_source("orders", ORDERS)]
    data = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "adapter_type": "duckdb",
            "project_name": "shop",
        },
        "nodes": {f"{n['resource_type']}.shop.{n['name']}": n for n in nodes},
        "sources": {f"source.shop.raw.{n['name']}": n for n in reversed(every)},
        "macros": {}, "exposures": {}, "disabled": {}, **more,
    }  # fmt: skip
    file.write_text(json.dumps(data), encoding="utf-8")
    return file
