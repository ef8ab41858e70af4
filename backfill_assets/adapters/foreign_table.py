"""Which files make up somebody else's Delta table, and how is a log of ours written over them? Read by delta-rs.

The log that is written names the files in full. Nothing is ever written to, or deleted from, the other table's folder:
whoever deletes ours deletes a log. A log of our own, since Delta lets nobody read a commit that is older than the other
table's retention, and its own log may be cut off at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

from backfill_assets.adapters.data_files import ORIGIN, AdoptedFrom, is_outside, origin_of, origin_text
from backfill_assets.adapters.durable import local, write_durably
from backfill_assets.adapters.foreign_files import Bounds, changed_files
from backfill_assets.adapters.log_folder import LOG, entry_name
from backfill_assets.adapters.table_log import open_table
from backfill_assets.adapters.version_table import PROPERTIES
from backfill_assets.core.errors import StateError
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import table_path
from backfill_assets.watch.facts import AdoptedTable

if TYPE_CHECKING:
    from deltalake import DeltaTable

COPY = "backfill adopt … --copy writes its rows into a table of the warehouse, once, and compares them"
_TIMES = ("date", "timestamp", "timestamp_ntz")
_HARMLESS = frozenset({"deletionVectors", "vacuumProtocolCheck"})
"""What a reader may be asked to know, where no file makes use of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTable:
    """A Delta table of somebody else's at one commit: its schema as Delta's JSON, and each file as a log names it."""

    origin: AdoptedFrom
    schema: str
    partitions: tuple[str, ...]
    files: tuple[Mapping[str, object], ...]
    times: tuple[Mapping[str, Bounds], ...] = ()
    """Of each file, the first and last value of its columns of dates and instants, where the log says them."""

    @property
    def rows(self) -> int:
        """As its statistics say; files without any count as empty."""
        return sum(int(json.loads(cast(str, f["stats"])).get("numRecords", 0)) for f in self.files if "stats" in f)

    def only(self, columns: Sequence[str]) -> ForeignTable:
        """The table with just these of its columns, in this order: what else its files hold is not read."""
        said = json.loads(self.schema)
        fields = {field["name"]: field for field in said["fields"]}
        files = [
            {**f, "partitionValues": {n: v for n, v in cast(Any, f["partitionValues"]).items() if n in columns}}
            for f in self.files
        ]
        return replace(
            self,
            schema=json.dumps(said | {"fields": [fields[name] for name in columns]}),
            partitions=tuple(n for n in self.partitions if n in columns),
            files=tuple(files),
        )


def check_files(table: ForeignTable, columns: Sequence[str]) -> None:
    """Raise StateError where a reader by Arrow would show other rows of these columns than Spark does."""
    inside = [name for name in columns if name not in table.partitions]
    files = {unquote(str(f["path"])): times for f, times in zip(table.files, table.times, strict=True)}
    if wrong := changed_files(files, inside):
        more = f"; and {len(wrong) - 1} more files" if len(wrong) > 1 else ""
        raise _refusal(table.origin.location, f"{wrong[0]}{more}")


def foreign_schema(location: str) -> str:
    """The schema of the table at a folder as Delta's JSON; empty where it cannot be read, which `read_foreign_table`
    says."""
    table = _opened(location) if local(location) else None
    return table.schema().to_json() if table else ""


def read_foreign_table(location: str, *, time_column: str) -> ForeignTable:
    """The table at a folder, at its newest commit.

    Raises StateError when there is none, or when its files alone are not its rows.
    """
    folder = local(location)
    if folder is None:
        raise _refusal(location, "it is in an object store, and is adopted in place from a folder only")
    if unquote(str(Path(folder).resolve())) != str(Path(folder).resolve()):
        raise _refusal(location, "its path has an escape in it (%XX), which readers take for another path")
    try:
        table = open_table(folder) if Path(folder, LOG).is_dir() else None
    except StateError as error:
        raise _refusal(location, error.why) from None
    if table is None:
        raise StateError(
            f"there is no Delta table at {location}",
            why="it has no _delta_log",
            fix="name its folder or its catalog name; of another format: --copy",
        )
    _check(table, location)
    said = table.metadata()
    found = list(_files(table, str(Path(folder).resolve()), time_column))
    return ForeignTable(
        origin=AdoptedFrom(location=str(Path(folder).resolve()), commit=table.version(), table=str(said.id)),
        schema=table.schema().to_json(),
        partitions=tuple(said.partition_columns),
        files=tuple(file for file, _ in found),
        times=tuple(times for _, times in found),
    )


def adopted_tables(warehouse: str, shown: Environment) -> tuple[AdoptedTable, ...]:
    """The adopted tables of which an environment shows rows, with what is at their places now."""
    found: list[AdoptedTable] = []
    for name, pointer in shown.pointers.items():
        for segment, intervals in pointer.segments.adopted.tables():
            if (origin := adopted_from(table_path(warehouse, name, segment.version))) is None:  # its rows were copied
                continue
            now = _opened(origin.location)
            found.append(
                AdoptedTable(
                    model=name,
                    location=origin.location,
                    commit=origin.commit,
                    intervals=intervals,
                    head=now.version() if now else -1,
                    same=now is not None and str(now.metadata().id) == origin.table,
                )
            )
    return tuple(found)


def adopted_from(location: str) -> AdoptedFrom | None:
    """What the table of a version was adopted from in place; None where it was not, or cannot be read."""
    table = _opened(location)
    return origin_of(table) if table else None


def _opened(location: str) -> DeltaTable | None:
    try:
        return open_table(location)
    except StateError:  # what cannot be read is said where it is read
        return None


def write_link(location: str, table: ForeignTable, *, metadata: str) -> None:
    """Write a log at `location` that names the table's files; its commit says `metadata`. Again is harmless."""
    actions: list[Mapping[str, object]] = [
        {
            "commitInfo": {
                "timestamp": round(datetime.now(UTC).timestamp() * 1000),
                "operation": "CLONE",
                "operationParameters": {"source": table.origin.location, "sourceVersion": table.origin.commit},
                "operationMetrics": {
                    "numFiles": str(len(table.files)),
                    "numOutputRows": str(table.rows),
                    "numOutputBytes": "0",
                },
                "userMetadata": metadata,
            }
        },
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": table.origin.table,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": _plain(table.schema),
                "partitionColumns": list(table.partitions),
                "configuration": {**PROPERTIES, ORIGIN: origin_text(table.origin)},
                "createdTime": 0,
            }
        },
        *({"add": file} for file in table.files),
    ]
    content = "".join(f"{json.dumps(action, separators=(',', ':'))}\n" for action in actions)
    write_durably(Path(location, LOG, entry_name(0)), content.encode())


def _check(table: DeltaTable, location: str) -> None:
    """Raise StateError unless any reader of Parquet finds the table's rows in its files."""
    protocol, settings = table.protocol(), table.metadata().configuration
    needs = set(protocol.reader_features or ()) - _HARMLESS
    if settings.get("delta.columnMapping.mode", "none") != "none" or protocol.min_reader_version == 2:
        raise _refusal(location, "its columns have other names in its files than in the table (column mapping)")
    if needs:
        raise _refusal(location, f"who reads its files has to know {', '.join(sorted(needs))}")
    if protocol.min_reader_version > 2 and _has_deletions(table):
        raise _refusal(location, "some of its files have rows that were deleted (deletion vectors)")


def _has_deletions(table: DeltaTable) -> bool:
    return any(batch.num_rows for batch in cast(Any, table.deletion_vectors()))


def _files(
    table: DeltaTable, folder: str, time_column: str
) -> Iterator[tuple[Mapping[str, object], Mapping[str, Bounds]]]:
    """Each file as a log names it, with the bounds of its columns of dates and instants."""
    timed = [f["name"] for f in json.loads(table.schema().to_json())["fields"] if f["type"] in _TIMES]
    for row in _rows(table, [f"{what}.{name}" for name in timed for what in ("min", "max", "null_count")]):
        if is_outside(unquote(row["path"])) or ":" in row["path"].split("/")[0]:
            raise _refusal(folder, "it is a clone: some of its files are those of another table")
        if ".." in unquote(row["path"]).split("/"):
            raise _refusal(folder, "its log names files outside of its folder")
        parts = {n.removeprefix("partition."): v for n, v in row.items() if n.startswith("partition.")}
        stats: dict[str, object] = {}
        if row.get("num_records") is not None:
            stats["numRecords"] = row["num_records"]
        low, high = row.get(f"min.{time_column}"), row.get(f"max.{time_column}")
        if low is not None and high is not None:
            stats |= {"minValues": {time_column: _text(low)}, "maxValues": {time_column: _text(high)}}
        file: dict[str, object] = {
            "path": f"{quote(folder)}/{row['path']}",
            "partitionValues": {n: _partition(folder, n, v) for n, v in parts.items()},
            "size": row["size_bytes"],
            "modificationTime": _milliseconds(row["modification_time"]),
            "dataChange": True,
        }
        times = {name: found for name in timed if (found := _bounds(row, name))}
        yield file | ({"stats": json.dumps(stats)} if "numRecords" in stats else {}), times


def _rows(table: DeltaTable, more: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What the log says of each file: where it is, its partition, and `more`; not the statistics of all columns."""
    actions = cast(Any, table.get_add_actions(flatten=True))
    wanted = {"path", "size_bytes", "modification_time", "num_records", *more}
    names = [n for n in actions.schema.names if n in wanted or n.startswith("partition.")]
    for values in zip(*(actions.column(n).to_pylist() for n in names), strict=True):
        yield dict(zip(names, values, strict=True))


def _bounds(row: Mapping[str, Any], name: str) -> Bounds | None:
    """The first and last value of a column in a file, (None, None) where all are NULL; None: the log does not say."""
    low, high, nulls = (row.get(f"{what}.{name}") for what in ("min", "max", "null_count"))
    if low is not None and high is not None:
        return low, high
    return (None, None) if nulls is not None and nulls == row.get("num_records") else None


def _partition(folder: str, name: str, value: object) -> str | None:
    """A partition's value as Delta writes it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case date() if not isinstance(value, datetime):
            return value.isoformat()
        case _:
            raise _refusal(folder, f"it is partitioned by {name}, a {type(value).__name__}")


def _text(value: Any) -> str:
    """A value as Delta's statistics write it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else str(value)


def _milliseconds(value: Any) -> int:
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else int(value)


def _plain(schema: str) -> str:
    """The schema with nullable columns and without what the other table says of them: views and audits do not care."""
    said = json.loads(schema)
    for field in said["fields"]:
        field |= {"nullable": True, "metadata": {}}
    return json.dumps(said)


def _refusal(location: str, why: str) -> StateError:
    return StateError(f"{location} cannot be adopted in place", why=why, fix=COPY)
