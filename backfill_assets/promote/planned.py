"""What would a stored plan make the environment show now? The proposal of its request, for the plan's own targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import ranges_from_json
from backfill_assets.core.model import Project
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.patch import Patch, forward
from backfill_assets.plan.plan import Facts
from backfill_assets.plan.stages import request_from_json
from backfill_assets.promote.candidate import known
from backfill_assets.promote.proposal import Proposal, propose
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.versions import Version


def propose_plan(
    project: Project,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    record: PlanRecord,
    document: Mapping[str, Any],
) -> Proposal:
    """The plan's models as they are now. `document` is what the plan said when it was stored.

    Days that the environment gained meanwhile are kept. Raises PlanError when the loaded code is not the plan's.
    """
    for target in record.targets:
        if target.intervals and known(project, facts, target) is None:
            raise PlanError(
                f"plan {record.id} is about {target.model} {target.version}, which the loaded code does not know",
                why=f"the code says {project.fingerprints.get(target.model, 'nothing of it')}",
                fix="check out the code that the plan was made from, or make a new plan",
            )
    patches = stored_patches(project, facts, document)
    request = request_from_json(document.get("request", {}))
    models = tuple(name for name in record.versions if name not in document.get("held", ()))
    return propose(facts.bounded(project), facts, versions, request, models, patches)


def stored_patches(project: Project, facts: Facts, document: Mapping[str, Any]) -> dict[str, Patch]:
    """The parts of history that a stored plan replaces, over what the environment shows by now."""
    project = facts.bounded(project)
    found: dict[str, Patch] = {}
    for name, said in document.get("patches", {}).items():
        version, shown = said["version"], facts.environment.pointers.get(name)
        intervals = ranges_from_json(said["intervals"])
        if shown is None or intervals.span is None:
            continue
        if version == logic_of(version):
            found |= forward(project, facts.environment, [name], intervals.span.start, facts.now)
        else:
            found[name] = Patch(version=version, intervals=intervals, below=shown.segments)
    return found
