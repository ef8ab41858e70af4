"""Can what a request is about be computed, as its sources are by now? If not, that is said before all else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast

from backfill_assets.audits.reads import audit_tables
from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import Column, Project
from backfill_assets.core.reach import reach
from backfill_assets.plan.missing import upstream_models
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Request
from backfill_assets.state.versions import Version, VersionRecords, records_of

_TELLING = ("name", "format", "path", "table", "options", "time_column", "key", "mask")
"""What of a source's entry says which columns it has, and which of them are asked for."""


def refuse_edited(project: Project, versions: VersionRecords) -> None:
    """Raise ProjectError where the sources are not the reason for what keeps a model from being computed: it, or what
    it is computed from, was never built by this code of these sources; or they have the columns that they had then."""
    for name in project.faults:
        found = [_built_as_now(project, each, versions) for each in (name, *_above(project, [name]))]
        looked_up = [project.sources[s] for s in audit_tables(project.models[name]) if s in project.sources]
        changed = any(not source.columns for source in looked_up) or any(
            then != _columns(project.sources[s].declared) for each in found for s, then in (each or {}).items()
        )
        if not changed or any(each is None for each in found):
            raise ProjectError(problem for problems in project.faults.values() for problem in problems)


def columns_before(
    project: Project, shown: Mapping[str, str], versions: VersionRecords
) -> dict[str, tuple[Column, ...]]:
    """Source → its columns when models that cannot be computed were built from it, of those whose data lacks some of
    them by now. As the version that is `shown` (model → version) was built; where none is, as the newest was."""
    found: dict[str, tuple[datetime, tuple[Column, ...]]] = {}
    for name in project.faults:
        mine = [*_by_this_code(project, name, versions)]
        if not mine:
            continue
        record = next((r for r in mine if r.version == shown.get(name)), mine[0])
        for source, entry in _sources_of(record).items():
            then = {column: said.get("type") for column, said in _columns(entry).items()}
            now = {column.name: column.type for column in project.sources[source].columns}
            if then.items() <= now.items() or (source in found and found[source][0] > record.created):
                continue
            found[source] = (record.created, tuple(Column(name=c, type=type_) for c, type_ in then.items()))
    return {source: columns for source, (_, columns) in found.items()}


def with_versions_of(project: Project, before: Project) -> Project:
    """The project, its models that cannot be computed, and what reads them, by the versions that the code has where
    their sources have the columns of `before`: these are what is built of them, and no other code is."""
    unsure = {*project.faults, *reach(project.faults, project.downstream)}
    return replace(
        project,
        fingerprints={n: before.fingerprints[n] if n in unsure else v for n, v in project.fingerprints.items()},
        signatures={n: before.signatures[n] if n in unsure else s for n, s in project.signatures.items()},
    )


def _built_as_now(
    project: Project, name: str, versions: VersionRecords
) -> dict[str, dict[str, dict[str, str | None]]] | None:
    """Source → its columns when a model was built last by the code, and of the sources, that it has now; None where it
    never was."""
    newest = next(_by_this_code(project, name, versions), None)
    return None if newest is None else {source: _columns(entry) for source, entry in _sources_of(newest).items()}


def _by_this_code(project: Project, name: str, versions: VersionRecords) -> Iterator[Version]:
    """The records of a model of the text, and of the sources, that it has now, whatever columns these had; the newest
    first."""
    model = project.models[name]
    code = {"text": model.text, "grain": list(model.grain), "time_column": model.time_column}
    now = {u.name: _telling(project.sources[u.name].declared) for u in model.upstreams if u.name in project.sources}
    mine = [each for key, known in versions.items() if key[0] == name for each in records_of(known)]
    for record in sorted(mine, key=lambda r: r.created, reverse=True):
        same = all(record.definition.get(key) == value for key, value in code.items())
        if same and {source: _telling(entry) for source, entry in _sources_of(record).items()} == now:
            yield record


def _sources_of(record: Version) -> Mapping[str, str]:
    """The sources that a version was computed from, as they were declared."""
    return cast(Mapping[str, Mapping[str, str]], record.definition.get("project") or {}).get("sources", {})


def _telling(declared: str) -> dict[str, object]:
    return {key: said for key, said in json.loads(declared or "{}").items() if key in _TELLING}


def _columns(declared: str) -> dict[str, dict[str, str | None]]:
    return json.loads(declared or "{}").get("columns") or {}


def faulty_words(project: Project) -> list[str]:
    """A line a model that cannot be computed: why, and what says more."""
    return [
        f"the code of {name} cannot be computed, as its sources are by now: {problems[0].place(project.root)}: "
        f"{problems[0].what}; `backfill plan --select {name}` says more"
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
    if problems := [problem for name in (*names, *_above(project, names)) for problem in project.faults.get(name, ())]:
        raise ProjectError(problems)


def _above(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    """The models that these are computed from."""
    return reach(names, lambda name: upstream_models(project, project.models[name]))
