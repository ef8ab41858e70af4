"""Which checks does a model declare? The `audits:` list of a header as `Audit` values, each with a unique name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from backfill_assets.audits.kinds import KINDS
from backfill_assets.audits.kinds.base import AuditKind
from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Audit
from backfill_assets.core.wording import did_you_mean
from backfill_assets.files.documents import Document
from backfill_assets.files.validation import validate
from backfill_assets.project.header import Header

_NAME = re.compile(r"[A-Za-z0-9_]+")


def parse_audits(
    document: Document, header: Header, problems: list[Problem], *, unsure: bool = False
) -> tuple[Audit, ...]:
    """The audits of a header, in order; `unique_grain` is added when it is not declared: every grain is checked.

    `unsure`: the header does not say its key, so that nothing can be checked against that.
    """
    audits: list[Audit] = []
    explicit: dict[str, int] = {}
    parsed: list[tuple[AuditKind, int]] = []
    for index, entry in enumerate(header.audits):
        if (one := _entry(document, index, entry, problems)) is not None:
            parsed.append(one)
    for options, line in parsed:
        name = options.name
        if name is None:
            continue
        if not _NAME.fullmatch(name):
            fix = "use ASCII letters (a-z, A-Z), digits and _ only"
            problems.append(Problem(file=document.file, line=line, what=f"`{name}` cannot name an audit", fix=fix))
        elif name in explicit:
            why = f"line {explicit[name]} has the same name, and results are filed by name"
            what = f"two audits are named `{name}`"
            problems.append(Problem(file=document.file, line=line, what=what, why=why, fix="rename one of them"))
        explicit.setdefault(name, line)
    taken = set(explicit)
    for options, line in parsed:
        for what, why, fix in () if unsure else options.wrong(header.grain, header.time_column):
            problems.append(Problem(file=document.file, line=line, what=what, why=why, fix=fix))
        given = options.model_dump(exclude={"name", "severity"})
        arguments = {key: value for key, value in given.items() if value is not None}
        name = options.name or _free(re.sub(r"[^A-Za-z0-9_]", "_", "_".join(options.title())), taken)
        taken.add(name)
        blocking = options.severity == "error"
        audits.append(Audit(name=name, kind=options.kind, arguments=arguments, blocking=blocking, line=line))
    if not any(a.kind == "unique_grain" for a in audits):
        line = document.line_of("grain")
        audits.append(Audit(name=_free("unique_grain", taken), kind="unique_grain", line=line))
    return tuple(audits)


def _entry(document: Document, index: int, entry: object, problems: list[Problem]) -> tuple[AuditKind, int] | None:
    at: tuple[str | int, ...] = ("audits", index)
    if isinstance(entry, str):
        kind, given = entry, None
    elif isinstance(entry, Mapping) and len(entry) == 1:
        kind, given = next(iter(entry.items()))
    else:
        fix = f"write one kind an entry, as in `{KINDS['not_null'].example}`"
        named = [key for key in entry if key in KINDS] if isinstance(entry, Mapping) else []
        if isinstance(entry, Mapping) and len(named) == 1:
            others = ", ".join(f"`{key}`" for key in entry if key not in named)
            fix = f"write {others} among the arguments of `{named[0]}`: `- {named[0]}: {{…}}`"
        problems.append(document.problem(*at, what="an audit is a name, or one `kind: arguments` pair", fix=fix))
        return None
    model = KINDS.get(str(kind))
    if model is None:
        known = ", ".join(KINDS)
        hint = did_you_mean(str(kind), list(KINDS))
        fix = f"{hint} (known kinds: {known})" if hint else f"known kinds: {known}"
        problems.append(document.problem(*at, what=f"unknown audit `{kind}`", fix=fix))
        return None
    if model.short and given is not None and not isinstance(given, Mapping):
        given = {model.short: given}
    elif given is None:
        given = {}
    example = f"write `{model.example}`"
    if not isinstance(given, Mapping):
        problems.append(document.problem(*at, what=f"`{kind}` takes named arguments", fix=example))
        return None
    options = validate(model, document, dict(given), problems, at=(*at, kind), otherwise=example)
    return None if options is None else (options, document.line_of(*at))


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
