"""What does a project amount to in Dagster? Everything wired together, once, when the code location loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.wording import listed
from backfill_assets.defs.adopt import adopt_job
from backfill_assets.defs.approve import approve_job
from backfill_assets.defs.assets import model_asset
from backfill_assets.defs.candidate_checks import candidate_checks
from backfill_assets.defs.candidate_sensor import candidate_sensor
from backfill_assets.defs.compare_jobs import consumers_job, diff_job
from backfill_assets.defs.evidence import evidence_job
from backfill_assets.defs.external import external_specs
from backfill_assets.defs.io_manager import IO_MANAGER_KEY, VersionTables
from backfill_assets.defs.jobs import apply_job, promote_job, routine_job, routine_schedule
from backfill_assets.defs.ledger_edits import withdraw_job
from backfill_assets.defs.ledger_sensor import ledger_sensor
from backfill_assets.defs.maintenance import janitor_job, rollback_job
from backfill_assets.defs.names import local_name
from backfill_assets.defs.pins import pin_job, unpin_job
from backfill_assets.defs.plan_job import plan_job, preflight_job
from backfill_assets.defs.plans import abandon_job, plans_job
from backfill_assets.defs.records import backup_job, status_job, verify_job
from backfill_assets.defs.rules import rules_job
from backfill_assets.defs.runbook import runbook_job
from backfill_assets.defs.runs import Runs
from backfill_assets.defs.spark_resource import PYSPARK, spark_resource
from backfill_assets.defs.warning_filters import ignore_preview_warnings
from backfill_assets.defs.watch import watch_checks, watch_schedule
from backfill_assets.plan.faulty import faulty_words
from backfill_assets.project.dagster_names import with_prefixes

JOBS = (
    plan_job, preflight_job, apply_job, withdraw_job,
    diff_job, consumers_job, approve_job, rules_job, promote_job, evidence_job, runbook_job, verify_job,
    status_job, plans_job, abandon_job, rollback_job, janitor_job, pin_job, unpin_job,
    backup_job, adopt_job,
)  # fmt: skip
"""In the order of the commands; `routine` has a schedule as well."""


def build_definitions(
    project: str | Path | None = None,
    *,
    key_prefix: str | Sequence[str] | None = None,
    job_prefix: str | None = None,
    existing_assets: Sequence[str] | None = None,
    in_process: bool = True,
) -> dg.Definitions:
    """The definitions of a project's folder (BACKFILL_PROJECT or the embedded demo when none is given).

    The names that are given win over those of `backfill.yml`. `in_process` names the in-process executor for the whole
    code location, so that the steps of a run share a Spark session; else none is named, and it can have one of its own.
    Loading opens neither Spark nor the warehouse. Raises ProjectError with every problem of the project's files,
    SettingsError for names that Dagster would not take.
    """
    found = Context.open(project)
    names = found.project.settings.dagster
    try:
        names = with_prefixes(names, key_prefix=key_prefix, job_prefix=job_prefix, existing_assets=existing_assets)
    except ValueError as error:
        raise SettingsError("Dagster has no such names", why=str(error), fix="see `backfill docs dagster`") from None
    if unknown := sorted(set(names.existing_assets) - found.project.sources.keys()):
        raise SettingsError(
            f"existing_assets names {listed(unknown)}",
            why="the project has no such source",
            fix=f"name one of {listed(sorted(found.project.sources))}",
        )
    settings = replace(found.project.settings, dagster=names)
    named = replace(found, project=replace(found.project, settings=settings))
    return definitions(named, in_process=in_process)


def definitions(context: Context, *, in_process: bool = True) -> dg.Definitions:
    """The definitions of an open project, under the names that its settings say."""
    project, runs = context.project, Runs(context)
    for line in faulty_words(project):
        dg.get_dagster_logger("backfill").warning(line)
    with ignore_preview_warnings():
        models = [model_asset(model, runs) for model in project.models.values()]
    routine, looks = routine_job(context), watch_checks(context)
    return dg.Definitions(
        assets=[*models, *external_specs(project)],
        jobs=[routine, *(make(context) for make in JOBS)],
        asset_checks=[each for each in (looks, candidate_checks(context)) if each],
        schedules=[routine_schedule(routine), *([watch_schedule(context, looks)] if looks else [])],
        sensors=[ledger_sensor(context), candidate_sensor(context)],
        resources={
            local_name(project, IO_MANAGER_KEY): dg.IOManagerDefinition.hardcoded_io_manager(VersionTables(runs)),
            local_name(project, PYSPARK): spark_resource(context),
        },
        # one Spark session a run; Spark does the parallel work
        executor=dg.in_process_executor if in_process else None,
    )
