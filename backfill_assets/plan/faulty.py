"""Can what a request is about be computed, as its sources are by now? If not, that is said before all else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import cast

from backfill_assets.audits.reads import audit_tables
from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import Project
from backfill_assets.core.reach import reach
from backfill_assets.core.segments import logic_of
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


def as_built(project: Project, versions: VersionRecords) -> Project:
    """The project, its models that cannot be computed, and what reads them, by the versions that the same code was
    built as: only what their sources say is another one by now. As before where it never was."""
    named, signed = dict(project.fingerprints), dict(project.signatures)
    unsure = {*project.faults, *reach(project.faults, project.downstream)}
    for name in (n for n in project.models if n in unsure):
        upstream = {u: named[u] for u in upstream_models(project, project.models[name])}
        for record in _by_this_code(project, name, versions):
            if {u: logic_of(version) for u, version in record.upstream.items()} == upstream:
                named[name], signed[name] = logic_of(record.version), record.signature
                break
    return replace(project, fingerprints=named, signatures=signed)


def _built_as_now(project: Project, name: str, versions: VersionRecords) -> dict[str, object] | None:
    """Source → its columns when a model was built last by the code, and of the sources, that it has now; None where it
    never was."""
    newest = next(_by_this_code(project, name, versions), None)
    return None if newest is None else {source: _columns(entry) for source, entry in _sources_of(newest).items()}


def _by_this_code(project: Project, name: str, versions: VersionRecords) -> Iterator[Version]:
    """The records of a model of the code, and of the sources, that it has now, whatever columns these had; the newest
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


def _columns(declared: str) -> object:
    return json.loads(declared or "{}").get("columns") or {}


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
    if problems := [problem for name in (*names, *_above(project, names)) for problem in project.faults.get(name, ())]:
        raise ProjectError(problems)


def _above(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    """The models that these are computed from."""
    return reach(names, lambda name: upstream_models(project, project.models[name]))
