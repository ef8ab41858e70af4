"""Which versions exist, what do they execute, and where is their data? A row per model and fingerprint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from backfill_assets.core.calendar import Calendar
from backfill_assets.core.codec import from_plain
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import ALL, UNKNOWN, Signature
from backfill_assets.core.segments import logic_of
from backfill_assets.project.algorithm import NAMED_BY, algorithm_of, named_by
from backfill_assets.project.records import Recorded
from backfill_assets.state.kept import Kept
from backfill_assets.state.rows import from_row, to_row
from backfill_assets.state.store import Records, Row, Store, TableSpec

VersionKey = tuple[str, str]
"""Model and version."""


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
    before: Version | None = None
    """As it was recorded before the code of the same version came to read other models, or the same by other names."""

    @property
    def tolerance(self) -> float | None:
        """How far apart floats may be in comparisons with it, as its header said; None where its record does not."""
        said = self.definition.get("tolerance")
        return said if isinstance(said, float | int) else None

    @property
    def algorithm(self) -> int:
        """By which rules its signature was made."""
        return algorithm_of(self.definition)


VersionRecords = Mapping[VersionKey, Version]
FOLLOWS = "follows"
"""In the definition of a record that says what its version reads since another one was written."""
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


class Versions(Records):
    """The append-only table of versions. The first record of a version counts; writing it again is harmless.

    A record with a newer algorithm gives the version another signature, and nothing else; so does one that knows it
    where the others did not. One that `follows` says what the version reads by now, and what its code is since then.
    """

    spec = VERSIONS

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._only_here: list[Version] = []
        """Signed again where nothing may be written."""
        self._kept = Kept[Mapping[VersionKey, Version]]({})

    def get(self, model: str, version: str) -> Version | None:
        """The version's record, None when it was never built."""
        return self.all().get((model, version))

    def all(self) -> dict[tuple[str, str], Version]:
        """Every version, by (model, version)."""
        found = dict(self._kept.of(self._table, self._read))
        for one in self._only_here:
            key = (one.model, one.version)
            if found[key].algorithm < one.algorithm:
                found[key] = one
        return found

    def _read(self) -> dict[VersionKey, Version]:
        found: dict[VersionKey, Version] = {}
        # What was signed again has the moment of the first record, which says more, and tables have no order of rows.
        for row in sorted(self._table.read(), key=lambda r: (cast(datetime, r["created"]), _numbered(r))):
            record = from_row(Version, row, signature=_signature(cast(str, row["signature"])))
            key = (record.model, record.version)
            first = found.setdefault(key, record)
            if FOLLOWS in record.definition:
                said = {name: value for name, value in record.definition.items() if name != FOLLOWS}
                found[key] = replace(record, definition=said, before=first, written=first.written)
                continue
            late = first.signature == UNKNOWN and record.algorithm == first.algorithm
            if record.algorithm > first.algorithm or late:
                newer = {NAMED_BY: first.algorithm, **first.definition, "algorithm": record.algorithm}
                written = first.signature if first.written is None else first.written
                found[key] = replace(first, signature=record.signature, definition=newer, written=written)
        return found

    def records(self) -> dict[tuple[str, str], Recorded]:
        """What another version is compared with, of every version, by (model, version)."""
        return {
            key: Recorded(
                signature=found.signature,
                cadence=cast(str, found.definition.get("cadence", "")),
                time_column=cast(str, found.definition.get("time_column", "")),
                time_zone=cast(str, found.definition.get("time_zone", "")),
                named_by=named_by(found.definition),
                columns=tuple(name.lower() for name, _ in found.columns),
            )
            for key, found in self.all().items()
        }

    def put(self, version: Version) -> None:
        """Record the version unless it is known."""
        if self.get(version.model, version.version) is None:
            self._table.append([to_row(VERSIONS, version)])

    def follow(self, versions: Sequence[Version]) -> None:
        """Record what known versions read by now, by which code, in one commit."""
        if versions:
            self._table.append(
                [to_row(VERSIONS, replace(v, definition={**v.definition, FOLLOWS: True})) for v in versions]
            )

    def sign_again(self, versions: Sequence[Version]) -> None:
        """Record signatures that are made by a newer algorithm, in one commit; where that is refused, remember them."""
        try:
            if versions:
                self._table.append(
                    [to_row(VERSIONS, replace(v, definition={"algorithm": v.algorithm})) for v in versions]
                )
        except StateError:
            self._only_here += versions


def _numbered(row: Row) -> int:
    return algorithm_of(json.loads(cast(str, row["definition"])))


def _signature(text: str) -> Signature:
    if not text:
        return UNKNOWN
    raw = json.loads(text)
    found = from_plain(Signature, raw)
    if "would_read" in raw:
        return found
    # An earlier release did not say: then it may have been any column.
    read = found.row_reads.union(*found.column_reads.values())
    return replace(found, would_read=frozenset(replace(ref, column=ALL) for ref in read))


def beside(versions: VersionRecords, shown: Mapping[str, str]) -> VersionRecords:
    """The versions, each by the record of it that what is `shown` (model → version) fits: the newest whose upstream
    models are all shown in the logic that it names; else, as names are taken by other models, the oldest of which
    all names are there; the newest where there is none."""
    return {key: _beside(record, shown) if record.before else record for key, record in versions.items()}


def _beside(record: Version, shown: Mapping[str, str]) -> Version:
    there = [r for r in records_of(record) if all(name in shown for name in r.upstream)]
    same = (r for r in there if all(logic_of(shown[n]) == logic_of(v) for n, v in r.upstream.items()))
    return next(same, there[-1] if there else record)


def records_of(record: Version) -> Iterator[Version]:
    """The record, and those of the same version before it, newest first."""
    found: Version | None = record
    while found is not None:
        yield found
        found = found.before


def built_from(record: Version) -> Iterator[VersionKey]:
    """The models and versions that a version's rows were computed from, by any of its records."""
    return (key for each in records_of(record) for key in each.upstream.items())


def columns_ever(versions: VersionRecords) -> dict[str, frozenset[str]]:
    """Model → the names of the columns of all its versions."""
    found: dict[str, frozenset[str]] = {}
    for (name, _), record in versions.items():
        found[name] = found.get(name, frozenset()).union(column for column, _ in record.columns)
    return found


def cadences_of(versions: VersionRecords) -> dict[VersionKey, Cadence]:
    """Of which intervals each version's table is, by its record."""
    return {key: Calendar.of_definition(record.definition).cadence for key, record in versions.items()}


def table_path(warehouse: str, model: str, version: str) -> str:
    """Where the Delta table of a version (or of a revision of one) lives."""
    return f"{warehouse}/{model}/{version}"
