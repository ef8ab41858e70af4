"""What does a project amount to in Dagster? Everything wired together, once, when the code location loads."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.defs.adopt import adopt_job
from backfill_assets.defs.approve import approve_job
from backfill_assets.defs.assets import model_asset
from backfill_assets.defs.evidence import evidence_job
from backfill_assets.defs.external import external_specs
from backfill_assets.defs.io_manager import IO_MANAGER_KEY, VersionTables
from backfill_assets.defs.jobs import apply_job, promote_job, routine_job, routine_schedule
from backfill_assets.defs.ledger_sensor import ledger_sensor
from backfill_assets.defs.maintenance import janitor_job, rollback_job
from backfill_assets.defs.pins import pin_job, unpin_job
from backfill_assets.defs.plans import plans_job
from backfill_assets.defs.rules import rules_job
from backfill_assets.defs.runbook import runbook_job
from backfill_assets.defs.runs import Runs
from backfill_assets.defs.spark_resource import PYSPARK, spark_resource
from backfill_assets.defs.warning_filters import ignore_preview_warnings
from backfill_assets.defs.watch import watch_checks, watch_schedule


def build_definitions(project: str | Path | None = None) -> dg.Definitions:
    """The definitions of a project's folder (BACKFILL_PROJECT or the embedded demo when none is given).

    Loading opens neither Spark nor the warehouse. Raises ProjectError with every problem of the project's files.
    """
    return definitions(Context.open(project))


def definitions(workspace: Context, *, elsewhere: Collection[str] = ()) -> dg.Definitions:
    """The definitions of an open workspace. Sources that are defined `elsewhere` are left out: others' assets."""
    runs = Runs(workspace)
    with ignore_preview_warnings():
        models = [model_asset(model, runs) for model in workspace.project.models.values()]
    routine, looks = routine_job(workspace), watch_checks(workspace)
    return dg.Definitions(
        assets=[*models, *external_specs(workspace.project, elsewhere)],
        jobs=[
            apply_job(workspace),
            adopt_job(workspace),
            approve_job(workspace),
            rules_job(workspace),
            plans_job(workspace),
            promote_job(workspace),
            evidence_job(workspace),
            runbook_job(workspace),
            routine,
            rollback_job(workspace),
            pin_job(workspace),
            unpin_job(workspace),
            janitor_job(workspace),
        ],
        asset_checks=[looks] if looks else [],
        schedules=[routine_schedule(routine), *([watch_schedule(looks)] if looks else [])],
        sensors=[ledger_sensor(workspace)],
        resources={
            IO_MANAGER_KEY: dg.IOManagerDefinition.hardcoded_io_manager(VersionTables(runs)),
            PYSPARK: spark_resource(workspace),
        },
        executor=dg.in_process_executor,  # one Spark session a run; Spark does the parallel work
    )
