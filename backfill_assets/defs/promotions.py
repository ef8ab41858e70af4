"""What does an environment show, as Dagster should know it? A materialization of each prod view that moved."""

from __future__ import annotations

import dagster as dg

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.defs.metadata import built_schema, view_key
from backfill_assets.state.environment import Environment, Pointer

POINTER = "pointer"


def unreported_views(workspace: Workspace, instance: dg.DagsterInstance) -> list[dg.AssetMaterialization]:
    """Events for the views whose pointer is not the one that Dagster knows."""
    shown = workspace.control.environments.read(workspace.environment)
    return [
        view_event(workspace, shown, pointer)
        for name, pointer in sorted(shown.pointers.items())
        if name in workspace.project.models and _known(instance, shown.name, name) != pointer.id
    ]


def view_event(workspace: Workspace, shown: Environment, pointer: Pointer) -> dg.AssetMaterialization:
    """What the environment shows of one model since its last promotion."""
    model, columns = workspace.project.models[pointer.model], workspace.project.columns[pointer.model]
    return dg.AssetMaterialization(
        view_key(shown.name, pointer.model),
        description=f"{shown.name} shows version {pointer.version} since release {shown.releases[pointer.model]}",
        metadata={
            "release": shown.releases[pointer.model],
            "version": ", ".join(dict.fromkeys(s.version for s in pointer.segments)),
            "range": str(pointer.covers),
            "dagster/row_count": rows_shown(workspace, pointer),
            "dagster/column_schema": built_schema(pointer.columns, columns, model.grain),
            "segments": len(pointer.segments),
            POINTER: pointer.id,
        },
    )


def rows_shown(workspace: Workspace, pointer: Pointer) -> int:
    """How many rows the pointer shows, from file statistics."""
    return sum(
        rows
        for segment in pointer.segments
        if workspace.log.head(pointer.model, segment.version) >= segment.commit  # else somebody deleted the table
        for instant, rows in workspace.log.rows(pointer.model, segment.version, segment.commit).items()
        if segment.interval.start <= instant < segment.interval.end
    )


def _known(instance: dg.DagsterInstance, environment: str, model: str) -> object:
    entry = instance.get_latest_materialization_event(view_key(environment, model))
    materialization = entry.asset_materialization if entry else None
    found = materialization.metadata.get(POINTER) if materialization else None
    return found.value if found else None
