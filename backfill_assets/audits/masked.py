"""Which values of somebody's own query may be seen? Those that are computed from no masked column of any table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from backfill_assets.core.masking import is_masked
from backfill_assets.core.model import Column
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import SqlError, parse

_UNNAMED = "_col_"
"""How sqlglot begins the names of outputs that Spark calls by their expressions."""


def shown_outputs(
    query: str, columns: Sequence[str], tables: Mapping[str, Collection[str]], masks: Mapping[str, Collection[str]]
) -> Sequence[str]:
    """Of the query's output `columns` those that may be shown; none where that cannot be told.

    `tables` are the columns of what it may read, in their order, `masks` the masked ones; all names are lower-cased.
    What reads another table than these shows nothing.

    >>> users = {"users": ["id", "email"]}, {"users": ["email"]}
    >>> shown_outputs("SELECT id, upper(email) AS name FROM users", ["id", "name"], *users)
    ['id']
    >>> shown_outputs("SELECT * FROM (SELECT email AS id FROM users)", ["id"], *users)
    []
    """
    if not reads_masked(query, tables, masks):
        return columns
    try:
        sql = parse(query)
        if not all(isinstance(t, exp.Query) and not _by_word(t) for t in sql.statements):
            return []
        known = {r.key: (r.key, tuple(Column(name=c) for c in tables[r.key])) for r in sql.references}
        found = resolve(sql, known, named=False)
    except (SqlError, KeyError):
        return []
    names = [c.name.lower() for c in found.columns or ()]
    if len(names) != len(columns) or len({*columns}) < len(columns):
        return []
    if any(name != column and not name.startswith(_UNNAMED) for name, column in zip(names, columns, strict=True)):
        return []
    lineage = {name.lower(): refs for name, refs in found.lineage.items()}
    return [
        column
        for name, column in zip(names, columns, strict=True)
        if name in lineage and not any(is_masked(ref, masks) for ref in lineage[name])
    ]


def reads_masked(query: str, tables: Mapping[str, Collection[str]], masks: Mapping[str, Collection[str]]) -> bool:
    """Whether a query reads a table that has a masked column; what cannot be told counts, a table not in `tables` too.

    >>> reads_masked("SELECT 1 FROM users", {"users": ["id", "email"]}, {"users": ["email"]})
    True
    """
    if not any(masks.values()):
        return False
    try:
        sql = parse(query)
    except SqlError:
        return True
    read = {reference.key for reference in sql.references}
    return not read <= tables.keys() or any(masks.get(key) for key in read) or any(map(_by_word, sql.statements))


def _by_word(tree: exp.Expr) -> bool:
    """Whether it names tables or columns in another way: `IDENTIFIER('users')`, a function that gives a table."""
    return any(
        call.name.lower() == "identifier" or (isinstance(call.parent, exp.Table) and call.name.lower() != "range")
        for call in tree.find_all(exp.Anonymous)
    )
