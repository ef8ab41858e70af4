"""Who else reports an asset of that name? What another code location made is not ours to wipe."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePath

import dagster as dg

from backfill_assets.core.escaping import visible

MOST = 500
"""Partitions whose events are looked at: one stranger is enough."""


def foreign_reporter(
    instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Collection[str], warehouse: str
) -> str:
    """What to tell of runs that materialized these partitions, and not for this warehouse; "" when there are none.

    What somebody reported by hand belongs to no run: it is no stranger's.
    """
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=sorted(partitions)[:MOST])
    for record in instance.fetch_materializations(wanted, limit=MOST).records:
        event = record.asset_materialization
        if event is None or not record.run_id or _is_ours(event.metadata, warehouse):
            continue
        run = instance.get_run_by_id(record.run_id)
        origin = run and run.remote_job_origin
        place = origin.location_name if origin else "another code location"
        name = key.to_user_string()
        return visible(
            f"{name} is not counted anew: {place} materialized it as well, in run {record.run_id}, and not for the "
            f"warehouse {warehouse}. An asset key is of one project: give one of both a `key_prefix`; or, where "
            f"this warehouse was moved, forget what Dagster knows of it once: dagster asset wipe {name}"
        )
    return ""


def _is_ours(metadata: Mapping[str, dg.MetadataValue], warehouse: str) -> bool:
    """Whether an event names a table of this warehouse; those of early releases name a version only."""
    uri = metadata.get("dagster/uri")
    if uri is None:
        return "version" in metadata
    return PurePath(warehouse) in PurePath(str(uri.value)).parents
