"""How does somebody get the packet of a plan or a release in Dagster? A job that does what `backfill evidence` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg

from backfill_assets.app.evidence import ReleaseEvidence, plan_or_release
from backfill_assets.core.escaping import markdown
from backfill_assets.defs.job import Launched, job
from backfill_assets.defs.links import review_link
from backfill_assets.evidence.write import PAGE, RELEASE_PAGE

if TYPE_CHECKING:
    from backfill_assets.evidence.make import Evidence  # pydantic: loading has no need of it


@job(
    "evidence",
    step="write_packet",
    description="Write the packet of a plan, or find that of a release: what, who, tests.",
)
def evidence_job(run: Launched) -> None:
    """Writes a plan's packet, or finds a release's; the step's output says where it is, and the answers at a glance."""
    found = plan_or_release(run.context, run.said.get("target"))
    told = _of_release(found) if isinstance(found, ReleaseEvidence) else _of_plan(found)
    run.step.add_output_metadata(told.metadata)
    run.log.info(told.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    metadata: dict[str, dg.MetadataValue[Any] | str]
    line: str


def _of_plan(made: Evidence) -> _Told:
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
            **review_link("plan", made.packet.plan.id),
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
