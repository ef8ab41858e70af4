"""What would the project be if its code were what an environment shows? The published versions, to be extended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any, cast

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.reads import audit_tables
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.model import ALL, Audit, ColumnRef, Model, Project
from backfill_assets.core.readiness import with_readiness
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.changed_texts import same_text
from backfill_assets.plan.dropped_columns import hidden_columns
from backfill_assets.project.stored import UNSAID, audits_from_json, declared_otherwise, described, from_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version, beside


def published(
    project: Project,
    environment: Environment,
    versions: Mapping[tuple[str, str], Version],
    audits: Mapping[tuple[str, str], tuple[Audit, ...]] | None = None,
) -> Project:
    """The project with every model as the environment shows it, by its stored definition where the code says another.

    `audits` are those that versions were promoted with last (by model and version), where they are not those that the
    version was first built with: those that are loaded and not promoted do not count. Models that are not shown are
    left out. One whose stored code cannot run is there to be looked at, and `redeclared` says why. Raises StateError
    for a record that lacks parts, PlanError for a definition that reads a source that is gone.
    """
    versions = beside(versions, environment.versions)
    models: dict[str, Model] = {}
    stuck: dict[str, str] = {}
    own: set[str] = set()
    for name, pointer in environment.pointers.items():
        definition = versions[name, pointer.version].definition
        loaded = project.models[name] if project.fingerprints.get(name) == pointer.version else None
        if loaded is not None and same_text(loaded, definition):
            models[name] = loaded
            own.add(name)
            continue
        try:
            models[name] = from_definition(name, pointer.version, definition)
        except StateError as error:
            if loaded is None:
                models[name] = described(name, pointer.version, definition)
                stuck[name] = f"its stored code cannot run: {error.why}"
                continue
            models[name] = loaded  # the gate waits until its text was compared
            own.add(name)
    for name in list(models):
        if (other := _another(environment, versions, name)) is None:
            continue
        loaded = project.models.get(name)
        if loaded is None or not _is_loaded(project, environment, name, loaded):
            read, place = f"{other.table}.{other.column}", environment.name
            raise PlanError(
                f"{name} cannot be extended by its text that {place} shows: {read} is another column by now",
                why=f"{other.table} was promoted in a version with other names; {name} kept its version",
                fix="load the code that was promoted: its text has the present names",
            )
        models[name] = loaded
        stuck.pop(name, None)
        own.add(name)
    for name, model in models.items():
        key = (name, environment.pointers[name].version)
        promoted = audits[key] if audits and key in audits else _built_with(versions[key])
        if promoted is not None and audits_digest(replace(model, audits=promoted)) != audits_digest(model):
            models[name] = replace(model, audits=promoted)
        if (loaded := project.models.get(name)) and (model.settle, model.ready) != (loaded.settle, loaded.ready):
            models[name] = replace(models[name], settle=loaded.settle, ready=loaded.ready)  # no part of the version
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
        models=with_readiness({name: models[name] for name in order}),
        columns={n: columns for n, columns in project.columns.items() if n in own},
        lineage={},
        fingerprints={name: environment.pointers[name].version for name in order},
        signatures={name: s for name, s in project.signatures.items() if name in project.sources}
        | {name: record.signature for name, record in shown.items()},
        overrides={name: o for name, o in project.overrides.items() if name in own},
        warnings={},
        hidden=hidden_columns(environment, versions),
        redeclared=stuck
        | {
            name: why
            for name in order
            if name not in stuck and (why := _redeclared(project, models[name], shown[name]))
        },
    )


def _redeclared(project: Project, model: Model, shown: Version) -> str:
    """Why it would read something else than what was published; "" where it would not. Loaded code that counts as the
    version does not: place, options and settings are part of it, or somebody vouched for them (`same_as`)."""
    why = declared_otherwise(project, model, shown.definition, shown.signature)
    return why if why == UNSAID or project.fingerprints.get(model.name) != shown.version else ""


def _another(environment: Environment, versions: Mapping[tuple[str, str], Version], name: str) -> ColumnRef | None:
    """A column that a version reads and that is another one, or none, in the shown version of its table. Columns are
    the same where their hashes are."""
    record = versions[name, environment.pointers[name].version]
    for ref in sorted(
        record.signature.row_reads.union(*record.signature.column_reads.values()), key=lambda r: (r.table, r.column)
    ):
        shown = environment.pointers.get(ref.table)
        before = versions.get((ref.table, logic_of(record.upstream.get(ref.table, ""))))
        if shown is None or before is None or before.version == shown.version or ref.column == ALL:
            continue
        now = versions[ref.table, shown.version].signature.columns
        if ref.column in before.signature.columns and before.signature.columns[ref.column] != now.get(ref.column):
            return ref
    return None


def _is_loaded(project: Project, environment: Environment, name: str, model: Model) -> bool:
    """Whether the loaded text is of the version that is shown, over the versions of its upstreams that are shown."""
    above = [u.name for u in model.upstreams if u.name in project.models]
    shown = environment.pointers
    return all(n in shown and project.fingerprints.get(n) == shown[n].version for n in (name, *above))


def _built_with(record: Version) -> tuple[Audit, ...] | None:
    """The audits of a version's record; None where an earlier release made it."""
    said = cast("Sequence[Mapping[str, Any]] | None", record.definition.get("audits"))
    return None if said is None else audits_from_json(said)
