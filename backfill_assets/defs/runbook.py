"""How does somebody get the runbook of a plan in Dagster? A job that does what `backfill runbook` does."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.runbook import look_for_runbook, write_runbook
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.safe_log import Log


def runbook_job(workspace: Context) -> dg.JobDefinition:
    """Makes a plan's runbook, checklist and notes; the step's output has them, and files do where a place is named."""

    @dg.op(name="write_runbook", out=dg.Out(dg.Nothing), config_schema=config_fields("runbook"))
    def write(context: dg.OpExecutionContext) -> None:
        asked = given("runbook", context.op_config)
        with short_failures():
            found = look_for_runbook(workspace, asked.get("plan"))
            written = write_runbook(found, asked["out"]) if asked.get("out") else ()
        metadata: dict[str, dg.MetadataValue | str] = {"plan": found.plan}
        metadata |= {name.removesuffix(".md"): dg.MetadataValue.md(text) for name, text in found.documents.items()}
        context.add_output_metadata(metadata)
        left = sum(line.state == "open" for line in found.lines)
        Log(context).info(f"plan {found.plan}: {left} of {len(found.lines)} lines of the checklist are open")
        for path in written:
            Log(context).info(f"wrote {path}")

    @dg.job(name="runbook", description="Make a plan's runbook, its safety checklist and the note for its readers.")
    def runbook() -> None:
        write()

    return runbook
