"""How is a key looked up in another table? A join that tells which keys are there, and multiplies no row."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.sql.text import quoted

Pairs = Sequence[tuple[str, str]]
"""Columns here, each with that of the other table in which its values are looked up."""


def hit(audit: str) -> str:
    """The column of the joined table that is NULL where it has no such key."""
    return f"bf_hit_{audit}"


def lookup_join(audit: str, pairs: Pairs, view: str) -> str:
    """The join; each key of the other table comes once."""
    alias = f"bf_of_{audit}"
    selected = ", ".join(f"{quoted(there)} AS {alias}_{n}" for n, (_, there) in enumerate(pairs))
    on = " AND ".join(f"{quoted(here)} = {alias}_{n}" for n, (here, _) in enumerate(pairs))
    return f"LEFT JOIN (SELECT DISTINCT {selected}, true AS {hit(audit)} FROM {view}) AS {alias} ON {on}"
