"""Which tables do audits look at, and which queries do they run? Names resolved, `audits/*.sql` read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from sqlglot import exp

from backfill_assets.audits.kinds import kind_of
from backfill_assets.audits.reads import audit_tables, other_table, period
from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Audit, Column, Model, Source
from backfill_assets.core.wording import did_you_mean
from backfill_assets.files.texts import read_text
from backfill_assets.project.audit_check import family
from backfill_assets.project.files import AUDITS_FOLDER, audit_files
from backfill_assets.project.graph import cycles, ordered
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import SqlError, parse

_LENGTHS = {cadence: number for number, cadence in enumerate(Cadence)}
_PARAMETERS = ("start", "end")


def link_audits(
    root: Path,
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    columns: Mapping[str, tuple[Column, ...]],
    problems: list[Problem],
    *,
    certain: bool = True,
) -> dict[str, Model]:
    """The models with complete audits, each model after those that it or its audits read.

    `columns` are those of each model and source (none: unknown). What is wrong with an audit is a problem; an unknown
    table only when it is `certain` that all names are known.
    """
    tables = _Tables(
        root=root, models=models, sources=sources, columns=columns, problems=problems, certain=certain
    )  # fmt: skip
    linked = {
        name: replace(model, audits=tuple(tables.audit(model, audit) for audit in model.audits))
        for name, model in models.items()
    }
    edges = {
        n: [*(u.name for u in m.upstreams), *(t for t in audit_tables(m) if t in models)] for n, m in linked.items()
    }
    for chain in cycles(edges):
        _report_cycle(chain, linked, problems)
        for reader, read in pairwise(chain):
            edges[reader] = [e for e in edges[reader] if e != read]
    return {name: linked[name] for name in ordered(edges)}


def _report_cycle(chain: Sequence[str], models: Mapping[str, Model], problems: list[Problem]) -> None:
    for reader, read in pairwise(chain):
        audit = next(
            (a for a in models[reader].audits if read in audit_tables(replace(models[reader], audits=(a,)))), None
        )
        if audit is not None and read not in [u.name for u in models[reader].upstreams]:
            what = f"audit `{audit.name}` of `{reader}` looks at `{read}`, which is built after `{reader}`"
            why = f"{' needs '.join(chain)}"
            fix = f"declare it in `{read}`, about `{reader}`"
            problems.append(Problem(file=models[reader].path, line=audit.line, what=what, why=why, fix=fix))
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """Everything that an audit may name."""

    root: Path
    models: Mapping[str, Model]
    sources: Mapping[str, Source]
    columns: Mapping[str, tuple[Column, ...]]
    problems: list[Problem]
    certain: bool

    def audit(self, model: Model, audit: Audit) -> Audit:
        """The audit with the declared spelling of what it names, and its query."""
        if "file" in audit.arguments:
            return self._query(model, audit)
        longer = period(audit)
        if longer and (longer is model.cadence or not _fits(model.cadence, longer)):
            what = f"audit `{audit.name}`: a {longer.unit} does not consist of several {model.cadence.value} intervals"
            fits = [c.value for c in Cadence if c is not model.cadence and _fits(model.cadence, c)]
            self._problem(model, audit, what, "", f"write one of {', '.join(fits)}" if fits else "remove `period:`")
        name = other_table(audit.arguments)
        if name is None:
            return audit
        other = self._named(name)
        if other is None:
            self._unknown(model.path, audit.line, f"audit `{audit.name}` looks at `{name}`", name)
            return audit
        if other == model.name:
            what = f"audit `{audit.name}` compares `{other}` with itself"
            fix = "write an `sql` audit for a rule between its own rows"
            self._problem(model, audit, what, "only intervals that are just built are audited", fix)
            return audit
        kind = kind_of(audit)
        for column in kind.there():
            self._check_column(model, audit, other, column)
        for pair in kind.looked_up():
            self._check_types(model, audit, other, *pair)
        if kind.by_interval:
            self._check_time(model, audit, other)
        return replace(audit, arguments={**audit.arguments, "to" if "to" in audit.arguments else "of": other})

    def _check_column(self, model: Model, audit: Audit, other: str, column: str) -> None:
        known = [c.name for c in self.columns.get(other, ())]
        if known and column.lower() not in {n.lower() for n in known}:
            fix = did_you_mean(column, known, f"use one of: {', '.join(known)}")
            self._problem(model, audit, f"audit `{audit.name}`: `{column}` is not a column of `{other}`", "", fix)

    def _check_types(self, model: Model, audit: Audit, other: str, here: str, there: str) -> None:
        """A text is no number: Spark would cast one of them, row by row, and fail at the first that it cannot."""
        kinds = [self._type(model.name, here), self._type(other, there)]
        families = [family(kind) for kind in kinds]
        if None not in families and families[0] != families[1]:
            what = f"audit `{audit.name}`: `{here}` is {kinds[0]}, `{there}` of `{other}` is {kinds[1]}"
            fix = f"look up a column of a type like {kinds[0]}, or CAST one in its model"
            self._problem(model, audit, what, "they cannot be equal", fix)

    def _type(self, table: str, column: str) -> str | None:
        return next((c.type for c in self.columns.get(table, ()) if c.name.lower() == column.lower()), None)

    def _check_time(self, model: Model, audit: Audit, other: str) -> None:
        """Whether the other table's rows can be told by the model's intervals."""
        cadence = period(audit) or model.cadence
        what = f"audit `{audit.name}` cannot compare by {cadence.value} intervals with `{other}`"
        if other in self.sources:
            if self.sources[other].time_column is None:
                fix = f"add `time_column:` to `{other}` in sources.yml"
                self._problem(model, audit, what, "nothing says when its rows are of", fix)
            elif model.time_zone and self._type(other, self.sources[other].time_column or "") != "date":
                why = f"`{model.name}` has local days of {model.time_zone}, and the source's times are those of UTC"
                fix = f"reconcile with a model of the same `time_zone` that reads `{other}`"
                self._problem(model, audit, what, why, fix)
        elif self.models[other].time_zone != model.time_zone:
            zones = [f"days of {m.time_zone or 'UTC'}" for m in (self.models[other], model)]
            why = f"`{other}` has {zones[0]}, `{model.name}` {zones[1]}"
            self._problem(model, audit, what, why, "reconcile models of the same `time_zone`")
        elif not _fits(self.models[other].cadence, cadence):
            why = f"`{other}` is {self.models[other].cadence.value}"
            self._problem(model, audit, what, why, f"declare it in `{other}`, about `{model.name}`")

    def _query(self, model: Model, audit: Audit) -> Audit:
        """The audit with its file's one query, and the tables that this reads."""
        path = self.root / AUDITS_FOLDER / f"{audit.arguments['file']}.sql"
        if not path.is_file():
            there = [p.stem for p in audit_files(self.root)]
            fix = did_you_mean(path.stem, there, f"write the query into {AUDITS_FOLDER}/{path.name}")
            what = f"audit `{audit.name}`: there is no file {AUDITS_FOLDER}/{path.name}"
            self._problem(model, audit, what, "", fix)
            return audit
        text = read_text(path, self.problems)
        if text is None:
            return audit
        query = text.strip().rstrip("; \n\t")
        before = text[: len(text) - len(text.lstrip())].count("\n")
        reads = self._reads(path, query, before)
        return replace(audit, arguments={**audit.arguments, "query": query, "reads": reads})

    def _reads(self, path: Path, query: str, before: int) -> tuple[str, ...]:
        def report(line: int, what: str, why: str, fix: str) -> None:
            self.problems.append(Problem(file=path, line=line + before, what=what, why=why, fix=fix))

        try:
            sql = parse(query)
        except SqlError as error:
            report(error.line, error.what, error.why, "correct the query at this line")
            return ()
        if len(sql.statements) != 1 or not isinstance(sql.statements[0], exp.Query):
            why = "an audit's query gives the rows that fail"
            report(1, "an audit's file holds one query", why, "write one SELECT of rows that should not be there")
            return ()
        for parameter, line in sql.parameters.items():
            if parameter not in _PARAMETERS:
                why = "a query gets :start and :end, nothing else"
                report(line, f"unknown parameter `:{parameter}`", why, "write the value into the query")
        known: dict[str, tuple[str, tuple[Column, ...]]] = {}
        for reference in sql.references:
            name = self._named(reference.name)
            if name is None:
                self._unknown(path, before + reference.line, f"the audit reads `{reference.name}`", reference.name)
            elif reference.time_travel:
                why = "audits look at exactly what was built, and at what the plan froze"
                report(
                    reference.line, f"`{name}` is read at a fixed version", why, "remove the VERSION or TIMESTAMP AS OF"
                )
            else:
                known[reference.key] = (name, self.columns.get(name, ()))
        for finding in (
            resolve(sql, known, named=False).findings if len(known) == len({r.key for r in sql.references}) else ()
        ):
            report(finding.line, finding.what, finding.why, finding.fix)
        return tuple(dict.fromkeys(name for name, _ in known.values()))

    def _named(self, name: str) -> str | None:
        return next((n for n in (*self.models, *self.sources) if n.lower() == name.lower()), None)

    def _unknown(self, file: Path, line: int, what: str, name: str) -> None:
        if not self.certain:
            return
        otherwise = f"add a model `{name}`, or declare it in sources.yml"
        fix = did_you_mean(name, [*self.models, *self.sources], otherwise)
        why = "no model or source has that name"
        self.problems.append(Problem(file=file, line=line, what=what, why=why, fix=fix))

    def _problem(self, model: Model, audit: Audit, what: str, why: str, fix: str) -> None:
        self.problems.append(Problem(file=model.path, line=audit.line, what=what, why=why, fix=fix))


def _fits(inner: Cadence, outer: Cadence) -> bool:
    """Whether intervals of the one cadence add up to those of the other (weeks do not add up to months)."""
    return inner is outer or (_LENGTHS[inner] < _LENGTHS[outer] and inner is not Cadence.WEEKLY)
