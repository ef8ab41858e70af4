"""What does Dagster get to know of a diff? An observation of each model that was compared, with its tables."""

from __future__ import annotations

from typing import Any

import dagster as dg

from backfill_assets.app.apply import Checked
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.compare.diff import Diff, ModelDiff
from backfill_assets.compare.diff_text import old_side, row_line
from backfill_assets.compare.markdown import model_markdown
from backfill_assets.core.model import Project
from backfill_assets.defs.names import model_key
from backfill_assets.defs.report import Step
from backfill_assets.defs.safe_log import Log
from backfill_assets.state.proofs import DIFF


def diff_metadata(model: ModelDiff, old: str, new: str) -> dict[str, Any]:
    """A model's diff, for its asset's page: the counts as numbers that Dagster plots, the rest as Markdown."""
    rows, old = model.total.rows, old_side(model, old)
    return {
        "diff": dg.MarkdownMetadataValue(model_markdown(model, old, new)),
        "sides": f"{old} → {new}",
        "rows changed": rows.changed,
        "rows added": rows.added,
        "rows removed": rows.removed,
        "rows unchanged": rows.unchanged + model.proved,
        "columns moved": ", ".join(m.column for m in model.moved) or "none",
    }


def diff_events(project: Project, diff: Diff) -> list[dg.AssetObservation]:
    """An observation of each model that has something to compare."""
    return [
        dg.AssetObservation(
            model_key(project, model.model),
            description=f"{old_side(model, diff.old)} → {diff.new}: {row_line(model)}",
            metadata=diff_metadata(model, diff.old, diff.new),
        )
        for model in diff.models
        if model.compared or model.proofs
    ]


def log_checked(project: Project, step: Step, checked: Checked) -> None:
    """Log what came of comparing a plan's rows with what is shown, or why they could not be compared."""
    if checked.unproved:
        Log(step).warning(f"not compared with what is shown: {checked.unproved}")
    for obstacle in checked.proved.in_the_way:
        Log(step).warning(f"it cannot be shown, so it was not compared: {obstacle}")
    for proof in checked.proved.proofs:
        if proof.kind == DIFF:
            for event in diff_events(project, diff_from_json(proof.document)):
                step.log_event(event)
        for finding in proof.findings:
            Log(step).warning(f"{finding.name}: {finding.text}")
