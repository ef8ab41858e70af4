"""What does an environment show, as Dagster should know it? A materialization of each prod view that moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.defs.metadata import built_schema, view_lineage
from backfill_assets.defs.names import view_key
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import Release
from backfill_assets.state.tables import rows_of, still_there

POINTER = "pointer"


def unreported_views(workspace: Context, instance: dg.DagsterInstance) -> list[dg.AssetMaterialization]:
    """Events for the views whose pointer is not the one that Dagster knows."""
    shown = workspace.control.environments.read(workspace.environment)
    moved = {
        name: known
        for name, pointer in sorted(shown.pointers.items())
        if name in workspace.project.models
        and (known := _known(instance, view_key(workspace.project, name))) != pointer.id
    }
    releases = workspace.control.releases.all(shown.name) if moved else []
    provisional = workspace.provisional(shown) if moved else {}
    return [
        view_event(workspace, shown, shown.pointers[name], provisional.get(name, NOTHING))
        for name, known in moved.items()
        if known not in _before_copies(releases, name)
    ]


def _before_copies(releases: Sequence[Release], name: str) -> set[str]:
    """The pointers whose rows are what is shown now, copied since."""
    moves = (m for release in reversed(releases) for m in release.moves if m.model == name)
    return {m.before.id for m in takewhile(lambda m: m.compaction, moves) if m.before}


def view_event(
    workspace: Context, shown: Environment, pointer: Pointer, provisional: Ranges
) -> dg.AssetMaterialization:
    """What the environment shows of one model since its last promotion."""
    model, columns = workspace.project.models[pointer.model], workspace.project.columns[pointer.model]
    return dg.AssetMaterialization(
        view_key(workspace.project, pointer.model),
        description=f"{shown.name} shows version {pointer.version} since release {shown.releases[pointer.model]}",
        metadata={
            "release": shown.releases[pointer.model],
            "version": ", ".join(dict.fromkeys(s.version for s in pointer.segments)),
            "range": str(pointer.covers),
            "provisional": str(provisional),
            "dagster/row_count": rows_shown(workspace, pointer),
            "dagster/column_schema": built_schema(pointer.columns, columns, model.grain),
            "dagster/column_lineage": view_lineage(
                workspace.project, pointer.model, [name for name, _ in pointer.columns]
            ),
            "segments": len(pointer.segments),
            POINTER: pointer.id,
        },
    )


def rows_shown(workspace: Context, pointer: Pointer) -> int:
    """How many rows the pointer shows, from file statistics."""
    log, model = workspace.log, pointer.model
    return sum(rows_of(log, model, still_there(log, model, pointer.segments)).values())


def _known(instance: dg.DagsterInstance, key: dg.AssetKey) -> object:
    entry = instance.get_latest_materialization_event(key)
    materialization = entry.asset_materialization if entry else None
    found = materialization.metadata.get(POINTER) if materialization else None
    return found.value if found else None
