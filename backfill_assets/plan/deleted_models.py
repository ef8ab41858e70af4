"""What does an environment show that the code does not have any more? Nothing removes it: somebody has to be told."""

from __future__ import annotations

from backfill_assets.core.model import Project
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import PlanWarning
from backfill_assets.plan.taking_out import taking_out


def deleted_models(project: Project, facts: Facts) -> tuple[PlanWarning, ...]:
    """A warning for each model that is shown and that the code does not have."""
    pointers = facts.environment.pointers
    return tuple(
        _warning(project, facts, name, [n for n in project.models if project.fingerprints[n] == pointer.version])
        for name, pointer in sorted(pointers.items())
        if name not in project.models
    )


def _warning(project: Project, facts: Facts, name: str, alike: list[str]) -> PlanWarning:
    """`alike`: the models that have its version under another name."""
    shown = facts.environment
    place, out = shown.name, taking_out(project, shown, facts.shown.reads, [name])
    new = [n for n in alike if n not in shown.pointers]
    why = "they run what was promoted; no plan is about it"
    fix = f"put its file back, if that was not meant; else take it out of {place}: {out.steps}"
    if new:
        names = ", ".join(new)
        why = f"{why}. {names}, which is new, has its query: it looks renamed, and is built from nothing beside it"
        rows = f"let readers of {name} move to {names}, which has its query"
        fix = f"name the file {name} again; or {rows}; then {out.steps}"
    elif alike:
        names = ", ".join(alike)
        why = f"{why}. {names} has its query: it looks renamed, and both are shown"
        fix = f"let readers of {name} move to {names}, which has its query; then {out.steps}"
    return PlanWarning(
        model=name,
        place="models",
        what=f"{place} shows {name}, which the code does not have any more: routine runs go on extending it",
        why=why,
        fix=fix,
    )
