"""What does Dagster get to know of a diff? An observation of each model that was compared, with its tables."""

from __future__ import annotations

from typing import Any

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.diff import find_drift
from backfill_assets.app.prove import prove_plan
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.compare.diff import Diff, ModelDiff
from backfill_assets.compare.markdown import model_markdown
from backfill_assets.compare.words import row_line
from backfill_assets.core.errors import BackfillError
from backfill_assets.defs.metadata import model_key
from backfill_assets.defs.report import Step
from backfill_assets.defs.texts import Log
from backfill_assets.plan.stages import Plan
from backfill_assets.state.proofs import DIFF


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


def log_proofs(workspace: Context, step: Step, plan: str, made: Plan) -> None:
    """Compare a plan's candidate with what is shown, ask its consumers, and log what came of it.

    What was built is as good without it: when it cannot be compared, the log says why, and the gate stays closed.
    """
    try:
        proofs = prove_plan(workspace, plan, find_drift(workspace, made))
    except BackfillError as error:
        Log(step).warning(f"not compared with what is shown: {error}")
        return
    for proof in proofs:
        if proof.kind == DIFF:
            for event in diff_events(diff_from_json(proof.document)):
                step.log_event(event)
        for finding in proof.findings:
            Log(step).warning(f"{finding.name}: {finding.text}")
