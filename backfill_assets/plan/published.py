"""What would the project be if its code were what an environment shows? The published versions, to be extended."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from graphlib import TopologicalSorter

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.reads import tables_read
from backfill_assets.core.errors import PlanError, StateError
from backfill_assets.core.masking import masked_as_well, with_masks
from backfill_assets.core.model import ALL, ColumnRef, Model, Project
from backfill_assets.core.readiness import with_readiness
from backfill_assets.core.segments import logic_of
from backfill_assets.plan.changed_texts import same_text
from backfill_assets.plan.dropped_columns import hidden_columns
from backfill_assets.project.stored import (
    OF_ANY_DAYS,
    OF_ITS_DAYS,
    UNSAID,
    HeaderThen,
    as_said,
    declared_otherwise,
    described,
    from_definition,
)
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version, VersionRecords, beside


def published(
    project: Project,
    environment: Environment,
    versions: VersionRecords,
    headers: Mapping[tuple[str, str], HeaderThen] | None = None,
) -> Project:
    """The project with every model as the environment shows it, by its stored definition where the code says another.

    `headers` are those that versions were promoted with last (by model and version), where they are not that which the
    version was first built with: what is loaded and not promoted says nothing of which rows are right. Models that are
    not shown are left out. One whose stored code cannot run is there to be looked at, and `redeclared` says why. Raises
    StateError for a record that lacks parts, PlanError for a definition that reads a source that is gone.
    """
    versions = beside(versions, environment.versions)
    found = {
        key[0]: _shown(project, environment, versions, versions[key], (headers or {}).get(key))
        for key in environment.versions.items()
    }
    models = {name: shown.model for name, shown in found.items()}
    _refuse_missing(project, environment, models)
    reads = {n: tables_read(m) for n, m in models.items()}
    edges = {name: [read for read in above if read in models] for name, above in reads.items()}
    order = list(TopologicalSorter(edges).static_order())
    fingerprints = {name: environment.pointers[name].version for name in order}
    own = {name for name, shown in found.items() if shown.own}
    models = _masked(project, {name: models[name] for name in order}, own, versions, fingerprints)
    return replace(
        project,
        models=with_readiness(models),
        columns={n: columns for n, columns in project.columns.items() if n in own},
        lineage={},
        fingerprints=fingerprints,
        signatures={name: s for name, s in project.signatures.items() if name in project.sources}
        | {key[0]: versions[key].signature for key in fingerprints.items()},
        overrides={name: o for name, o in project.overrides.items() if name in own},
        warnings={},
        faults={},
        reads_until={n: reads for n, reads in project.reads_until.items() if n in own},
        hidden=hidden_columns(environment, versions),
        redeclared={name: why for name, shown in found.items() if (why := shown.redeclared)},
    )


def _masked(
    project: Project,
    models: Mapping[str, Model],
    own: Collection[str],
    versions: VersionRecords,
    fingerprints: Mapping[str, str],
) -> dict[str, Model]:
    """The models (in dependency order) with the masks that follow from what they read: a source may have got one since
    they were published."""
    records = {name: versions[name, version] for name, version in fingerprints.items()}
    lineage = {
        name: project.lineage[name] if name in own and name in project.lineage else record.signature.column_reads
        for name, record in records.items()
    }
    columns = {name: [column for column, _ in record.columns] for name, record in records.items()}
    masked = with_masks(models, project.sources, lineage, columns)
    return {n: m if _low(m.mask) == _low(masked[n].mask) else masked[n] for n, m in models.items()}


def _low(names: Collection[str]) -> set[str]:
    return {name.lower() for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A model as the environment shows it."""

    model: Model
    own: bool = False
    """Whether its text is the loaded one."""
    redeclared: str = ""
    """Why it is not extended as it was published (`Project.redeclared`)."""


def _shown(
    project: Project,
    environment: Environment,
    versions: VersionRecords,
    record: Version,
    promoted: HeaderThen | None,
) -> _Shown:
    """The model of this version; `promoted`: the header that it was promoted with last (None: that of the record)."""
    by_text = _by_text(project, environment, versions, record)
    model, loaded = by_text.model, project.models.get(record.model)
    then = promoted or HeaderThen.of(record.definition)
    if then is not None:
        if audits_digest(with_then := held_against(model, then)) != audits_digest(model):
            model = with_then
        model = masked_as_well(model, then.mask)  # nobody should see what any of them masks
    pointer = environment.pointers[record.model]
    every, shown = pointer.covers.span, (pointer.covers - pointer.older.covers).span
    if every is not None and shown is not None:
        if not by_text.own:
            model = _as_headers_say(model, loaded, then, shown.end)
        # Nothing that is shown lies before its start or after its end; nothing of it comes before older logic.
        start = max(min(model.start, shown.start), every.start if pointer.older else model.start)
        model = (model if start == model.start else replace(model, start=start)).reaching(shown.end)
    return replace(by_text, model=model, redeclared=by_text.redeclared or _redeclared(project, model, record))


def _as_headers_say(model: Model, loaded: Model | None, then: HeaderThen | None, shown: datetime) -> Model:
    """The model of a record, which says what was so at first, with what is no part of its version as the loaded header
    says. By days of another kind some of that means something else: it is as it was promoted last. An earlier start
    waits for its promotion; an end is none any more where more is `shown` than was when it was promoted."""
    if then is not None and then.until:
        model = replace(model, start=then.start or model.start, end=then.end)
    if loaded is not None:
        model = masked_as_well(as_said(model, loaded, OF_ANY_DAYS), loaded.mask)
    if loaded is not None and (loaded.cadence, loaded.time_zone) == (model.cadence, model.time_zone):
        model = as_said(model, loaded, OF_ITS_DAYS)
        return replace(model, start=max(model.start, loaded.start), end=loaded.end)
    until = then.until if then else None
    passed = model.end is not None and shown > max(model.end, until or model.end)
    return replace(model, end=None) if passed else model


def _by_text(project: Project, environment: Environment, versions: VersionRecords, record: Version) -> _Shown:
    """The model by the text that built its version, where that is stored and can run; else by the loaded one, where
    that is of this version."""
    name, version = record.model, record.version
    loaded = project.models[name] if project.fingerprints.get(name) == version else None
    if (other := _another(environment, versions, record)) is not None:
        if loaded is None or not _reads_as_shown(project, environment, loaded):
            read, place = f"{other.table}.{other.column}", environment.name
            raise PlanError(
                f"{name} cannot be extended by its text that {place} shows: {read} is another column by now",
                why=f"{other.table} was promoted in a version with other names; {name} kept its version",
                fix="load the code that was promoted: its text has the present names",
            )
        return _Shown(model=loaded, own=True)
    if loaded is not None and same_text(loaded, record.definition):
        return _Shown(model=loaded, own=True)
    try:
        return _Shown(model=from_definition(name, version, record.definition))
    except StateError as error:
        if loaded is not None:  # the gate waits until its text was compared
            return _Shown(model=loaded, own=True)
        stuck = f"its stored code cannot run: {error.why}"
        return _Shown(model=described(name, version, record.definition), redeclared=stuck)


def _refuse_missing(project: Project, environment: Environment, models: Mapping[str, Model]) -> None:
    """Raises PlanError where a model reads what is neither shown nor a source."""
    for reader, upstream in ((m.name, u.name) for m in models.values() for u in m.upstreams):
        if upstream in models or upstream in project.sources:
            continue
        if upstream in project.models:
            raise PlanError(
                f"{reader} cannot be extended: it reads {upstream}, which {environment.name} does not show",
                why=f"{reader} was promoted without it",
                fix=f"backfill apply --select {upstream}, then backfill promote --select {upstream}",
            )
        raise PlanError(
            f"{reader}, as {environment.name} shows it, reads {upstream}, which is gone",
            why="no source is declared by that name, and no model of it is shown",
            fix=f"declare it again in sources.yml, or promote a {reader} that does not read it",
        )


def _redeclared(project: Project, model: Model, shown: Version) -> str:
    """Why it would read something else than what was published; "" where it would not. Loaded code that counts as the
    version does not, unless it cannot be computed now: place, options and settings are part of it, or somebody vouched
    for them (`same_as`)."""
    read = [project.sources[u.name] for u in model.upstreams if u.name in project.sources]
    if project.faults and (unknown := next((source for source in read if not source.columns), None)):
        return f"the columns of its source {unknown.name} are unknown by now"
    why = declared_otherwise(project, model, shown.definition, shown.signature)
    vouched = project.fingerprints.get(model.name) == shown.version and model.name not in project.faults
    return why if why == UNSAID or not vouched else ""


def _another(environment: Environment, versions: VersionRecords, record: Version) -> ColumnRef | None:
    """A column that a version reads and that is another one, or none, in the shown version of its table. Columns are
    the same where their hashes are."""
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


def _reads_as_shown(project: Project, environment: Environment, model: Model) -> bool:
    """Whether the loaded versions of all that a model reads are shown."""
    shown = environment.versions
    return all(project.fingerprints[u.name] == shown.get(u.name) for u in model.upstreams if u.name in project.models)


def held_against(model: Model, then: HeaderThen) -> Model:
    """The model with these audits, and this grain, as it was written then: digests of audits have it."""
    return replace(model, audits=then.audits, grain=then.grain or model.grain)
