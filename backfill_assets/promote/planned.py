"""What would a stored plan make the environment show now? The proposal of its request, for the plan's own targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backfill_assets.core.errors import PlanError
from backfill_assets.core.model import Project
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.commands import other_code_remedy
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import Patch, forward
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.candidate import known_target
from backfill_assets.promote.overtaken import refuse_overtaken
from backfill_assets.promote.proposal import Proposal, propose
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.versions import Version


def propose_plan(
    project: Project,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    record: PlanRecord,
    stored: Plan | None,
) -> Proposal:
    """The plan's models as they are now. `stored` is the plan as it was opened.

    Days that the environment gained meanwhile are kept. Raises PlanError when the loaded code is not the plan's.
    """
    refuse_other_code(project, facts, record)
    refuse_overtaken(facts.environment, record, stored)
    patches = stored_patches(project, facts, stored) if stored else {}
    request = stored.request if stored else Request()
    models = tuple(name for name in record.versions if not stored or name not in stored.held)
    return propose(facts.bounded(project), facts, versions, request, models, patches)


def refuse_dual_run(record: PlanRecord, stored: Plan | None) -> None:
    """Raise PlanError where a stored plan only compares: nothing of it is ever shown."""
    if stored and record.versions and set(record.versions) <= set(stored.held):
        raise PlanError(
            f"plan {record.id} is a dual run, which moves nothing",
            why=f"what it builds is compared with what {record.environment} shows, and that stays",
            fix=f"to show it: backfill apply --select {','.join(record.versions)}, which opens a plan that does",
        )


def refuse_other_code(project: Project, facts: Facts, record: PlanRecord) -> None:
    """Raise PlanError when the loaded code is not the plan's."""
    for target in record.targets:
        if known_target(project, facts, target) is None:
            raise PlanError(
                f"plan {record.id} is about {target.model} {target.version}, which the loaded code does not know",
                why=f"the code says {project.fingerprints.get(target.model, 'nothing of it')}",
                fix=other_code_remedy(record),
            )


def stored_patches(project: Project, facts: Facts, stored: Plan) -> dict[str, Patch]:
    """The parts of history that a stored plan replaces, over what the environment shows by now."""
    project = facts.bounded(project)
    found: dict[str, Patch] = {}
    for name, patch in stored.patches.items():
        shown, span = facts.environment.pointers.get(name), patch.intervals.span
        if shown is None or span is None:
            continue
        if patch.version == logic_of(patch.version):
            found |= forward(project, facts.environment, [name], span.start, facts.now)
        else:
            found[name] = replace(patch, below=shown.segments)
    return found
