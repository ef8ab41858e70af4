"""Does the code only drop columns of what is shown? Then the table that is shown is kept, and its view lists fewer.

Nothing is computed again for it, and nothing is by the code without these columns: the version's own definition goes on
to compute all of them, so that whoever goes back finds them. See decision 0031.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from backfill_assets.core.errors import StateError
from backfill_assets.core.masking import computed_from, masked_as_well, masked_columns
from backfill_assets.core.model import UNKNOWN, ColumnRef, Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import logic_of
from backfill_assets.project.algorithm import ALGORITHM
from backfill_assets.project.stored import OF_ANY_DAYS, OF_ITS_DAYS, as_said, from_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version, VersionRecords


def with_hidden_columns(project: Project, shown: Environment, versions: VersionRecords) -> Project:
    """The project with the version that is shown of each model whose code has the same rows and values, and fewer
    columns; these are `hidden`."""
    hidden: dict[str, tuple[str, ...]] = {}
    fingerprints = dict(project.fingerprints)
    for name in project.models:  # upstreams first: what they keep is there for those that read them
        pointer = shown.pointers.get(name)
        record = versions.get((name, pointer.version)) if pointer else None
        if record is None or record.version == project.fingerprints[name] or name in project.overrides:
            continue
        here = replace(project, fingerprints=fingerprints, hidden=hidden)
        if dropped := _dropped(here, name, record, versions):
            hidden[name] = dropped
            fingerprints[name] = record.version
    return replace(project, fingerprints=fingerprints, hidden=hidden) if hidden else project


def hidden_columns(shown: Environment, versions: VersionRecords) -> dict[str, tuple[str, ...]]:
    """The columns that the views of an environment do not list of the versions that they show."""
    found: dict[str, tuple[str, ...]] = {}
    for name, pointer in shown.pointers.items():
        record = versions.get((name, pointer.version))
        listed = _names(pointer.columns)
        if record and (rest := tuple(c for c in _names(record.columns) if c not in listed)):
            found[name] = rest
    return found


def with_stored_definitions(project: Project, versions: VersionRecords) -> Project:
    """The project as builds need it: models with hidden columns by the definition of their version, under the audits,
    the grain, the bounds and the pace that the code says."""
    masked = masked_columns((*project.sources.values(), *project.models.values()))
    models = {n: _stored(project.models[n], versions[n, project.fingerprints[n]], masked) for n in project.hidden}
    return replace(project, models={**project.models, **models}) if models else project


def view_columns(project: Project, name: str, columns: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Of a table's columns (name, type), those that the model's view lists."""
    hidden = project.hidden.get(name, ())
    return tuple(column for column in columns if column[0].lower() not in hidden)


def view_changes(project: Project, pointer: Pointer, known: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which columns the view of a version that stays would list beside those that it lists now, and which no more.

    `known` are all columns of the version (lower-cased); none where nobody knows them.
    """
    hidden, now = project.hidden.get(pointer.model, ()), _names(pointer.columns)
    return tuple(c for c in known if c not in now and c not in hidden), tuple(c for c in now if c in hidden)


def _dropped(project: Project, name: str, record: Version, versions: VersionRecords) -> tuple[str, ...]:
    """The columns that the code drops of a version, when it does nothing else to it and the version can go on."""
    own, old, model = project.signatures.get(name, UNKNOWN), record.signature, project.models[name]
    if UNKNOWN in (own, old) or record.algorithm != ALGORITHM or own.code or old.code:
        return ()
    if own.rows != old.rows or not own.columns.items() < old.columns.items():
        return ()
    dropped = tuple(column for column in old.columns if column not in own.columns)
    reads = {ref for column in dropped for ref in old.column_reads.get(column, ())}
    if not all(_is_there(project, record, ref, versions) for ref in reads):
        return ()
    try:
        _stored(model, record, {})
    except StateError:
        return ()
    return dropped


def _is_there(project: Project, record: Version, ref: ColumnRef, versions: VersionRecords) -> bool:
    """Whether an upstream column that only a dropped column reads still is what it was."""
    if ref.table in project.sources:
        columns = project.sources[ref.table].columns
        return not columns or any(c.name.lower() == ref.column for c in columns)
    if ref.table not in project.models:
        return False
    version = logic_of(record.upstream.get(ref.table, ""))
    if project.fingerprints[ref.table] == version:
        return True
    then = versions.get((ref.table, version))
    now = project.signatures.get(ref.table, UNKNOWN).columns.get(ref.column)
    return then is not None and now is not None and then.signature.columns.get(ref.column) == now


_OF_READINESS = ("upstream_ready", "upstream_cadence", "longer")
"""What follows from what it reads."""


def _stored(model: Model, record: Version, masked: Mapping[str, Collection[str]]) -> Model:
    """The model of a record; `masked`: the columns of each table, in lower case, that nobody should see."""
    more = computed_from(masked, record.signature.column_reads) - {c.lower() for c in model.unmask}
    stored = masked_as_well(
        from_definition(model.name, record.version, record.definition), (*model.mask, *sorted(more))
    )
    names = ("audits", "grain", "start", "end", *OF_ANY_DAYS, *OF_ITS_DAYS, *_OF_READINESS)
    return as_said(stored, model, names)


def _names(columns: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(name.lower() for name, _ in columns)
