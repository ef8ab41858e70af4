"""What does Dagster get to know of a diff? An observation of each model that was compared, with its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.compare.diff import Diff, ModelDiff
from backfill_assets.compare.markdown import model_markdown
from backfill_assets.compare.words import row_line
from backfill_assets.defs.metadata import model_key
from backfill_assets.defs.report import Step
from backfill_assets.errors import BackfillError


def diff_metadata(model: ModelDiff, old: str, new: str) -> dict[str, Any]:
    """A model's diff, for its asset's page: the counts as numbers that Dagster plots, the rest as Markdown."""
    rows = model.total.rows
    return {
        "diff": dg.MarkdownMetadataValue(model_markdown(model, old, new)),
        "sides": f"{old} → {new}",
        "rows changed": rows.changed,
        "rows added": rows.added,
        "rows removed": rows.removed,
        "rows unchanged": rows.unchanged + model.proved,
        "columns moved": ", ".join(m.column for m in model.moved) or "none",
    }


def diff_events(diff: Diff) -> list[dg.AssetObservation]:
    """An observation of each model that has something to compare."""
    return [
        dg.AssetObservation(
            model_key(model.model),
            description=f"{diff.old} → {diff.new}: {row_line(model)}",
            metadata=diff_metadata(model, diff.old, diff.new),
        )
        for model in diff.models
        if model.compared or model.proofs
    ]


def log_diff(workspace: Workspace, step: Step, plan: str, models: Sequence[str]) -> None:
    """Compare a plan's candidate with what its environment shows of these models, and log what is different.

    What was built is as good without it: when it cannot be compared, the log says why.
    """
    shown = workspace.control.environments.read(workspace.environment).pointers
    asked = [name for name in models if name in shown]
    if not asked:
        return
    try:
        found = workspace.diff(plan, models=asked)
    except BackfillError as error:
        step.log.warning(f"no diff: {error}")
        return
    for event in diff_events(found):
        step.log_event(event)
