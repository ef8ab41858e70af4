"""How does somebody get the packet of a plan or a release in Dagster? A job that does what `backfill evidence` does."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context`.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import ReleaseEvidence, plan_or_release
from backfill_assets.core.escaping import markdown
from backfill_assets.defs.config import config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.safe_log import Log
from backfill_assets.evidence.write import PAGE, RELEASE_PAGE

if TYPE_CHECKING:
    from backfill_assets.evidence.make import Evidence  # pydantic: loading has no need of it


def evidence_job(workspace: Context) -> dg.JobDefinition:
    """Writes a plan's packet, or finds a release's; the step's output says where it is, and the answers at a glance."""

    @dg.op(name="write_packet", out=dg.Out(dg.Nothing), config_schema=config_fields("evidence"))
    def write_packet(context: dg.OpExecutionContext) -> None:
        with short_failures():
            require_lasting(context.instance)
            found = plan_or_release(workspace, given("evidence", context.op_config).get("target"))
        told = _of_release(found) if isinstance(found, ReleaseEvidence) else _of_plan(found)
        context.add_output_metadata(told.metadata)
        Log(context).info(told.line)

    @dg.job(name="evidence", description="Write the packet of a plan, or find that of a release: what, who, tests.")
    def evidence() -> None:
        write_packet()

    return evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    metadata: dict[str, dg.MetadataValue[Any] | str]
    line: str


def _of_plan(made: "Evidence") -> _Told:
    said, page = made.packet.summary, f"{made.location}/{PAGE}"
    parts = {
        "changed": said.changed,
        "depends": said.depends,
        "tests": said.tests,
        "accepted": said.accepted,
        "mind": said.mind,
    }
    return _Told(
        metadata={
            "plan": made.packet.plan.id,
            "headline": said.headline,
            "page": dg.MetadataValue.path(page),
            "manifest": made.digest,
            **{name: _listed(lines) for name, lines in parts.items() if lines},
        },
        line=f"plan {made.packet.plan.id}: {said.headline} {page}",
    )


def _of_release(found: ReleaseEvidence) -> _Told:
    lines, page = list(found.said["summary"]), f"{found.location}/{RELEASE_PAGE}"
    return _Told(
        metadata={
            "release": str(found.said["release"]),
            "headline": lines[0],
            "page": dg.MetadataValue.path(page),
            "manifest": found.digest,
            "said": _listed(lines),
        },
        line=f"release {found.said['release']}: {lines[0]} {page}",
    )


def _listed(lines: Sequence[str]) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.md("\n".join(f"- {markdown(line)}" for line in lines))
