"""Does a query only read? Asked of consumers' queries before they could run, with the rights of who promotes."""

from __future__ import annotations

from sqlglot import exp

from backfill_assets.sql.columns import line_of
from backfill_assets.sql.nondeterministic import FUNCTIONS, Nondeterminism
from backfill_assets.sql.parsing import WRITTEN_AS, Sql

_OTHERS = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.DDL, exp.Command, exp.Into, exp.QueryTransform, exp.Lock)
"""What changes data or runs a program, wherever it stands in a query."""
_FORMATS = ("avro", "binaryfile", "csv", "json", "orc", "text", "xml")
_CODE = ("reflect", "java_method", "try_reflect")


def not_read_only(sql: Sql) -> tuple[str, int] | None:
    """Why a text is not one SELECT (with or without WITH) that only reads, and the line of it; None when it is."""
    if len(sql.statements) != 1:
        return f"it holds {len(sql.statements)} statements", 1
    [tree] = sql.statements
    if not isinstance(tree, exp.Query):
        return f"{(tree.key if not isinstance(tree, exp.Command) else tree.name).upper()} is no SELECT", 1
    for node in tree.walk():
        if isinstance(node, _OTHERS) and not isinstance(node, exp.Query):
            return f"{node.key.upper()} does more than read", line_of(node)
        name = str(node.meta_get(WRITTEN_AS) or "").lower()
        name = node.name.lower() if isinstance(node, exp.Anonymous) else name
        if name in _CODE and FUNCTIONS.get(name) is Nondeterminism.SESSION:
            return f"{name}() runs code", line_of(node)
    for parameter, line in sql.parameters.items():
        return f"nobody gives a value to {'`?`' if parameter == '?' else f'`:{parameter}`'}", line
    for reference in sql.references:
        schema, _, path = reference.key.partition(".")
        if schema in _FORMATS and path:
            return f"`{reference.name}` is a file, no view", reference.line
    return None
