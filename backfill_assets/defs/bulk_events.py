"""How does Dagster get many events that belong to no run? By its storage's own batches, one asset at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

import dagster as dg
from dagster._core.events import DagsterEvent, DagsterEventType, StepMaterializationData
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID

Report = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


def report_events(instance: dg.DagsterInstance, events: Sequence[Report]) -> None:
    """Report events in their order, as `report_runless_asset_event` does with each.

    Materializations of one asset that follow one another are stored by one call: Postgres takes them in one statement
    (its storage brings an asset up to date with the last of a batch, so a batch is of one asset).
    """
    for _, group in groupby(events, lambda e: (type(e), e.asset_key)):
        some = list(group)
        many = [each for each in some if isinstance(each, dg.AssetMaterialization)]
        if len(many) > 1:
            instance.event_log_storage.store_event_batch([_entry(each) for each in many])
            continue
        for each in some:
            instance.report_runless_asset_event(each)


def _entry(event: dg.AssetMaterialization) -> EventLogEntry:
    """The entry that `report_runless_asset_event` makes of a materialization."""
    return EventLogEntry(
        user_message="",
        level="INFO",
        job_name=RUNLESS_JOB_NAME,
        run_id=RUNLESS_RUN_ID,
        error_info=None,
        timestamp=time.time(),
        step_key=None,
        dagster_event=DagsterEvent(
            event_type_value=DagsterEventType.ASSET_MATERIALIZATION.value,
            event_specific_data=StepMaterializationData(event),
            job_name=RUNLESS_JOB_NAME,
        ),
    )
