"""Does a model's header fit its columns? The finished `Model`, from its draft and what was found out about it."""

from __future__ import annotations

from backfill_assets.errors import Problem
from backfill_assets.intervals import Cadence
from backfill_assets.settings import Settings
from backfill_assets.snapshots.audits import audit_columns, parse_audits
from backfill_assets.snapshots.documents import did_you_mean
from backfill_assets.snapshots.draft import Draft
from backfill_assets.snapshots.header import DeclaredTerms
from backfill_assets.snapshots.model import Audit, Model, Rule, Terms, Upstream
from backfill_assets.snapshots.outputs import Outputs


def build_model(
    draft: Draft, settings: Settings, upstreams: tuple[Upstream, ...], outputs: Outputs, problems: list[Problem]
) -> Model | None:
    """The model; None when its header has problems. Names of columns that it does not have are problems."""
    header = draft.header
    if header is None:
        return None
    audits = parse_audits(draft.document, header.audits, header.grain, problems)
    if outputs.complete:
        problems += _column_problems(draft, audits, outputs)
    declared = tuple(c for c in outputs.columns if c.name.lower() in {n.lower() for n in header.columns})
    return Model(
        helpers=tuple(file for file in draft.modules if not draft.path.as_posix().endswith(f"/{file}")),
        name=draft.name, path=draft.path, language=draft.language, code=draft.code, code_line=draft.code_line,
        description=header.description or draft.description, owner=header.owner, cadence=header.cadence,
        start=header.start, end=header.end, time_column=header.time_column, grain=header.grain,
        lookback=header.lookback, batch_size=header.batch_size or settings.batch_size,
        batch_concurrency=header.batch_concurrency, retries=header.retries,
        timeout=round(header.timeout) if header.timeout else None, pool=header.pool, spark=header.spark,
        tags=header.tags, columns=declared, audits=audits, upstreams=upstreams, terms=_terms(header.contract),
    )  # fmt: skip


def _terms(said: DeclaredTerms) -> Terms:
    return Terms(
        semantics=said.semantics, deletes=said.deletes, late_rows=said.late_rows,
        validation_owner=said.validation_owner,
        rules=tuple(Rule(text=r.rule, since=r.since, until=r.until) for r in said.rules),
    )  # fmt: skip


def _column_problems(draft: Draft, audits: tuple[Audit, ...], outputs: Outputs) -> list[Problem]:
    """Columns that the header names and the model does not have; a time column of a type that cannot hold intervals."""
    header, document = draft.header, draft.document
    assert header is not None
    types = {c.name.lower(): c.type for c in outputs.columns}
    names = [c.name for c in outputs.columns]
    found: list[Problem] = []

    def check(column: str, role: str, *path: str | int) -> None:
        if column.lower() not in types:
            fix = did_you_mean(column, names, f"use one of: {', '.join(names)}")
            what = f"{role} `{column}` is not a column of `{draft.name}`"
            found.append(document.problem(*path, what=what, fix=fix))

    check(header.time_column, "the time column", "time_column")
    for index, column in enumerate(header.grain):
        check(column, "the grain's", "grain", index)
    for index, audit in enumerate(audits[: len(header.audits)]):
        for column in audit_columns(audit):
            if not (audit.kind == "unique_grain" and column in header.grain):
                check(column, f"audit `{audit.name}`:", "audits", index)
    for column in header.contract.semantics:
        check(column, "the contract's", "contract", "semantics", column)
    needed = "timestamp" if header.cadence is Cadence.HOURLY else "date"
    actual = types.get(header.time_column.lower())
    if actual is not None and actual != needed:
        what = f"the time column `{header.time_column}` is {actual}; a {header.cadence.value} model needs a {needed}"
        fix = f"write `CAST(… AS {needed.upper()}) AS {header.time_column}`"
        found.append(document.problem("time_column", what=what, why="batches are written by its value", fix=fix))
    return found
