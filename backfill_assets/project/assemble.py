"""Does a model's header fit its columns? The finished `Model`, from its draft and what was found out about it."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.core.digest import digest
from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import EXACT, STABLE_KEY, Audit, Model, Rule, SameAs, Terms, Upstream
from backfill_assets.core.settings import Settings
from backfill_assets.core.wording import did_you_mean
from backfill_assets.project.audit_check import audit_problems
from backfill_assets.project.declared_audits import parse_audits
from backfill_assets.project.draft import Draft
from backfill_assets.project.header import DeclaredTerms, Header
from backfill_assets.project.outputs import Outputs

_DECLARED_ALONE = "its columns cannot be told from its code: it has those that its `columns` declare, which are all"


def build_model(
    draft: Draft, settings: Settings, upstreams: tuple[Upstream, ...], outputs: Outputs, problems: list[Problem]
) -> Model | None:
    """The model; None when its header has problems. Names of columns that it does not have are problems."""
    header = draft.header
    if header is None:
        return None
    audits = parse_audits(draft.document, header, problems, unsure=bool(draft.wrong & {"grain", "time_column"}))
    audits += _implied(header, audits)
    if outputs.complete:
        found = [*_column_problems(draft, outputs), *audit_problems(draft, audits, outputs.columns)]
        alone = draft.language == "python" and outputs.sql is None
        problems += [replace(p, why=_DECLARED_ALONE) if alone and not p.why else p for p in found]
    declared = tuple(c for c in outputs.columns if c.name.lower() in {n.lower() for n in header.columns})
    return Model(
        helpers=tuple(file for file in draft.modules if not draft.path.as_posix().endswith(f"/{file}")),
        name=draft.name, path=draft.path, language=draft.language, code=draft.code, code_line=draft.code_line,
        text=digest(draft.logic),
        description=header.description or draft.description, owner=header.owner, cadence=header.cadence,
        time_zone=header.time_zone, start=header.start, end=header.end, time_column=header.time_column,
        grain=header.grain, lookback=header.lookback, settle=header.settle or 0, ready=header.ready, write=header.write,
        dedupe=header.dedupe.order_by if header.dedupe else (),
        updated_at=header.updated_at, batch_size=header.batch_size or settings.batch_size or 0,
        batch_concurrency=header.batch_concurrency, retries=header.retries,
        timeout=round(header.timeout) if header.timeout else None, pool=header.pool, spark=header.spark,
        tags=header.tags, columns=declared, audits=audits, upstreams=upstreams,
        promised={name: c.type for name, c in header.columns.items() if c.type}, terms=_terms(header.contract),
        code_version=header.code_version, same_as=_same_as(draft),
        allow_nondeterministic=header.allow_nondeterministic or "",
        slices=header.slices, mask=header.mask, unmask=header.unmask, tolerance=header.tolerance,
    )  # fmt: skip


def _terms(said: DeclaredTerms) -> Terms:
    return Terms(
        semantics=said.semantics, deletes=said.deletes, late_rows=said.late_rows,
        validation_owner=said.validation_owner,
        rules=tuple(Rule(text=r.rule, since=r.since, until=r.until) for r in said.rules),
    )  # fmt: skip


def _same_as(draft: Draft) -> SameAs | None:
    said = draft.header.same_as if draft.header else None
    if said is None:
        return None
    line = draft.document.line_of("same_as")
    columns = tuple(c.lower() for c in said.columns)
    return SameAs(version=said.version, code=said.code or "", columns=columns, reason=said.reason, line=line)


def _implied(header: Header, audits: tuple[Audit, ...]) -> tuple[Audit, ...]:
    """A merged model's key is stable: one that does not tell the interval must be in one interval only."""
    if header.write != "merge" or header.time_column.lower() in {c.lower() for c in header.grain}:
        return ()
    taken = {a.name for a in audits}
    name = next(n for n in (STABLE_KEY, *(f"{STABLE_KEY}_{i}" for i in range(2, 99))) if n not in taken)
    return (Audit(name=name, kind=STABLE_KEY, arguments={"columns": header.grain}),)


def _column_problems(draft: Draft, outputs: Outputs) -> list[Problem]:
    """Columns that the header names and the model does not have; a time column of a type that cannot hold intervals."""
    header, document = draft.header, draft.document
    assert header is not None
    types = {c.name.lower(): c.type for c in outputs.columns}
    names = [c.name for c in outputs.columns]
    found: list[Problem] = []

    def check(column: str, role: str, *path: str | int) -> None:
        if path[0] in draft.wrong:
            return
        if column.lower() not in types:
            fix = did_you_mean(column, names, f"use one of: {', '.join(names)}")
            what = f"{role} `{column}` is not a column of `{draft.name}`"
            found.append(document.problem(*path, what=what, fix=fix))

    check(header.time_column, "the time column", "time_column")
    for index, column in enumerate(header.grain):
        check(column, "the grain's", "grain", index)
    for index, order in enumerate(header.dedupe.order_by if header.dedupe else ()):
        if order == EXACT:
            continue
        check(order.column, "the order of `dedupe`:", "dedupe", "order_by", index)
    for column in header.contract.semantics:
        check(column, "the contract's", "contract", "semantics", column)
    for role, columns in (("slices", header.slices), ("mask", header.mask), ("unmask", tuple(header.unmask))):
        for index, column in enumerate(columns):
            check(column, f"{role}:", role, column if role == "unmask" else index)
    needed = "timestamp" if header.cadence is Cadence.HOURLY else "date"
    actual = types.get(header.time_column.lower())
    if actual is not None and actual != needed and not draft.wrong & {"cadence", "time_column"}:
        what = f"the time column `{header.time_column}` is {actual}; a {header.cadence.value} model needs a {needed}"
        fix = f"write `CAST(… AS {needed.upper()}) AS {header.time_column}`"
        found.append(document.problem("time_column", what=what, why="batches are written by its value", fix=fix))
    return found
