"""Which checks does a model declare? The `audits:` list of a header as `Audit` values, each with a unique name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from backfill_assets.errors import Problem
from backfill_assets.snapshots.documents import Document, did_you_mean
from backfill_assets.snapshots.model import Audit
from backfill_assets.snapshots.validation import Name, Names, Strict, validate

_NAME = re.compile(r"[A-Za-z0-9_]+")


def _plain(value: object) -> object:
    """A scalar as it is; YAML's dates become text, so that arguments stay JSON."""
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if value is None or isinstance(value, Mapping | list | tuple):
        raise ValueError("not a number, a text or a date")
    return value


_Plain = Annotated[Any, BeforeValidator(_plain)]
_Bound = Annotated[Any, BeforeValidator(_plain)] | None


class _Common(Strict):
    name: str | None = None
    severity: Literal["error", "warn"] = "error"


class _NotNull(_Common):
    columns: Names


class _UniqueGrain(_Common):
    columns: Names | None = None


class _Range(_Common):
    column: Name
    min: _Bound = None
    max: _Bound = None

    @model_validator(mode="after")
    def _bounded(self) -> _Range:
        if self.min is None and self.max is None:
            raise ValueError("a range needs `min`, `max` or both")
        return self


class _AcceptedValues(_Common):
    column: Name
    values: Annotated[tuple[_Plain, ...], Field(min_length=1)]


class _Completeness(_Common):
    min_rows: Annotated[int, Field(ge=1, strict=True)] = 1


class _RowCount(_Common):
    within_percent: Annotated[float, Field(ge=0)]
    of: Literal["prod"] = "prod"


_KINDS: dict[str, type[_Common]] = {
    "not_null": _NotNull,
    "unique_grain": _UniqueGrain,
    "range": _Range,
    "accepted_values": _AcceptedValues,
    "completeness": _Completeness,
    "row_count": _RowCount,
}
_EXAMPLES = {
    "not_null": "- not_null: [ds, campaign_id]",
    "unique_grain": "- unique_grain",
    "range": "- range: {column: ctr, min: 0, max: 1}",
    "accepted_values": "- accepted_values: {column: channel, values: [facebook, email]}",
    "completeness": "- completeness",
    "row_count": "- row_count: {within_percent: 5, of: prod}",
}


def parse_audits(
    document: Document, entries: list[Any], grain: tuple[str, ...], problems: list[Problem]
) -> tuple[Audit, ...]:
    """The audits of a header, in order; `unique_grain` is added when it is not declared: every grain is checked."""
    audits: list[Audit] = []
    explicit: dict[str, int] = {}
    parsed: list[tuple[str, _Common, int]] = []
    for index, entry in enumerate(entries):
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
        arguments = options.model_dump(exclude={"name", "severity"}, exclude_none=True)
        if kind == "unique_grain":
            arguments.setdefault("columns", grain)
        name = options.name or _free(_default_name(kind, arguments), taken)
        taken.add(name)
        blocking = options.severity == "error"
        audits.append(Audit(name=name, kind=kind, arguments=arguments, blocking=blocking, line=line))
    key = {c.lower() for c in grain}
    if not any(a.kind == "unique_grain" and {c.lower() for c in audit_columns(a)} == key for a in audits):
        line = document.line_of("grain")
        name = _free("unique_grain", taken)
        audits.append(Audit(name=name, kind="unique_grain", arguments={"columns": grain}, line=line))
    return tuple(audits)


def audit_columns(audit: Audit) -> tuple[str, ...]:
    """The columns that an audit is about."""
    match audit.arguments:
        case {"columns": tuple() as columns}:
            return columns
        case {"column": str() as column}:
            return (column,)
        case _:
            return ()


def _entry(document: Document, index: int, entry: object, problems: list[Problem]) -> tuple[str, _Common, int] | None:
    at: tuple[str | int, ...] = ("audits", index)
    if isinstance(entry, str):
        kind, given = entry, None
    elif isinstance(entry, Mapping) and len(entry) == 1:
        kind, given = next(iter(entry.items()))
    else:
        fix = f"write one kind an entry, as in `{_EXAMPLES['not_null']}`"
        problems.append(document.problem(*at, what="an audit is a name, or one `kind: arguments` pair", fix=fix))
        return None
    model = _KINDS.get(str(kind))
    if model is None:
        known = ", ".join(_KINDS)
        hint = did_you_mean(str(kind), list(_KINDS))
        fix = f"{hint} (known kinds: {known})" if hint else f"known kinds: {known}"
        problems.append(document.problem(*at, what=f"unknown audit `{kind}`", fix=fix))
        return None
    if kind == "not_null" and isinstance(given, str | list | tuple):
        given = {"columns": given}
    elif given is None:
        given = {}
    if not isinstance(given, Mapping):
        what = f"`{kind}` takes named arguments"
        problems.append(document.problem(*at, what=what, fix=f"write `{_EXAMPLES[kind]}`"))
        return None
    example = f"write `{_EXAMPLES[kind]}`"
    options = validate(model, document, dict(given), problems, at=(*at, kind), otherwise=example)
    return None if options is None else (kind, options, document.line_of(*at))


def _default_name(kind: str, arguments: Mapping[str, object]) -> str:
    return f"{kind}_{arguments['column']}" if kind in ("range", "accepted_values") else kind


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
