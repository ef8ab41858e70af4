"""What does a plan's own environment show? Its versions as far as they are complete, and prod's of everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import Patch
from backfill_assets.promote.pointers import patched, pin
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.plans import PlanTarget
from backfill_assets.state.versions import Version


def candidate(
    project: Project,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    targets: Sequence[PlanTarget],
    seen: Environment,
    patches: Mapping[str, Patch],
) -> dict[str, Pointer]:
    """Model → pointer. `facts` are about the plan's environment, `seen` is the candidate as it is now.

    `patches` are the parts of history that the plan replaces: its models keep the rows around them.

    Only green intervals of the targets are shown. A new version without any is not shown at all: prod's rows in its
    place would be taken for new ones. A target that the loaded code does not know stays as it is seen.
    """
    pointers = dict(facts.environment.pointers)
    for target in targets:
        shown = pointers.pop(target.model, None)
        have = known_target(project, facts, target)
        if have is None:
            pointer = seen.pointers.get(target.model)
        elif logic_of(target.version) != target.version:
            patch = Patch(version=target.version, intervals=have.green)
            again = bool(shown and have.green)
            pointer = patched(project, facts, versions, target.model, patch) if again else shown
        elif (forward := patches.get(target.model)) is not None:
            part = replace(forward, intervals=forward.intervals & have.green)
            pointer = patched(project, facts, versions, target.model, part) if part.intervals else None
        else:
            pointer = pin(project, facts, versions, target.model, have.green) if have.green else None
        if pointer is not None:
            pointers[target.model] = pointer
    return pointers


def known_target(project: Project, facts: Facts, target: PlanTarget) -> Coverage | None:
    """What there is of a target; None when the facts are not about it: it is a version of other code."""
    fingerprint = project.fingerprints.get(target.model)
    if fingerprint == target.version:
        return facts.tables.coverage[target.model]
    # A revision of what the code says may have no batch yet.
    return facts.tables.patched.get(target.version, Coverage() if fingerprint == logic_of(target.version) else None)
