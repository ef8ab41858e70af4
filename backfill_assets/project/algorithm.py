"""By which rules are fingerprints made? A number that every version's name and record carries.

Another release of the parser, or of the code that compares, may give an unchanged query another hash, or two queries
one. So each has a number of its own here, and hashes of different numbers are never equal: `upgrade.py` proves which
versions are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Signature

ALGORITHM = 7
RELEASES = {2: "30.29.0", 3: "30.29.0", 4: "30.29.0", 5: "30.29.0", 6: "30.29.0", 7: "30.29.0"}
"""Algorithm → the release of sqlglot that it was made with. A test holds the newest against what is installed: whoever
changes the pin, or what signatures are made of, adds a line."""
SQLGLOT = RELEASES[ALGORITHM]
UNNUMBERED = 2
"""What records without a number were made by."""
SUBSTITUTED = 4
"""Up to here Spark put variables into queries: `'${env:HOME}'` gave other rows than it gives now."""

BY_PLACE = 7
"""From here on the places of columns count where values go by them, and records have columns in their order."""
NAMED_BY = "named_by"
"""In a definition that was signed again: the algorithm that its version's name is of."""


def algorithm_of(definition: Mapping[str, object]) -> int:
    """By which algorithm the signature in a version's record was made."""
    return int(cast(Any, definition.get("algorithm", UNNUMBERED)))


def named_by(definition: Mapping[str, object]) -> int:
    """By which algorithm a version was named, by its record."""
    return int(cast(Any, definition.get(NAMED_BY, algorithm_of(definition))))


def version_of(signature: Signature) -> str:
    """The name of the version: tables of the same name are the same table.

    Of code that nobody looks into, the columns that it declares decide nothing: the table has those that it gives.
    """
    by_word = [signature.code] if signature.code else []
    columns = [] if taken_whole(signature) else sorted(signature.columns.items())
    return digest("version", ALGORITHM, signature.rows, columns, *by_word)


def column_of_whole(rows: str, column: str) -> str:
    """The hash of a column of which nothing is known but that the code of the rows gives it."""
    return digest(rows, column.lower())


def taken_whole(signature: Signature) -> bool:
    """Whether nothing is known of the table's columns but, perhaps, their names."""
    return all(found == column_of_whole(signature.rows, name) for name, found in signature.columns.items())
