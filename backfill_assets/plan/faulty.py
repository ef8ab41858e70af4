"""Can what a request is about be computed, as its sources are by now? If not, that is said before all else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import Project
from backfill_assets.core.reach import reach
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Request
from backfill_assets.state.versions import VersionRecords, records_of


def refuse_edited(project: Project, versions: VersionRecords) -> None:
    """Raise ProjectError where a model that cannot be computed, or one that it is computed from, was never built by the
    files that there are: whoever edited these may be the reason, not the sources."""
    for name in project.faults:
        above = reach([name], lambda n: [u.name for u in project.models[n].upstreams if u.name in project.models])
        if not all(_was_built(project, each, versions) for each in (name, *above)):
            raise ProjectError(problem for problems in project.faults.values() for problem in problems)


def _was_built(project: Project, name: str, versions: VersionRecords) -> bool:
    """Whether a version's record has a model's files, and the entries of its sources, as they are."""
    model = project.models[name]
    now = {u.name: _entry(project.sources[u.name].declared) for u in model.upstreams if u.name in project.sources}
    for record in (each for key, known in versions.items() if key[0] == name for each in records_of(known)):
        said = cast(Mapping[str, Mapping[str, str]], record.definition.get("project") or {})
        then = {name: _entry(entry) for name, entry in said.get("sources", {}).items()}
        if record.definition.get("files") == dict(model.files) and then == now:
            return True
    return False


def _entry(declared: str) -> dict[str, object]:
    """A source's entry without its columns, which its data may say."""
    return {key: said for key, said in json.loads(declared or "{}").items() if key != "columns"}


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
