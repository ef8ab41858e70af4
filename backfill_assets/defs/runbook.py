"""How does somebody get the runbook of a plan in Dagster? A job that does what `backfill runbook` does."""

from __future__ import annotations

from typing import Any

import dagster as dg

from backfill_assets.app.runbook import look_for_runbook, write_runbook
from backfill_assets.defs.job import Launched, job


@job(
    "runbook",
    step="write_runbook",
    description="Make a plan's runbook, its safety checklist and the note for its readers.",
)
def runbook_job(run: Launched) -> None:
    """Makes a plan's runbook, checklist and notes; the step's output has them, and files do where a place is named."""
    found = look_for_runbook(run.context, run.said.get("plan"))
    written = write_runbook(found, run.said["out"]) if run.said.get("out") else ()
    metadata: dict[str, dg.MetadataValue[Any] | str] = {"plan": found.plan}
    metadata |= {name.removesuffix(".md"): dg.MetadataValue.md(text) for name, text in found.documents.items()}
    run.step.add_output_metadata(metadata)
    left = sum(line.state == "open" for line in found.lines)
    run.log.info(f"plan {found.plan}: {left} of {len(found.lines)} lines of the checklist are open")
    for path in written:
        run.log.info(f"wrote {path}")
