"""How does somebody get a plan's packet in Dagster? A job with the same effect as `backfill evidence`."""

# No `from __future__ import annotations`: Dagster reads the annotations of `context` and `config`.

import dagster as dg
from pydantic import Field

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.texts import Log
from backfill_assets.inert import markdown


class EvidenceConfig(dg.Config):
    """Which plan the packet is of."""

    plan: str = Field(default="", description="The plan's id, or the beginning of it; empty: the newest one.")


def evidence_job(workspace: Workspace) -> dg.JobDefinition:
    """Writes a plan's packet; the step's output says where it is, and the answers at a glance."""

    @dg.op(name="write_packet", out=dg.Out(dg.Nothing))
    def write_packet(context: dg.OpExecutionContext, config: EvidenceConfig) -> None:
        from backfill_assets.evidence.write import PAGE

        with short_failures():
            require_lasting(context.instance)
            made = workspace.evidence(config.plan or None)
        said = made.packet.summary
        parts = {"changed": said.changed, "depends": said.depends, "tests": said.tests, "accepted": said.accepted}
        lists = {name: "\n".join(f"- {markdown(line)}" for line in lines) for name, lines in parts.items() if lines}
        context.add_output_metadata(
            {
                "plan": made.packet.plan.id,
                "headline": said.headline,
                "page": dg.MetadataValue.path(f"{made.location}/{PAGE}"),
                "manifest": made.digest,
                **{name: dg.MetadataValue.md(text) for name, text in lists.items()},
            }
        )
        Log(context).info(f"plan {made.packet.plan.id}: {said.headline} {made.location}/{PAGE}")

    @dg.job(name="evidence", description="Write the packet of a plan: what changes, who depends, what was tested.")
    def evidence() -> None:
        write_packet()

    return evidence
