"""Which rows fail an audit? A condition in SQL for each kind that looks at single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from backfill_assets.audits.reads import texts
from backfill_assets.audits.text import literal, quoted
from backfill_assets.core.model import Audit

HIT = "bf_hit"
"""The column of a joined reference table that is NULL where it has no such key."""


def failing(audit: Audit) -> str | None:
    """The condition that is true for a row that fails the audit; None when the audit is not about single rows.

    Of `relationships`, it needs the reference table, joined as `reference` says.
    """
    condition = broken(audit)
    if condition is None or wanted(audit) is None:
        return condition
    # An author's text may end in a comment: what follows it is on a line of its own.
    return f"({condition}) AND ({wanted(audit)}\n)"


def broken(audit: Audit) -> str | None:
    """The same, whatever `where` says."""
    arguments = audit.arguments
    match audit.kind:
        case "not_null":
            return " OR ".join(f"{quoted(c)} IS NULL" for c in texts(arguments["columns"]))
        case "range":
            column = quoted(cast(str, arguments["column"]))
            low, high = arguments.get("min"), arguments.get("max")
            parts = [f"{column} < {literal(low)}"] if low is not None else []
            if high is not None:
                parts.append(f"{column} > {literal(high)}")
            return " OR ".join(parts)
        case "accepted_values":
            values = ", ".join(literal(v) for v in cast(Sequence[object], arguments["values"]))
            return f"{quoted(cast(str, arguments['column']))} NOT IN ({values})"
        case "expression":
            return f"NOT coalesce({arguments['expression']}\n, false)"
        case "relationships":
            filled = " AND ".join(f"{quoted(c)} IS NOT NULL" for c in texts(arguments["columns"]))
            return f"{filled} AND {HIT}_{audit.name} IS NULL"
        case _:
            return None


def looked_at(audit: Audit) -> tuple[str, ...]:
    """The columns whose values decide whether a row fails: what somebody wants to see of one that does.

    >>> looked_at(Audit(name="a", kind="expression", arguments={"expression": "`Odd Name`.city <> 'x' AND n > 1"}))
    ('Odd Name', 'n')
    """
    arguments = audit.arguments
    if audit.kind == "expression":
        from backfill_assets.sql.expressions import columns_of  # a parser, which few failures need

        return columns_of(str(arguments["expression"]))
    return texts(arguments.get("columns") or arguments.get("column"))


def reference(audit: Audit, view: str) -> str:
    """The join that tells which keys of a `relationships` or `entities` audit are in its reference table.

    No row is multiplied by it: each key comes once.
    """
    columns, fields = reference_keys(audit)
    alias = f"bf_of_{audit.name}"
    selected = ", ".join(f"{quoted(f)} AS {alias}_{n}" for n, f in enumerate(fields))
    on = " AND ".join(f"{quoted(c)} = {alias}_{n}" for n, c in enumerate(columns))
    return f"LEFT JOIN (SELECT DISTINCT {selected}, true AS {HIT}_{audit.name} FROM {view}) AS {alias} ON {on}"


def reference_keys(audit: Audit) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns here, and those that they are looked up in."""
    arguments = audit.arguments
    columns = texts(arguments.get("columns") or arguments.get("column"))
    return columns, texts(arguments.get("fields") or arguments.get("field")) or columns


def wanted(audit: Audit) -> str | None:
    """The author's condition on the rows that the audit is about."""
    return cast("str | None", audit.arguments.get("where"))
