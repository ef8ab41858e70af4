"""Can what a request is about be computed, as its sources are by now? If not, that is said before all else."""

from __future__ import annotations

from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import Project
from backfill_assets.core.reach import reach
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Request


def faulty_words(project: Project) -> list[str]:
    """A line a model that cannot be computed: why, and what says more."""
    return [
        f"{name} cannot be computed, as its sources are by now: {problems[0].place(project.root)}: {problems[0].what}; "
        f"`backfill plan --select {name}` says more"
        for name, problems in project.faults.items()
    ]


def refuse_faulty(project: Project, request: Request) -> None:
    """Raise ProjectError where models cannot be computed that are selected, or restated, or read those, or are read by
    them; UsageError for a name that is no model."""
    if not project.faults:
        return
    names: tuple[str, ...] = select_models(project, request.select)
    if request.restate:
        asked = [name for name, _ in request.restate if name in project.models]
        names = (*asked, *reach(asked, project.downstream))
    above = reach(names, lambda name: [u.name for u in project.models[name].upstreams if u.name in project.models])
    if problems := [problem for name in (*names, *above) for problem in project.faults.get(name, ())]:
        raise ProjectError(problems)
