"""Which checks does a model declare? The `audits:` list of a header as `Audit` values, each with a unique name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from backfill_assets.audits.kinds import EXAMPLES, KINDS, SHORT, AuditKind
from backfill_assets.audits.reads import expressions, groups, other_table, records, texts
from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Audit
from backfill_assets.files.documents import Document, did_you_mean
from backfill_assets.files.validation import validate
from backfill_assets.project.header import Header
from backfill_assets.sql.expressions import columns_of

_NAME = re.compile(r"[A-Za-z0-9_]+")


def parse_audits(
    document: Document, header: Header, problems: list[Problem], *, unsure: bool = False
) -> tuple[Audit, ...]:
    """The audits of a header, in order; `unique_grain` is added when it is not declared: every grain is checked.

    `unsure`: the header does not say its key, so that nothing can be checked against that.
    """
    audits: list[Audit] = []
    explicit: dict[str, int] = {}
    parsed: list[tuple[str, AuditKind, int]] = []
    for index, entry in enumerate(header.audits):
        if (one := _entry(document, index, entry, problems)) is not None:
            parsed.append(one)
    for _, options, line in parsed:
        name = options.name
        if name is None:
            continue
        if not _NAME.fullmatch(name):
            fix = "use letters, digits and _ only"
            problems.append(Problem(file=document.file, line=line, what=f"`{name}` cannot name an audit", fix=fix))
        elif name in explicit:
            why = f"line {explicit[name]} has the same name, and results are filed by name"
            what = f"two audits are named `{name}`"
            problems.append(Problem(file=document.file, line=line, what=what, why=why, fix="rename one of them"))
        explicit.setdefault(name, line)
    taken = set(explicit)
    for kind, options, line in parsed:
        given = options.model_dump(exclude={"name", "severity"})
        arguments = {key: value for key, value in given.items() if value is not None}
        if kind == "known_records" and not unsure:
            _check_records(document, header, arguments, line, problems)
        name = options.name or _free(_default_name(kind, arguments), taken)
        taken.add(name)
        blocking = options.severity == "error"
        audits.append(Audit(name=name, kind=kind, arguments=arguments, blocking=blocking, line=line))
    if not any(a.kind == "unique_grain" for a in audits):
        line = document.line_of("grain")
        audits.append(Audit(name=_free("unique_grain", taken), kind="unique_grain", line=line))
    return tuple(audits)


def audit_columns(audit: Audit) -> tuple[str, ...]:
    """The columns of the model that an audit is about."""
    arguments = audit.arguments
    found: dict[str, str] = {}
    for name in (
        *texts(arguments.get("columns")),
        *texts(arguments.get("column")),
        *(column for text in expressions(arguments) for column in columns_of(text)),
        *groups(audit),
        *(column for record in records(audit) for column in record),
    ):
        found.setdefault(name.lower(), name)
    return tuple(found.values())


def _entry(document: Document, index: int, entry: object, problems: list[Problem]) -> tuple[str, AuditKind, int] | None:
    at: tuple[str | int, ...] = ("audits", index)
    if isinstance(entry, str):
        kind, given = entry, None
    elif isinstance(entry, Mapping) and len(entry) == 1:
        kind, given = next(iter(entry.items()))
    else:
        fix = f"write one kind an entry, as in `{EXAMPLES['not_null']}`"
        problems.append(document.problem(*at, what="an audit is a name, or one `kind: arguments` pair", fix=fix))
        return None
    model = KINDS.get(str(kind))
    if model is None:
        known = ", ".join(KINDS)
        hint = did_you_mean(str(kind), list(KINDS))
        fix = f"{hint} (known kinds: {known})" if hint else f"known kinds: {known}"
        problems.append(document.problem(*at, what=f"unknown audit `{kind}`", fix=fix))
        return None
    if kind in SHORT and given is not None and not isinstance(given, Mapping):
        given = {SHORT[kind]: given}
    elif given is None:
        given = {}
    example = f"write `{EXAMPLES[kind]}`"
    if not isinstance(given, Mapping):
        problems.append(document.problem(*at, what=f"`{kind}` takes named arguments", fix=example))
        return None
    options = validate(model, document, dict(given), problems, at=(*at, kind), otherwise=example)
    return None if options is None else (kind, options, document.line_of(*at))


def _check_records(
    document: Document, header: Header, arguments: Mapping[str, Any], line: int, problems: list[Problem]
) -> None:
    """A known record names its row by the whole grain, and its interval by the time column; no two name the same."""
    key = tuple(dict.fromkeys(name.lower() for name in (*header.grain, header.time_column)))
    seen: set[tuple[str, ...]] = set()

    def report(what: str, fix: str, why: str = "") -> None:
        problems.append(Problem(file=document.file, line=line, what=what, why=why, fix=fix))

    for number, record in enumerate(arguments["records"], start=1):
        values = {name.lower(): value for name, value in record.items()}
        if lacking := [name for name in key if name not in values]:
            why = f"a row is found by {', '.join(key)}"
            report(f"known record {number} does not say its `{lacking[0]}`", f"add `{lacking[0]}: …` to it", why)
            continue
        try:
            utc(str(values[header.time_column.lower()]))
        except ValueError:
            what = f"known record {number}: `{header.time_column}` is not a date or an instant"
            report(what, f"write `{header.time_column}: 2024-01-31`")
        name = tuple(str(values[column]) for column in key)
        if name in seen:
            report(f"known record {number} is about the same row as one before it", "keep one of them")
        seen.add(name)


def _default_name(kind: str, arguments: Mapping[str, object]) -> str:
    match kind:
        case "range" | "accepted_values" | "null_rate" | "entities":
            parts = [kind, str(arguments["column"])]
        case "unique":
            parts = [kind, *texts(arguments["columns"])]
        case "relationships":
            parts = [kind, str(other_table(kind, arguments))]
        case "reconcile":
            parts = [kind, str(arguments["of"])]
        case "sql":
            parts = [str(arguments["file"])]
        case _:
            parts = [kind]
    return re.sub(r"[^A-Za-z0-9_]", "_", "_".join(parts))


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
