"""Which values of an audit's own query may somebody see? Those that are computed from no masked column of any table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from backfill_assets.core.masking import is_masked
from backfill_assets.core.model import Column
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import SqlError, parse


def shown_outputs(
    query: str, columns: Sequence[str], tables: Mapping[str, Collection[str]], masks: Mapping[str, Collection[str]]
) -> Sequence[str]:
    """Of the query's output `columns` those that may be shown; none where that cannot be told.

    `tables` are the columns of what it reads, `masks` the masked ones; all names are lower-cased.

    >>> users = {"users": ["id", "email"]}, {"users": ["email"]}
    >>> shown_outputs("SELECT id, upper(email) AS name FROM users", ["id", "name"], *users)
    ['id']
    >>> shown_outputs("SELECT * FROM (SELECT email AS id FROM users)", ["id"], *users)
    []
    """
    if not any(masks.values()):
        return columns
    try:
        sql = parse(query)
        known = {r.key: (r.key, tuple(Column(name=c) for c in tables.get(r.key, ()))) for r in sql.references}
        found = resolve(sql, known, named=False)
    except SqlError:
        return []
    if [c.name.lower() for c in found.columns or ()] != list(columns) or len({*columns}) < len(columns):
        return []
    lineage = {name.lower(): refs for name, refs in found.lineage.items()}
    return [name for name in columns if name in lineage and not any(is_masked(ref, masks) for ref in lineage[name])]
