"""What does an environment show that the code does not have any more? Nothing removes it: somebody has to be told."""

from __future__ import annotations

from backfill_assets.core.model import Project
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import PlanWarning
from backfill_assets.state.releases import NOTHING_SHOWN


def deleted_models(project: Project, facts: Facts) -> tuple[PlanWarning, ...]:
    """A warning for each model that is shown and that the code does not have."""
    pointers, place = facts.environment.pointers, facts.environment.name
    return tuple(
        _warning(place, name, [n for n in project.models if n not in pointers and project.fingerprints[n] == p.version])
        for name, p in sorted(pointers.items())
        if name not in project.models
    )


def _warning(place: str, name: str, alike: list[str]) -> PlanWarning:
    why = "they run what was promoted; no plan is about it"
    out = f"backfill rollback {NOTHING_SHOWN} --select {name}"
    fix = f"put its file back, if that was not meant; else take it out of {place}: {out}"
    if alike:
        new = ", ".join(alike)
        why = f"{why}. {new}, which is new, has its query: it looks renamed, and is built from nothing beside it"
        fix = f"name the file {name} again; or let readers of {name} move to {new}, which has the same rows; then {out}"
    return PlanWarning(
        model=name,
        place="models",
        what=f"{place} shows {name}, which the code does not have any more: routine runs go on extending it",
        why=why,
        fix=fix,
    )
