"""Do two Delta tables hold the same rows? Compared value by value, without Spark."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows a table has, and a checksum of all their values, whatever their order and files."""

    rows: int
    checksum: str


def content(table: Path) -> Content:
    """The content of a Delta table now. Floats count with 12 significant digits: sums may be added in another order."""
    rows = DeltaTable(str(table)).to_pyarrow_table()
    columns = sorted(rows.column_names)
    lines = sorted(repr([_plain(row[c]) for c in columns]) for row in rows.to_pylist())
    return Content(rows.num_rows, hashlib.sha256("\n".join([*columns, *lines]).encode()).hexdigest()[:16])


def insist_on_equal(name: str, ours: Path, theirs: Path) -> Content:
    """The content of both; exits when they differ: a comparison of different work says nothing."""
    mine, other = content(ours), content(theirs)
    if mine != other or not mine.rows:
        sys.exit(f"{name} differs: {mine} in {ours}, {other} in {theirs}")
    return mine


def _plain(value: object) -> object:
    return f"{value:.12g}" if isinstance(value, float) else value
