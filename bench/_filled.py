"""What does a warehouse look like after a complete backfill? Faked: ledger, versions and table logs, but no data files.

Planning reads nothing else, so it cannot tell; filling takes seconds instead of a backfill of years.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable, Schema

from backfill_assets.adapters.control_delta import KEEP_FOR_EVER
from backfill_assets.adapters.table_log import batch_metadata
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.stages import Build
from backfill_assets.project.stored import made_from, to_definition
from backfill_assets.state.ledger import Entry, Kind, new_id
from backfill_assets.state.versions import Version, table_path


def fill(project: Path, warehouse: Path, *, run: str = "bench") -> int:
    """Pretend that everything the project's plan says was built and audited, by one run. Returns how many models."""
    os.environ["BACKFILL_WAREHOUSE"] = str(warehouse.resolve())
    place = Context.open(project)
    builds = [stage for stage in plan_request(place).stages if isinstance(stage, Build)]
    entries: list[Entry] = []
    for stage in builds:
        model = place.project.models[stage.model]
        at = datetime.now(UTC)
        batches = [(new_id(), interval) for interval in stage.batches]
        location = Path(table_path(place.warehouse, stage.model, stage.version))
        write_log(location, model.time_column, [
            (batch, interval, [i.start.date().isoformat() for i in model.cadence.split(interval)])
            for batch, interval in batches
        ])  # fmt: skip
        digest = audits_digest(model)
        for number, (batch, interval) in enumerate(batches, start=1):
            common = {"model": stage.model, "version": stage.version, "interval": interval, "batch": batch, "run": run}
            entries.append(Entry(kind=Kind.STARTED, at=at, **common))
            entries.append(Entry(kind=Kind.BUILT, at=at, table_commit=number, rows=1000, **common))
            entries.append(Entry(kind=Kind.AUDITED, at=at, table_commit=number, audits=digest, **common))
        record_version(place, stage)
    place.control.ledger.append(entries)
    return len(builds)


def record_version(place: Context, stage: Build) -> Version:
    """Record the version that a stage builds, as its first build does."""
    project, model = place.project, place.project.models[stage.model]
    made = Version(
        model=stage.model, version=stage.version, created=datetime.now(UTC),
        columns=tuple((c.name, c.type or "string") for c in project.columns[stage.model]),
        upstream={u.name: project.fingerprints[u.name] for u in model.upstreams if u.name in project.models},
        signature=project.signatures[stage.model], definition=to_definition(model) | made_from(project, model),
    )  # fmt: skip
    place.control.versions.put(made)
    return made


SIZE = 2048
"""Bytes of each pretended file."""


def write_log(location: Path, day: str, batches: list[tuple[str, Interval, list[str]]]) -> list[Path]:
    """A Delta table's log: a commit that creates it, and one a batch with a file a day. Returns these files, which are
    not written."""
    schema = Schema.from_json(
        json.dumps({"type": "struct", "fields": [
            {"name": day, "type": "date", "nullable": True, "metadata": {}},
            {"name": "value", "type": "long", "nullable": True, "metadata": {}},
        ]})
    )  # fmt: skip
    DeltaTable.create(str(location), schema=schema, partition_by=[day], configuration=KEEP_FOR_EVER)
    files: list[Path] = []
    for number, (batch, interval, days) in enumerate(batches, start=1):
        now = int(datetime.now(UTC).timestamp() * 1000)
        about = {
            "timestamp": now,
            "operation": "WRITE",
            "operationParameters": {"mode": "Overwrite"},
            "operationMetrics": {"numOutputRows": "1000"},
            "userMetadata": batch_metadata(batch, interval),
        }
        extremes = {"minValues": {"value": 1}, "maxValues": {"value": 9}, "nullCount": {"value": 0}}
        stats = json.dumps({"numRecords": 12, **extremes})
        paths = {d: f"{day}={d}/part-{number:05}-{batch}.parquet" for d in days}
        lines = [json.dumps({"commitInfo": about})] + [
            json.dumps({"add": {"path": path, "partitionValues": {day: d},
                                "size": SIZE, "modificationTime": now, "dataChange": True, "stats": stats}})
            for d, path in paths.items()
        ]  # fmt: skip
        files += [location / path for path in paths.values()]
        (location / "_delta_log" / f"{number:020}.json").write_text("\n".join(lines) + "\n")
    return files
