"""Do a model's audits fit its columns? Names that it does not have, and values that a column's type cannot hold."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.audits.kinds import kind_of
from backfill_assets.audits.reads import columns as audit_columns
from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Audit, Column
from backfill_assets.core.wording import did_you_mean
from backfill_assets.project.draft import Draft

_FAMILIES = {
    "number": ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    "text": ("string", "varchar", "char"),
    "time": ("date", "timestamp", "timestamp_ntz"),
    "truth": ("boolean",),
}


def audit_problems(draft: Draft, audits: Sequence[Audit], columns: Sequence[Column]) -> list[Problem]:
    """What is wrong, at the line of each audit. `columns` are all that the model has."""
    types = {c.name.lower(): c.type for c in columns}
    names = [c.name for c in columns]
    found: list[Problem] = []
    for audit in audits:
        for column in audit_columns(audit):
            if column.lower() not in types:
                fix = did_you_mean(column, names, f"use one of: {', '.join(names)}")
                what = f"audit `{audit.name}`: `{column}` is not a column of `{draft.name}`"
                found.append(draft.problem(audit.line, what=what, fix=fix))
        for column in kind_of(audit).timed():
            if (kind := types.get(column.lower())) is not None and family(kind) != "time":
                what = f"audit `{audit.name}`: `{column}` is {kind}, not a date or a timestamp"
                found.append(draft.problem(audit.line, what=what, fix=f"write `CAST(… AS TIMESTAMP) AS {column}`"))
        for column, value in kind_of(audit).compared():
            if need := _wrong(types.get(column.lower()), value):
                what = f"audit `{audit.name}`: `{column}` is {types[column.lower()]}, and {value!r} is not {need}"
                fix = "put it in quotes" if need == "text" else f"write {need}"
                found.append(draft.problem(audit.line, what=what, why="Spark could not compare them", fix=fix))
    return found


def family(kind: str | None) -> str | None:
    """Which types this one is compared with as it is; None when nobody knows, or when it is a type of its own."""
    base = (kind or "").partition("(")[0]
    return next((name for name, kinds in _FAMILIES.items() if base in kinds), None)


def _wrong(kind: str | None, value: object) -> str | None:
    """What a value of this type is, when this one is not."""
    match None if value is None else family(kind):
        case "number":
            return None if isinstance(value, int | float) and not isinstance(value, bool) else "a number"
        case "text":
            return None if isinstance(value, str) else "text"
        case "truth":
            return None if isinstance(value, bool) else "true or false"
        case "time":
            try:
                utc(str(value))
            except ValueError:
                return "a date or an instant"
        case _:
            pass
    return None
