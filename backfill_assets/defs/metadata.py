"""What does the UI say about a table? Its columns with their lineage, owners, code, facts of the header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.utils import is_valid_owner
from dagster._utils.tags import is_valid_strict_tag_value, is_valid_tag_key

from backfill_assets.core.model import Column, Model, Project
from backfill_assets.defs.names import model_key, source_key
from backfill_assets.state.versions import table_path

CODE_VERSION_TAG = "dagster/code_version"
DATA_VERSION_TAG = "dagster/data_version"
"""The fingerprint is both: what computed the rows decides them. Dagster finds partitions by this tag only."""


def model_metadata(model: Model, project: Project) -> dict[str, Any]:
    """What the asset's page shows."""
    version = project.fingerprints[model.name]
    table = table_path(project.settings.warehouse, model.name, version)
    found: dict[str, Any] = {
        "dagster/column_schema": column_schema(project.columns[model.name], model.grain),
        "dagster/table_name": f"delta.`{table}`",
        "version": version,
        "cadence": model.cadence.value,
        "start": f"{model.start:%Y-%m-%d %H:%M} {model.time_zone or 'UTC'}",
        "time column": model.time_column,
        "grain": ", ".join(model.grain),
        "batches": f"{_size(model)}, {model.batch_concurrency} at a time",
    }
    if model.write == "merge":
        found["write"] = f"merge on {', '.join(model.grain)}"
    if model.time_zone:
        found["time zone"] = f"local days of {model.time_zone}, by their dates"
    if model.end:
        found["end"] = f"{model.end:%Y-%m-%d %H:%M} {model.time_zone or 'UTC'}"
    if model.ready:
        found["ready"] = f"{model.ready} (UTC)"
    if model.lookback:
        found["lookback"] = f"{model.lookback} intervals"
    if lineage := column_lineage(model, project):
        found["dagster/column_lineage"] = lineage
    return found


def _size(model: Model) -> str:
    return f"{model.batch_size} intervals each" if model.batch_size else "as long as a plan finds"


def column_schema(columns: tuple[Column, ...], grain: tuple[str, ...] = ()) -> dg.TableSchema:
    """Columns with types and descriptions; the grain's are marked."""
    key = {name.lower() for name in grain}
    return dg.TableSchema(
        [
            dg.TableColumn(
                c.name,
                type=c.type or "unknown",
                description=c.description or None,
                tags={"grain": ""} if c.name.lower() in key else None,
            )
            for c in columns
        ]
    )


def built_schema(
    built: Sequence[tuple[str, str]], declared: Sequence[Column], grain: tuple[str, ...] = ()
) -> dg.TableSchema:
    """The schema of a table that exists: its names and types (`built`), with the descriptions that the project has."""
    described = {c.name.lower(): c.description for c in declared}
    columns = tuple(Column(name=n, type=t, description=described.get(n.lower(), "")) for n, t in built)
    return column_schema(columns, grain)


def column_lineage(model: Model, project: Project) -> dg.TableColumnLineage | None:
    """Which columns each column is computed from; None when nobody knows."""
    lineage = project.lineage.get(model.name)
    if not lineage:
        return None
    return dg.TableColumnLineage(
        {
            column: [
                dg.TableColumnDep(
                    asset_key=(model_key if ref.table in project.models else source_key)(project, ref.table),
                    column_name=ref.column,
                )
                for ref in refs
            ]
            for column, refs in lineage.items()
        }
    )


def view_lineage(project: Project, model: str, columns: Iterable[str]) -> dg.TableColumnLineage:
    """A view's columns are the model's."""
    key = model_key(project, model)
    return dg.TableColumnLineage({c: [dg.TableColumnDep(asset_key=key, column_name=c)] for c in columns})


def describe_model(model: Model) -> str:
    """The description, and the code below it."""
    return "\n\n".join(part for part in (model.description, f"```{model.language}\n{model.code.strip()}\n```") if part)


def split_owner(owner: str) -> tuple[list[str] | None, dict[str, Any]]:
    """Dagster's owners are e-mail addresses or `team:x`; any other is shown as metadata.

    >>> split_owner("ann@example.com"), split_owner("ann")
    ((['ann@example.com'], {}), (None, {'owner': 'ann'}))
    """
    if not owner:
        return None, {}
    return ([owner], {}) if is_valid_owner(owner) else (None, {"owner": owner})


def split_tags(tags: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Dagster's tags are short and hold letters, digits, `_`, `-` and `.` only; any other is shown as metadata.

    >>> split_tags({"team": "growth", "why": "asked for by the CFO"})
    ({'team': 'growth'}, {'why': 'asked for by the CFO'})
    """
    good = {k: v for k, v in tags.items() if is_valid_tag_key(k) and is_valid_strict_tag_value(v)}
    return good, {k: v for k, v in tags.items() if k not in good}
