"""Does the code only drop or rename columns of what is shown? Then its table is kept, and its view is another one.

Nothing is computed again for it, and nothing is by the code without these columns, or with their new names: the
version's own definition goes on to compute all of them under the names of its table, so that whoever goes back finds
them. See decisions 0031 and 0035.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from backfill_assets.core.errors import StateError
from backfill_assets.core.model import ALL, UNKNOWN, ColumnRef, Model, Project, Refs, Signature, Upstream
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Names, logic_of, shown_name, stored_name
from backfill_assets.project.algorithm import ALGORITHM
from backfill_assets.project.stored import from_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version

Versions = Mapping[tuple[str, str], Version]


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a view leaves out of a version's table (lower-cased), and what it calls otherwise."""

    hidden: tuple[str, ...]
    names: Names


def narrowed(project: Project, shown: Environment, versions: Versions) -> Project:
    """The project with the version that is shown of each model whose code has the same rows and values, and columns
    that are all in its table: some may be `hidden`, others `renamed`."""
    hidden: dict[str, tuple[str, ...]] = {}
    renamed: dict[str, Names] = {}
    again: dict[str, str] = {}
    fingerprints = dict(project.fingerprints)
    for name in project.models:  # upstreams first: what they keep is there for those that read them
        pointer = shown.pointers.get(name)
        record = versions.get((name, pointer.version)) if pointer else None
        if pointer is None or record is None or record.version == project.fingerprints[name]:
            continue
        if name in project.overrides:
            continue
        here = replace(project, fingerprints=fingerprints, hidden=hidden, renamed=renamed)
        match _narrowing(here, pointer, record, versions):
            case Narrowing() as found:
                fingerprints[name] = record.version
                hidden |= {name: found.hidden} if found.hidden else {}
                renamed |= {name: found.names} if found.names else {}
            case str() as why:
                again[name] = why
            case None:
                pass
    if not (hidden or renamed or again):
        return project
    models = {n: _reading(replace(m, names=renamed.get(n, ())), renamed) for n, m in project.models.items()}
    return replace(project, models=models, fingerprints=fingerprints, hidden=hidden, renamed=renamed, built_again=again)


def as_shown(shown: Environment, versions: Versions) -> dict[str, tuple[str, ...]]:
    """The columns that the views of an environment do not list of the versions that they show."""
    found: dict[str, tuple[str, ...]] = {}
    for name, pointer in shown.pointers.items():
        record = versions.get((name, pointer.version))
        listed = {stored_name(pointer.names, column).lower() for column, _ in pointer.columns}
        if record and (rest := tuple(c for c in _names(record.columns) if c not in listed)):
            found[name] = rest
    return found


def computing(project: Project, versions: Versions) -> Project:
    """The project as builds need it: models whose view is not their table by the definition of their version, under
    the audits, the bounds and the pace that the code says."""
    kept = [name for name in project.models if name in project.hidden or name in project.renamed]
    records = {name: versions[name, project.fingerprints[name]] for name in kept}
    models = {name: _stored(project.models[name], record) for name, record in records.items()}
    signatures = {name: record.signature for name, record in records.items()}
    return replace(project, models={**project.models, **models}, signatures={**project.signatures, **signatures})


def called(model: Model, names: Names) -> Model:
    """The model whose audits know columns of its table by these names; what is masked is so by either name."""
    if names == model.names == ():
        return model
    masked = {c.lower() for c in model.mask}
    more = [n for pair in names for n in pair if n.lower() not in masked and masked & {c.lower() for c in pair}]
    return replace(model, names=names, mask=(*model.mask, *more))


def listed(project: Project, name: str, columns: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Of a table's columns (name, type), those that the model's view lists, as it calls them."""
    hidden, names = project.hidden.get(name, ()), project.renamed.get(name, ())
    return tuple((shown_name(names, column), kind) for column, kind in columns if column.lower() not in hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relisting:
    """How the view of a version that stays would differ, in lower-cased names: what it lists beside what it lists now,
    what it lists no more, and which of these are one column (old name, new name)."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]


def relisted(project: Project, pointer: Pointer, known: Sequence[str]) -> Relisting:
    """What the promotion of the version that a pointer shows would do to its view.

    `known` are all columns of the version's table (lower-cased); none where nobody knows them.
    """
    hidden, names = project.hidden.get(pointer.model, ()), project.renamed.get(pointer.model, ())
    now = {stored_name(pointer.names, column).lower(): column for column in _names(pointer.columns)}
    then = {c: shown_name(names, c).lower() for c in dict.fromkeys((*known, *now)) if c not in hidden}
    renamed = tuple((old, then[c]) for c, old in now.items() if c in then and then[c] != old)
    return Relisting(
        added=tuple(new for c, new in then.items() if now.get(c) != new),
        removed=tuple(old for c, old in now.items() if then.get(c) != old),
        renamed=renamed,
    )


def as_named(signature: Signature, names: Names) -> Signature:
    """A version's signature in the names that readers know its columns by."""
    if not names:
        return signature
    return replace(
        signature,
        columns={shown_name(names, c).lower(): text for c, text in signature.columns.items()},
        column_reads={shown_name(names, c).lower(): refs for c, refs in signature.column_reads.items()},
    )


def reading_tables(signature: Signature, upstreams: Sequence[Upstream]) -> Signature:
    """A reader's signature in the names that the tables of its upstreams' versions have."""
    names = {u.name: u.names for u in upstreams if u.names}
    if not names:
        return signature

    def stored(refs: Refs) -> Refs:
        return frozenset(replace(r, column=stored_name(names.get(r.table, ()), r.column).lower()) for r in refs)

    return replace(
        signature,
        row_reads=stored(signature.row_reads),
        column_reads={column: stored(refs) for column, refs in signature.column_reads.items()},
        would_read=stored(signature.would_read),
    )


def _narrowing(project: Project, pointer: Pointer, record: Version, versions: Versions) -> Narrowing | str | None:
    """How the code's view of a version differs from its table, when the code does nothing else to it; why that version
    cannot go on, where columns are renamed; None: it is another version."""
    name = record.model
    own, old, model = project.signatures.get(name, UNKNOWN), record.signature, project.models[name]
    if UNKNOWN in (own, old) or record.algorithm != ALGORITHM or own.code or old.code or own.rows != old.rows:
        return None
    gone = [column for column in old.columns if column not in own.columns]
    new = [column for column in own.columns if column not in old.columns]
    if any(own.columns[c] != old.columns[c] for c in own.columns if c in old.columns):
        return None
    found = {n: [c for c in gone if old.columns[c] == own.columns[n]] for n in new}
    if not gone or not all(found.values()):
        return None
    taken = [c for columns in found.values() for c in columns]
    if len(set(taken)) < len(taken) or any(len(columns) > 1 for columns in found.values()):
        said = f"which of {', '.join(sorted(set(taken)))} is which of {', '.join(new)} cannot be told: all are computed"
        return f"{said} in the same way"
    spelled = {c.name.lower(): c.name for c in project.columns.get(name, ())}
    there = {c.lower(): c for c, _ in record.columns}
    names: Names = tuple((spelled.get(n, n), there.get(columns[0], columns[0])) for n, columns in found.items())
    hidden = tuple(column for column in gone if column not in taken)
    problem = _unfit(pointer, record, model, names) or _not_going_on(project, model, record, versions)
    if not problem:
        return Narrowing(hidden=hidden, names=names)
    if not names:
        return None
    said = ", ".join(f"{stored} is now called {shown}" for shown, stored in names)
    return f"{said}; another name alone would need no work, but {problem}"


def _unfit(pointer: Pointer, record: Version, model: Model, names: Names) -> str:
    """Why a view cannot give columns these names; "" when it can."""
    if not names:
        return ""
    if pointer.older:
        return "rows of older logic are shown beside it"
    there, now = {c.lower() for c, _ in record.columns}, {c: stored_name(pointer.names, c) for c, _ in pointer.columns}
    masked, mask = {str(c).lower() for c in _listed(record, "mask")}, {c.lower() for c in model.mask}
    deciding = dict(_deciding(record, model))
    for shown, stored in names:
        was = {c.lower(): s.lower() for c, s in now.items()}.get(shown.lower())
        if stored.lower() not in there:
            return f"the table's record has no {stored}"
        if shown.lower() in there or was not in (None, stored.lower()):
            return f"{shown} is another column of what is shown"
        if what := next((deciding[c.lower()] for c in (shown, stored) if c.lower() in deciding), ""):
            return f"it is {what}"
        if stored.lower() in masked and shown.lower() not in mask:
            return f"{stored} is masked and {shown} is not"
    return ""


def _deciding(record: Version, model: Model) -> Iterator[tuple[str, str]]:
    """The columns (lower-cased) that rows are found or told apart by, then and now, and what they are."""
    said = record.definition
    yield from ((c.lower(), "a part of the grain") for c in (*map(str, _listed(record, "grain")), *model.grain))
    yield from ((str(o[0]).lower(), "what `dedupe` goes by") for o in _listed(record, "dedupe"))
    yield from ((o.column.lower(), "what `dedupe` goes by") for o in model.dedupe)
    for column in (said.get("updated_at"), model.updated_at):
        if column:
            yield str(column).lower(), "the `updated_at` column"
    yield from ((c.lower(), "the time column") for c in (str(said.get("time_column", "")), model.time_column))


def _listed(record: Version, key: str) -> Sequence[Sequence[object] | str]:
    found = record.definition.get(key)
    return found if isinstance(found, list) else ()


def _not_going_on(project: Project, model: Model, record: Version, versions: Versions) -> str:
    """Why a version's own definition cannot compute its next intervals; "" when it can."""
    try:
        stored = _stored(model, record)
    except StateError as error:
        return error.why or error.what
    old = record.signature
    reads = {ref for refs in (old.row_reads, *old.column_reads.values()) for ref in refs}
    for upstream in stored.upstreams:
        if ColumnRef(table=upstream.name, column=ALL) in old.would_read:  # `*`: all of them, by their places
            reads |= {
                ColumnRef(table=upstream.name, column=stored_name(upstream.names, c).lower()) for c in upstream.columns
            }
    for ref in sorted(reads, key=lambda ref: (ref.table, ref.column)):
        if ref.column == ALL or ref.column.startswith(_ABSENT):
            continue
        if not _is_there(project, record, ref, versions):
            return f"{ref.table}.{ref.column}, which it reads, is not what it was"
    return ""


_ABSENT = "?"


def _is_there(project: Project, record: Version, ref: ColumnRef, versions: Versions) -> bool:
    """Whether an upstream column that a version reads, by the name in the upstream's table, still is what it was."""
    if ref.table in project.sources:
        columns = project.sources[ref.table].columns
        return not columns or any(c.name.lower() == ref.column for c in columns)
    if ref.table not in project.models:
        return False
    version, wanted = logic_of(record.upstream.get(ref.table, "")), project.fingerprints[ref.table]
    if wanted == version:
        return True
    then, there = versions.get((ref.table, version)), versions.get((ref.table, wanted))
    signature = there.signature if there else project.signatures.get(ref.table, UNKNOWN)
    now = signature.columns.get(ref.column)
    return then is not None and now is not None and then.signature.columns.get(ref.column) == now


def _reading(model: Model, renamed: Mapping[str, Names]) -> Model:
    """The model whose code knows its upstreams' columns by these names."""
    if not any(u.name in renamed for u in model.upstreams):
        return model
    return replace(model, upstreams=tuple(replace(u, names=renamed.get(u.name, ())) for u in model.upstreams))


def _stored(model: Model, record: Version) -> Model:
    stored = from_definition(model.name, record.version, record.definition)
    masked = {c.lower() for c in stored.mask}
    return called(
        replace(
            stored,
            audits=model.audits,
            grain=model.grain,
            mask=(*stored.mask, *(c for c in model.mask if c.lower() not in masked)),
            start=model.start,
            end=model.end,
            batch_size=model.batch_size,
            batch_concurrency=model.batch_concurrency,
            retries=model.retries,
            timeout=model.timeout,
            pool=model.pool,
        ),
        model.names,
    )


def _names(columns: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(name.lower() for name, _ in columns)
