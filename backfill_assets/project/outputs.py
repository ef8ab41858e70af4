"""Which columns does a model have? What its query gives, with what its header promises; checked against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot.optimizer.scope import Scope

from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Column, ColumnRef
from backfill_assets.core.wording import did_you_mean
from backfill_assets.project.draft import Draft
from backfill_assets.sql.columns import Resolved, resolve
from backfill_assets.sql.parsing import Sql, SqlError, parse
from backfill_assets.sql.types import in_yaml, same_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """`complete`: `columns` are all that there are, so that a name which is not among them is wrong."""

    columns: tuple[Column, ...]
    complete: bool
    lineage: Mapping[str, tuple[ColumnRef, ...]] = field(default_factory=dict[str, tuple[ColumnRef, ...]])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The name of the model or source that each lower-cased reference in the query means."""
    marker: Column | None = None
    """The last of the columns when the system adds it: the query does not give it."""
    scopes: tuple[Scope, ...] = ()
    """sqlglot's, of the qualified query; none when it cannot be resolved."""
    sql: Sql | None = None
    """The query: a SQL model's, or what a Python model compiles to; None when it cannot be resolved."""


def declared_columns(draft: Draft) -> Outputs:
    """Those that a model's header names, which may not be all."""
    header = draft.header.columns if draft.header else {}
    declared = tuple(Column(name=n, type=c.type, description=c.description) for n, c in header.items())
    return Outputs(columns=declared, complete=False)


def model_columns(
    draft: Draft,
    upstreams: Mapping[str, tuple[Column, ...]],
    spelling: Mapping[str, str],
    problems: list[Problem],
    *,
    types: bool = True,
) -> Outputs:
    """A model's columns, given those of what it reads (none: unknown); `spelling` maps lower-cased names to names.
    `types`: those of the header are held against the query's."""
    declared = declared_columns(draft).columns
    if draft.language == "python":
        marker = _marker(draft, declared) if declared else None
        return Outputs(columns=_with(declared, marker), complete=bool(declared), marker=marker)
    if draft.sql is None:
        return Outputs(columns=declared, complete=False)
    known: dict[str, tuple[str, tuple[Column, ...]]] = {}
    for reference in draft.sql.references:
        name = spelling.get(reference.key, reference.name)
        known[reference.key] = (name, upstreams.get(name, ()))
    resolved = resolve(draft.sql, known)
    for finding in resolved.findings:
        line = draft.code_line + finding.line - 1
        problems.append(draft.problem(line, what=finding.what, why=finding.why, fix=finding.fix))
    if resolved.columns is None:
        return Outputs(columns=declared, complete=False)
    by_name = {c.name.lower(): c for c in declared}
    marker = _marker(draft, resolved.columns)
    found = _with(resolved.columns, marker)
    produced = {c.name.lower(): c for c in found}
    for column in declared:
        given = produced.get(column.name.lower())
        if types and given is not None and given is not marker and given.type and column.type:
            problems += _broken_promise(draft, column.name, column.type, given.type)
        if given is None:
            names = [c.name for c in found]
            what = f"the query gives no column `{column.name}`"
            fix = did_you_mean(column.name, names, f"remove it, or name one of: {', '.join(names)}")
            problems.append(draft.document.problem("columns", column.name, what=what, fix=fix))
    columns = tuple(_promised(c, by_name.get(c.name.lower())) for c in found)
    return Outputs(
        columns=columns,
        complete=True,
        lineage=resolved.lineage,
        names={k: n for k, (n, _) in known.items()},
        marker=marker,
        scopes=resolved.scopes,
        sql=draft.sql,
    )


def python_columns(
    draft: Draft, text: str | None, upstreams: Mapping[str, tuple[Column, ...]], spelling: Mapping[str, str]
) -> Outputs:
    """The columns of a Python model that declares none: those of the SQL that it is compiled to, when there is one."""
    nothing = Outputs(columns=(), complete=False)
    found = _compiled(text, upstreams, spelling) if text else None
    if found is None:
        return nothing
    sql, resolved, names = found
    if resolved.columns is None:
        return nothing
    marker = _marker(draft, resolved.columns)
    columns = _with(resolved.columns, marker)
    return Outputs(
        columns=columns, complete=True, lineage=resolved.lineage, names=names, marker=marker, scopes=resolved.scopes,
        sql=sql,
    )  # fmt: skip


def compiled_columns(
    declared: Outputs, text: str, upstreams: Mapping[str, tuple[Column, ...]], spelling: Mapping[str, str]
) -> Outputs:
    """A Python model's columns with what its SQL says of them; as declared when that gives other ones."""
    found = _compiled(text, upstreams, spelling)
    if found is None:
        return declared
    sql, resolved, names = found
    given = [c.name.lower() for c in _with(resolved.columns or (), declared.marker)]
    if given != [c.name.lower() for c in declared.columns]:
        return declared
    return replace(declared, lineage=resolved.lineage, names=names, scopes=resolved.scopes, sql=sql)


def _compiled(
    text: str, upstreams: Mapping[str, tuple[Column, ...]], spelling: Mapping[str, str]
) -> tuple[Sql, Resolved, dict[str, str]] | None:
    """A Python model's SQL, what it says, and the names of what it reads; None when it is none."""
    try:
        sql = parse(text)
    except SqlError:
        return None
    known = {r.key: (spelling[r.key], upstreams.get(spelling[r.key], ())) for r in sql.references if r.key in spelling}
    return sql, resolve(sql, known), {key: name for key, (name, _) in known.items()}


def _broken_promise(draft: Draft, name: str, declared: str, given: str) -> Iterator[Problem]:
    if same_type(declared, given):
        return
    what = f"column `{name}` is declared {declared}, and the query gives {given}"
    why = "plans go by the types of columns where they say what a change leaves as it is"
    fix = f"write `type: {in_yaml(given)}`, or cast it to {declared}"
    yield draft.document.problem("columns", name, "type", what=what, why=why, fix=fix)


def _marker(draft: Draft, columns: Sequence[Column]) -> Column | None:
    """The header's `updated_at`, unless it is a column of the query."""
    name = draft.header.updated_at if draft.header else None
    if name is None or name.lower() in {c.name.lower() for c in columns}:
        return None
    return Column(name=name, type="timestamp", description="When the row was inserted or last changed.")


def _with(columns: Sequence[Column], marker: Column | None) -> tuple[Column, ...]:
    return (*columns, marker) if marker else tuple(columns)


def _promised(column: Column, declared: Column | None) -> Column:
    if declared is None:
        return column
    return Column(
        name=column.name, type=declared.type or column.type, description=declared.description or column.description
    )
