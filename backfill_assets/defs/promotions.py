"""What does an environment show, as Dagster should know it? A materialization of each prod view that moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.shown_release import LetThrough, ShownRelease, shown_releases
from backfill_assets.core.escaping import markdown, visible
from backfill_assets.core.intervals import NOTHING, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.defs.links import review_link
from backfill_assets.defs.metadata import built_schema, view_lineage
from backfill_assets.defs.names import view_key
from backfill_assets.evidence.formatting import moment
from backfill_assets.evidence.shortened import shortened
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import Release
from backfill_assets.state.tables import rows_of, still_there

POINTER = "pointer"


def unreported_views(context: Context, instance: dg.DagsterInstance) -> list[dg.AssetMaterialization]:
    """Events for the views whose pointer is not the one that Dagster knows."""
    shown = context.control.environments.read(context.environment)
    moved = {
        name: known
        for name, pointer in sorted(shown.pointers.items())
        if name in context.project.models and (known := _known(instance, view_key(context.project, name))) != pointer.id
    }
    if not moved:
        return []
    releases, provisional = context.control.releases.all(shown.name), context.provisional(shown)
    told = [name for name, known in moved.items() if known not in _before_copies(releases, name)]
    why = shown_releases(context, releases, {name: shown.releases[name] for name in told})
    return [
        view_event(context, shown, shown.pointers[name], provisional.get(name, NOTHING), why.get(name)) for name in told
    ]


def _before_copies(releases: Sequence[Release], name: str) -> set[str]:
    """The pointers whose rows are what is shown now, copied since."""
    moves = (m for release in reversed(releases) for m in release.moves if m.model == name)
    return {m.before.id for m in takewhile(lambda m: m.compaction, moves) if m.before}


def view_event(
    context: Context, shown: Environment, pointer: Pointer, provisional: Ranges, why: ShownRelease | None
) -> dg.AssetMaterialization:
    """What the environment shows of one model since its last promotion, and by whose word."""
    model, columns = context.project.models[pointer.model], context.project.columns[pointer.model]
    return dg.AssetMaterialization(
        view_key(context.project, pointer.model),
        description=f"{shown.name} shows version {pointer.version} since release {shown.releases[pointer.model]}",
        metadata={
            "release": shown.releases[pointer.model],
            **(release_metadata(why) if why else {}),
            "version": ", ".join(dict.fromkeys(s.version for s in pointer.segments)),
            "range": str(pointer.covers),
            "provisional": str(provisional),
            "dagster/row_count": rows_shown(context, pointer),
            "dagster/column_schema": built_schema(pointer.columns, columns, model.grain),
            "dagster/column_lineage": view_lineage(
                context.project, pointer.model, [name for name, _ in pointer.columns]
            ),
            "segments": len(pointer.segments),
            POINTER: pointer.id,
        },
    )


def release_metadata(why: ShownRelease) -> dict[str, Any]:
    """Who moved it and when, of which plan, who approved that, and the release's packet."""
    decided = why.decided
    found: dict[str, Any] = {
        "released": f"{moment(why.release.at)} by {visible(why.release.by) or 'nobody knows whom'}"
    }
    if why.release.back_to:
        found["back to"] = why.release.back_to
    if decided is not None:
        found["plan"] = why.plan
        if decided.id != why.release.id:
            found["plan released"] = f"{moment(decided.at)} by {visible(decided.by)}, as release {decided.id}"
        found["approved"] = dg.MetadataValue.md(_approved(why.approvals, off=decided.approvals_off))
    if why.packet:
        found["packet"] = dg.MetadataValue.md(shortened(why.packet, why.release.id))
    return found | (review_link("plan", why.plan) if why.plan else review_link())


def _approved(approvals: Sequence[LetThrough], *, off: bool) -> str:
    if not approvals:
        return "approvals were off" if off else "nobody's approval was needed"
    return "\n".join(
        f"- {markdown(a.by)}{f' for {markdown(a.owner)}' if a.owner not in ('', a.by) else ''}, {moment(a.at)}"
        + (f": {markdown(a.reason)}" if a.reason else "")
        for a in approvals
    )


def rows_shown(context: Context, pointer: Pointer) -> int:
    """How many rows the pointer shows, from file statistics."""
    log, model = context.log, pointer.model
    return sum(rows_of(log, model, still_there(log, model, pointer.segments)).values())


def _known(instance: dg.DagsterInstance, key: dg.AssetKey) -> object:
    entry = instance.get_latest_materialization_event(key)
    materialization = entry.asset_materialization if entry else None
    found = materialization.metadata.get(POINTER) if materialization else None
    return found.value if found else None
