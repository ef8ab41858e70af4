"""Which versions exist, what do they execute, and where is their data? A row per model and fingerprint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from backfill_assets.core.errors import StateError
from backfill_assets.core.model import ALL, UNKNOWN, ColumnRef, Signature
from backfill_assets.project.algorithm import UNNUMBERED
from backfill_assets.project.records import Recorded
from backfill_assets.state.store import Row, Store, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a model: its definition and the versions of the models that it reads, as when it was created."""

    model: str
    version: str
    upstream: Mapping[str, str]
    """Model name → version, for the upstreams that are models."""
    columns: tuple[tuple[str, str], ...]
    """Name and Spark SQL type of every column of its table, in order."""
    definition: Mapping[str, object]
    """Language, code and the header's settings that decide rows."""
    signature: Signature = UNKNOWN
    """What decides its rows and columns: what another version is compared with."""
    created: datetime
    written: Signature | None = None
    """The signature of the release that built it, when this one signed it again."""

    @property
    def algorithm(self) -> int:
        """By which rules its signature was made."""
        return int(cast(Any, self.definition.get("algorithm", UNNUMBERED)))


NAMED_BY = "named_by"
"""In a definition that was signed again: the algorithm that its version's name is of."""
VERSIONS = TableSpec(
    name="versions",
    columns={
        "model": "text",
        "version": "text",
        "upstream": "text",
        "columns": "text",
        "definition": "text",
        "signature": "text",
        "created": "time",
    },
)


class Versions:
    """The append-only table of versions. The first record of a version counts; writing it again is harmless.

    A record with a newer algorithm gives the version another signature, and nothing else; so does one that knows it
    where the others did not.
    """

    def __init__(self, store: Store) -> None:
        self._table = store.table(VERSIONS)
        self._only_here: list[Version] = []
        """Signed again where nothing may be written."""

    def get(self, model: str, version: str) -> Version | None:
        """The version's record, None when it was never built."""
        return self.all().get((model, version))

    def all(self) -> dict[tuple[str, str], Version]:
        """Every version, by (model, version)."""
        found: dict[tuple[str, str], Version] = {}
        # What was signed again has the moment of the first record, which says more, and tables have no order of rows.
        for row in sorted(self._table.read(), key=lambda r: (cast(datetime, r["created"]), _numbered(r))):
            record = Version(
                model=cast(str, row["model"]),
                version=cast(str, row["version"]),
                upstream=json.loads(cast(str, row["upstream"])),
                columns=tuple((n, t) for n, t in json.loads(cast(str, row["columns"]))),
                definition=json.loads(cast(str, row["definition"])),
                signature=_signature(json.loads(cast(str, row["signature"]))) if row["signature"] else UNKNOWN,
                created=cast(datetime, row["created"]),
            )
            key = (record.model, record.version)
            first = found.setdefault(key, record)
            late = first.signature == UNKNOWN and record.algorithm == first.algorithm
            if record.algorithm > first.algorithm or late:
                newer = {NAMED_BY: first.algorithm, **first.definition, "algorithm": record.algorithm}
                written = first.signature if first.written is None else first.written
                found[key] = replace(first, signature=record.signature, definition=newer, written=written)
        for one in self._only_here:
            key = (one.model, one.version)
            if found[key].algorithm < one.algorithm:
                found[key] = one
        return found

    def compact(self) -> None:
        """Join the small files that many versions left."""
        self._table.compact()

    def records(self) -> dict[tuple[str, str], Recorded]:
        """What another version is compared with, of every version, by (model, version)."""
        return {
            key: Recorded(
                signature=found.signature,
                cadence=cast(str, found.definition.get("cadence", "")),
                time_column=cast(str, found.definition.get("time_column", "")),
                named_by=int(cast(Any, found.definition.get(NAMED_BY, found.algorithm))),
                columns=tuple(name.lower() for name, _ in found.columns),
            )
            for key, found in self.all().items()
        }

    def put(self, version: Version) -> None:
        """Record the version unless it is known."""
        if self.get(version.model, version.version) is None:
            self._table.append([_row(version)])

    def sign_again(self, versions: Sequence[Version]) -> None:
        """Record signatures that are made by a newer algorithm, in one commit; where that is refused, remember them."""
        try:
            if versions:
                self._table.append([_row(replace(v, definition={"algorithm": v.algorithm})) for v in versions])
        except StateError:
            self._only_here += versions


def _numbered(row: Row) -> int:
    return int(json.loads(cast(str, row["definition"])).get("algorithm", UNNUMBERED))


def _row(version: Version) -> Row:
    return {
        "model": version.model,
        "version": version.version,
        "upstream": json.dumps(dict(version.upstream), sort_keys=True),
        "columns": json.dumps(version.columns),
        "definition": json.dumps(dict(version.definition), sort_keys=True, default=str),
        "signature": json.dumps(_plain(version.signature), sort_keys=True),
        "created": version.created,
    }


def _plain(signature: Signature) -> dict[str, object]:
    return {
        "rows": signature.rows,
        "columns": dict(signature.columns),
        "code": signature.code,
        "whole": signature.whole,
        "row_reads": sorted([r.table, r.column] for r in signature.row_reads),
        "column_reads": {c: sorted([r.table, r.column] for r in refs) for c, refs in signature.column_reads.items()},
        "would_read": sorted([r.table, r.column] for r in signature.would_read),
    }


def _signature(raw: dict[str, Any]) -> Signature:
    row_reads = _refs(raw["row_reads"])
    column_reads = {column: _refs(refs) for column, refs in raw["column_reads"].items()}
    # An earlier release did not say: then it may have been any column.
    any_column = {replace(ref, column=ALL) for ref in row_reads.union(*column_reads.values())}
    return Signature(
        rows=raw["rows"],
        columns=raw["columns"],
        code=raw.get("code", ""),
        whole=raw.get("whole", ""),
        row_reads=row_reads,
        column_reads=column_reads,
        would_read=_refs(raw["would_read"]) if "would_read" in raw else frozenset(any_column),
    )


def _refs(raw: list[list[str]]) -> frozenset[ColumnRef]:
    return frozenset(ColumnRef(table=table, column=column) for table, column in raw)


def table_path(warehouse: str, model: str, version: str) -> str:
    """Where the Delta table of a version (or of a revision of one) lives."""
    return f"{warehouse}/{model}/{version}"
