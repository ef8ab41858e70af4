"""Which keys of the judged intervals are in another interval of the table as well?

Of the table, files are read that may have a key between the least and the greatest of the judged ones: of keys that
grow with time these are few, of others all. Only rows that have one of the keys are grouped.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backfill_assets.audits.relations import INTERVAL, Row, by_interval
from backfill_assets.audits.scope import AuditScope
from backfill_assets.sql.text import as_text, interval_start, key_text, literal, quoted

FEW = 1_000_000
"""Rows whose keys are sent to where the table is read; else both sides are sorted by key."""
_START, _OTHER, _KEY = "bf_start", "bf_other", "bf_key"
_BOUNDED = ("tinyint", "smallint", "int", "bigint", "decimal", "date", "timestamp", "string")
"""Types of keys by whose bounds, as texts, a table's files are left out."""


def count_across(look: AuditScope, columns: Sequence[str], where: str | None = None) -> dict[datetime, int]:
    """Interval start → how many of its keys are in another interval, too. NULL is a value; only rows count for which
    `where` holds."""
    found = f"SELECT {as_text(_START)} AS {INTERVAL}, count(*) AS bf_keys FROM ({_across(look, columns, where)})"
    return {at: row["bf_keys"] for at, row in by_interval(look.tables.ask(f"{found} GROUP BY {_START}")).items()}


def sample_across(look: AuditScope, columns: Sequence[str], where: str | None = None) -> str:
    """A query of INTERVAL and `sample`: these keys, each with another interval that has it."""
    named = ", ".join(f"{_KEY}{n} AS {quoted(column)}" for n, column in enumerate(columns))
    key = key_text(columns, look.model.mask)
    return (
        f"SELECT {INTERVAL}, concat({key}, {literal(', also in ')}, bf_also) AS sample FROM (SELECT {as_text(_START)} "
        f"AS {INTERVAL}, {as_text(_OTHER)} AS bf_also, {named} FROM ({_across(look, columns, where)}))"
    )


def _across(look: AuditScope, columns: Sequence[str], where: str | None) -> str:
    """The keys, one row an interval: its start, the key's parts, and the start of another interval."""
    tables, start, only = look.tables, interval_start(look.model), "true" if where is None else f"({where}\n)"
    keys = [f"{_KEY}{n}" for n in range(len(columns))]
    selected = ", ".join(f"{quoted(column)} AS {key}" for column, key in zip(columns, keys, strict=True))
    asked = ", ".join(
        f"typeof(any_value({c})) AS kind{n}, CAST(min({c}) AS STRING) AS least{n}, CAST(max({c}) AS STRING) AS "
        f"most{n}, count_if({c} IS NULL) AS empty{n}"
        for n, c in enumerate(map(quoted, columns))
    )
    [bounds] = tables.ask(f"SELECT {asked} FROM {tables.rows()} WHERE {only}")
    between = " AND ".join(_between(column, number, bounds) for number, column in enumerate(columns))
    mine = f"SELECT DISTINCT {start} AS {_START}, {selected} FROM {tables.rows()} WHERE {only}"
    every = f"SELECT {start} AS {_OTHER}, {selected} FROM {tables.whole().view} WHERE {only} AND {between}"
    same = " AND ".join(f"s.{key} <=> t.{key}" for key in keys)
    hint = "/*+ BROADCAST(s) */ " if tables.count() <= FEW else ""
    # First and last interval of each key, not all: a key that every interval has would be paired with itself.
    listed = ", ".join(f"t.{key}" for key in keys)
    spans = (
        f"SELECT {hint}{listed}, min(t.{_OTHER}) AS bf_first, max(t.{_OTHER}) AS bf_last "
        f"FROM ({every}) AS t LEFT SEMI JOIN ({mine}) AS s ON {same} GROUP BY {listed}"
    )
    return (
        f"SELECT s.{_START}, {', '.join(f's.{key}' for key in keys)}, "
        f"CASE WHEN t.bf_first <> s.{_START} THEN t.bf_first ELSE t.bf_last END AS {_OTHER} "
        f"FROM ({mine}) AS s JOIN ({spans}) AS t ON {same} AND t.bf_first <> t.bf_last"
    )


def _between(column: str, number: int, bounds: Row) -> str:
    """A condition with literals, which every row of the table with one of the keys fulfils."""
    kind, least, most = (bounds[f"{name}{number}"] for name in ("kind", "least", "most"))
    if least is None or str(kind).partition("(")[0].lower() not in _BOUNDED:
        return "true"
    low, high = (f"CAST({literal(value)} AS {kind})" for value in (least, most))
    inside = f"{quoted(column)} >= {low} AND {quoted(column)} <= {high}"
    return f"({inside} OR {quoted(column)} IS NULL)" if bounds[f"empty{number}"] else f"({inside})"
