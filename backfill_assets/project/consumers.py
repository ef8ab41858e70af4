"""Who reads the project's tables? `consumers.yml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from backfill_assets.core.consumer import CONSUMERS_FILE, Bound, Consumer, ConsumerQuery, Evaluation, ModelUse
from backfill_assets.core.errors import Problem
from backfill_assets.core.wording import did_you_mean
from backfill_assets.files.documents import Document
from backfill_assets.files.validation import Day, Strict, validate
from backfill_assets.project.consumer_entry import ConsumerEntry
from backfill_assets.project.sources import read_list
from backfill_assets.sql.parsing import SqlError, parse
from backfill_assets.sql.read_only import not_read_only

VERIFIED = "last_verified"

_FIXES = {
    "kind": "write dashboard, export, report, notebook, service, model or agent",
    "reads": "add `reads: [model, …]`, or `reads: {model: [column, …]}`: what it reads in prod",
    "criticality": "write low, medium or high",
    "how": "write view, export (runs now and then) or extract (keeps a copy)",
    "notice": "write it as `14 days`",
    "queries": "write `- {name: …, sql: SELECT …, min_rows: 1, bounds: {column: {min: 0}}}`",
    "evaluations": "write `- {name: …, query: …, days: 2024-01-01..2024-03-31}`, or `command:` instead of `query:`",
    VERIFIED: "write the day on which somebody asked its owner, as 2024-01-31",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredConsumers:
    """The consumers by name, and when somebody last made sure that nobody is missing."""

    entries: Mapping[str, Consumer]
    verified: date | None = None


def read_consumers(root: Path, models: list[str], environment: str, problems: list[Problem]) -> DeclaredConsumers:
    """What the file says; what is read is spelled as the models are. Problems are appended."""
    spelling = {m.lower(): m for m in models}
    consumers: dict[str, Consumer] = {}
    listed = read_list(root / CONSUMERS_FILE, "consumers", problems, beside=frozenset((VERIFIED,)))
    document = listed.document
    said = {VERIFIED: document.data.get(VERIFIED)} if isinstance(document.data, Mapping) else {}
    head = validate(_Head, document, said, problems, fixes=_FIXES)
    verified = head.last_verified if head else None
    for index, data in enumerate(listed.items):
        entry = validate(ConsumerEntry, document, data, problems, at=("consumers", index), fixes=_FIXES)
        if entry is None:
            continue
        if entry.name in consumers:
            what, why = f"two consumers are named `{entry.name}`", f"the other is at line {consumers[entry.name].line}"
            problems.append(document.problem("consumers", index, what=what, why=why, fix="rename one of them"))
            continue
        problems += _unknown_models(document, index, entry, spelling)
        problems += _wrong_queries(document, index, entry, spelling, environment)
        consumers[entry.name] = _consumer(document, index, entry, spelling, verified)
    return DeclaredConsumers(entries=consumers, verified=verified)


def consumer_names(root: Path) -> list[str]:
    """The names in the file, whatever else is wrong with it."""
    listed = read_list(root / CONSUMERS_FILE, "consumers", [], beside=frozenset((VERIFIED,)))
    return [str(data["name"]) for data in listed.items if isinstance(data, Mapping) and "name" in data]


class _Head(Strict):
    last_verified: Day | None = None


def _consumer(
    document: Document, index: int, entry: ConsumerEntry, spelling: Mapping[str, str], verified: date | None
) -> Consumer:
    reads = {spelling.get(name.lower(), name): use for name, use in entry.reads.items()}
    return Consumer(
        name=entry.name, kind=entry.kind, owner=entry.owner, criticality=entry.criticality, how=entry.how,
        description=entry.description, url=entry.url, notice=entry.notice, reads=tuple(reads),
        uses={
            n: ModelUse(columns=u.columns, history=entry.history if u.history is None else u.history)
            for n, u in reads.items()
        },
        queries=tuple(
            ConsumerQuery(
                name=q.name, sql=q.sql, min_rows=q.min_rows,
                bounds=tuple(Bound(column=c, min=b.min, max=b.max) for c, b in q.bounds.items()),
            )
            for q in entry.queries
        ),
        evaluations=tuple(
            Evaluation(name=e.name, days=e.days, query=e.query, command=e.command, variables=e.variables)
            for e in entry.evaluations
        ),
        last_verified=entry.last_verified or verified,
        file=document.file, line=document.line_of("consumers", index),
    )  # fmt: skip


def _unknown_models(
    document: Document, index: int, entry: ConsumerEntry, spelling: Mapping[str, str]
) -> Iterator[Problem]:
    models = list(spelling.values())
    for position, name in enumerate(entry.reads):
        if name.lower() not in spelling:
            others = [model for key, model in spelling.items() if key not in {read.lower() for read in entry.reads}]
            known = (
                f"models are: {', '.join(sorted(models)) or 'none yet'}; one that was removed stays until nobody reads "
                f"it: bring its file back, and take it out once `{entry.name}` reads another"
            )
            fix = did_you_mean(name, others, known)
            what, why = f"`{entry.name}` reads `{name}`, which is not a model", "consumers read models only"
            listed = ("consumers", index, "reads", position)
            at = listed if listed in document.lines else ("consumers", index, "reads", name)
            yield document.problem(*at, what=what, why=why, fix=fix)


def _wrong_queries(
    document: Document, index: int, entry: ConsumerEntry, spelling: Mapping[str, str], environment: str
) -> Iterator[Problem]:
    """Queries that are no SQL, or read views that the entry does not name; evaluations by unknown queries."""
    at: tuple[str | int, ...] = ("consumers", index)
    reads = {name.lower() for name in entry.reads}
    names = [q.name for q in entry.queries]
    for number, query in enumerate(entry.queries):
        place = (*at, "queries", number, "sql")
        if names.index(query.name) != number:
            what = f"two queries of `{entry.name}` are named `{query.name}`"
            yield document.problem(*at, "queries", number, what=what, fix="rename one of them")
        try:
            sql = parse(query.sql)
        except SqlError as error:
            fix = "correct the query; it is run as it is written"
            yield document.problem(*place, what=f"query `{query.name}` is not valid SQL", why=error.why, fix=fix)
            continue
        if (wrong := not_read_only(sql)) is not None:
            reason, line = wrong
            fix = "write one SELECT that reads views; give each further one a name of its own"
            what, why = f"query `{query.name}` is refused: {reason}", "a consumer's query is one SELECT"
            problem = document.problem(*place, what=what, why=why, fix=fix)
            yield replace(problem, line=problem.line + (line - 1 if "\n" in query.sql.strip() else 0))
            continue
        for reference in sql.references:
            schema, _, name = reference.key.rpartition(".")
            if schema and schema != environment.lower():
                continue
            if name not in spelling or not schema:
                named = spelling.get(name) or did_you_mean(name, list(spelling.values()))
                fix = f"write `{environment}.{named}`" if name in spelling else named or "name a view of a model"
                what = f"query `{query.name}` reads `{reference.name}`, which is not a view"
                yield document.problem(*place, what=what, why=f"views are `{environment}.model`", fix=fix)
            elif name not in reads:
                what = f"query `{query.name}` reads `{reference.name}`, which is not among what `{entry.name}` reads"
                why = "nobody would be told when it changes"
                yield document.problem(*place, what=what, why=why, fix=f"add `{spelling[name]}` to `reads`")
    for number, evaluation in enumerate(entry.evaluations):
        if evaluation.query and evaluation.query not in names:
            fix = did_you_mean(evaluation.query, names, f"its queries are: {', '.join(names) or 'none yet'}")
            what = f"evaluation `{evaluation.name}` names `{evaluation.query}`, no query of `{entry.name}`"
            yield document.problem(*at, "evaluations", number, what=what, fix=fix)
