"""What would the project be if its code were what an environment shows? The published versions, to be extended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, cast

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.reads import audit_tables
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.model import ALL, Audit, Column, ColumnRef, Model, Project, Upstream
from backfill_assets.core.segments import Names, logic_of
from backfill_assets.plan.narrowed import as_shown, called
from backfill_assets.plan.rewritten import same_text
from backfill_assets.project.stored import audits_from_json, from_definition, names_then
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The audits that a version was promoted with last, and the names that they know its columns by."""

    audits: tuple[Audit, ...]
    names: Names = ()


def published(
    project: Project,
    environment: Environment,
    versions: Mapping[tuple[str, str], Version],
    audits: Mapping[tuple[str, str], Promoted] | None = None,
) -> Project:
    """The project with every model as the environment shows it, by its stored definition where the code says another.

    `audits` are those that versions were promoted with last (by model and version), where they are not those that the
    version was first built with: those that are loaded and not promoted do not count. Models that are not shown are
    left out. Raises StateError for a definition that cannot be executed, PlanError for one that reads a source that is
    gone.
    """
    models: dict[str, Model] = {}
    own: set[str] = set()
    for name, pointer in environment.pointers.items():
        definition = versions[name, pointer.version].definition
        loaded = project.models[name] if project.fingerprints.get(name) == pointer.version else None
        whole = name not in project.hidden and name not in project.renamed
        if loaded is not None and whole and same_text(loaded, definition) and _reads_alike(loaded, definition):
            models[name] = loaded
            own.add(name)
            continue
        try:
            models[name] = from_definition(name, pointer.version, definition)
        except StateError:
            if loaded is None:
                raise
            models[name] = loaded  # the gate waits until its text was compared
            own.add(name)
    for name, model in models.items():
        key = (name, environment.pointers[name].version)
        promoted = audits[key] if audits and key in audits else _built_with(versions[key])
        if promoted is not None:
            model = called(model, promoted.names)
            if audits_digest(replace(model, audits=promoted.audits)) != audits_digest(model):
                model = replace(model, audits=promoted.audits)
        models[name] = _at_these(model, versions[key], environment, versions)
    for model in models.values():
        for upstream in model.upstreams:
            if upstream.name not in models and upstream.name not in project.sources:
                if upstream.name in project.models:
                    place = environment.name
                    raise PlanError(
                        f"{model.name} cannot be extended: it reads {upstream.name}, which {place} does not show",
                        why=f"{model.name} was promoted without it",
                        fix=f"backfill apply --select {upstream.name}, then backfill promote --select {upstream.name}",
                    )
                raise PlanError(
                    f"{model.name}, as {environment.name} shows it, reads {upstream.name}, which is gone",
                    why="no source is declared by that name, and no model of it is shown",
                    fix=f"declare it again in sources.yml, or promote a {model.name} that does not read it",
                )
    reads = {n: [*(u.name for u in m.upstreams), *audit_tables(m)] for n, m in models.items()}
    edges = {name: [read for read in above if read in models] for name, above in reads.items()}
    order = list(TopologicalSorter(edges).static_order())
    shown = {name: versions[name, environment.pointers[name].version] for name in order}
    return replace(
        project,
        models={name: models[name] for name in order},
        columns={
            n: project.columns[n]
            if n in own and n in project.columns
            else tuple(Column(name=c, type=kind) for c, kind in environment.pointers[n].columns)
            for n in order
        },
        lineage={},
        fingerprints={name: environment.pointers[name].version for name in order},
        signatures={name: s for name, s in project.signatures.items() if name in project.sources}
        | {name: record.signature for name, record in shown.items()},
        overrides={name: o for name, o in project.overrides.items() if name in own},
        warnings={},
        hidden=as_shown(environment, versions),
        renamed={name: p.names for name in order if (p := environment.pointers[name]).names},
        built_again={},
    )


def _built_with(record: Version) -> Promoted | None:
    """The audits of a version's record; None where an earlier release made it."""
    said = cast("Sequence[Mapping[str, Any]] | None", record.definition.get("audits"))
    return None if said is None else Promoted(audits=audits_from_json(said))


def _reads_alike(loaded: Model, definition: Mapping[str, object]) -> bool:
    """Whether a text of a version's record knows its upstreams' columns by the names that the loaded one does."""
    return {u.name: u.names for u in loaded.upstreams if u.names} == names_then(definition)


def _at_these(
    model: Model, record: Version, environment: Environment, versions: Mapping[tuple[str, str], Version]
) -> Model:
    """The model with its upstreams' columns by the names that they have in the tables that are shown.

    Raises PlanError where a column that it reads is not told any more.
    """
    if not any(u.names for u in model.upstreams):
        return model
    reads = {r for refs in (record.signature.row_reads, *record.signature.column_reads.values()) for r in refs}
    reads |= record.signature.would_read

    def named(upstream: Upstream) -> Upstream:
        pointer, built = environment.pointers.get(upstream.name), logic_of(record.upstream.get(upstream.name, ""))
        if pointer is None or pointer.version == built:
            return upstream
        then, now = (versions.get((upstream.name, v)) for v in (built, pointer.version))
        old, new = (dict(v.signature.columns) if v else {} for v in (then, now))
        kept: Names = ()
        for shown, stored in upstream.names:
            value = old.get(stored.lower())
            if value is not None and new.get(stored.lower()) == value:
                kept += ((shown, stored),)
            elif not reads.isdisjoint(ColumnRef(table=upstream.name, column=c) for c in (stored.lower(), ALL)) and (
                value is None or new.get(shown.lower()) != value
            ):
                raise PlanError(
                    f"{model.name} cannot be extended: {upstream.name}.{shown}, which it reads, is not what it was",
                    why=f"{model.name} was built from version {built}, and {pointer.version} is shown",
                    fix=f"backfill apply --select {model.name}, then backfill promote",
                )
        return replace(upstream, names=kept)

    return replace(model, upstreams=tuple(map(named, model.upstreams)))
