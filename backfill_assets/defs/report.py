"""What does Dagster get to know of a build? Green partitions, check results, and the failure in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Materialized,
)

from backfill_assets.app.context import Context
from backfill_assets.audits.result import AuditResult
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.errors import DamagedLogError
from backfill_assets.core.escaping import visible
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.defs.checks import Target, evaluations, newest_results, summary_evaluations
from backfill_assets.defs.metadata import CODE_VERSION_TAG, DATA_VERSION_TAG, built_schema, column_lineage
from backfill_assets.defs.names import job_text, model_key
from backfill_assets.defs.safe_log import Log
from backfill_assets.state.versions import table_path

Step = dg.AssetExecutionContext | dg.OpExecutionContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What came of the plan that a step worked on."""

    metadata: Mapping[str, Any]
    """Its id and the next step, for Dagster's pages."""
    problems: tuple[str, ...] = ()
    """Why its rows cannot be promoted, whatever was built."""


def report(context: Context, step: dg.AssetExecutionContext, model: Model, outcome: Outcome, worked: Worked) -> None:
    """Tell Dagster what came of a step's build, and of the plan that it worked on. A complete one leaves the range's
    events to Dagster itself.

    Raises Failure after everything that is good was logged, when anything that was asked for is not: Dagster launches
    downstream work as soon as it sees a materialization, so a red interval must never be reported.
    """
    if outcome.ok and not worked.problems:
        _log_doubt(step, outcome)
        Log(step).info(done_text(context.project, model, outcome))
        shared = run_metadata(context, model, outcome) | dict(worked.metadata)
        for key, own in partition_metadata(context, model, outcome.green).items():
            step.add_asset_metadata({**shared, **own}, partition_key=key)
        return
    log_outcome(context, step, model, outcome, worked.metadata)
    said = [] if outcome.ok else [failure_text(context.project, model, outcome)]
    raise dg.Failure(
        description=visible("\n\n".join([*said, *worked.problems])),
        metadata={
            "missing": str(outcome.requested - outcome.green),
            "complete": str(outcome.green),
            "version": outcome.version,
            **worked.metadata,
        },
        allow_retries=False,
    )


def log_outcome(
    context: Context, step: Step, model: Model, outcome: Outcome, more: Mapping[str, Any] | None = None
) -> None:
    """Log a materialization for each interval that was asked for and is good, and what the audits found. `more` is
    said of each."""
    _log_doubt(step, outcome)
    shared = run_metadata(context, model, outcome) | dict(more or {})
    closed = outcome.green - outcome.partial  # an open interval has no partition yet
    for event in materializations(context, model, closed, shared):
        step.log_event(event)
    results = recorded(context, model, closed, outcome.requested - outcome.partial)
    log_checks(context.project, step, model, outcome, results)
    for event in summary_evaluations(context.project, model, results):
        _log(step, event)


def _log_doubt(step: Step, outcome: Outcome) -> None:
    if outcome.doubt:
        Log(step).warning(outcome.doubt)


def log_checks(project: Project, step: Step, model: Model, outcome: Outcome, results: Sequence[AuditResult]) -> None:
    """Log what the audits found in single intervals. Their materializations must have been logged before."""
    count = outcome.requested.count(model.cadence)
    for event in evaluations(project, model, results, count, _latest(step.instance, model_key(project, model.name))):
        _log(step, event)


def materializations(
    context: Context, model: Model, ranges: Ranges, shared: dict[str, Any]
) -> list[dg.AssetMaterialization]:
    """A materialization a partition, with its rows."""
    version = context.project.fingerprints[model.name]
    tags = {CODE_VERSION_TAG: version, DATA_VERSION_TAG: version}
    return [
        dg.AssetMaterialization(
            model_key(context.project, model.name), partition=key, metadata={**shared, **own}, tags=tags
        )
        for key, own in partition_metadata(context, model, ranges).items()
    ]


def recorded(context: Context, model: Model, green: Ranges, requested: Ranges | None = None) -> list[AuditResult]:
    """The results that count for the requested ranges (None: for all), whichever run found them.

    A blocking failure of an interval that is complete nevertheless is outdated: it was declared complete since.
    """
    before = context.control.results.read(models=[model.name], version=context.project.fingerprints[model.name])
    if requested is None:
        requested = model.expected(context.now()) & Ranges.of(r.interval for r in before)
    found = newest_results(model, before, requested)
    return [r for r in found if r.passed or not r.blocking or r.interval not in green]


def _log(step: Step, event: dg.AssetCheckEvaluation) -> None:
    step.log_event(event)  # pyright: ignore[reportArgumentType]  # Dagster takes it, though its types do not say so


def _latest(instance: dg.DagsterInstance, key: dg.AssetKey) -> Target:
    """Finds the newest materialization of a partition, for a check's evaluation to point at."""
    found: dict[str, Materialized | None] = {}

    def target(partition: str) -> Materialized | None:
        if partition not in found:
            records = instance.fetch_materializations(
                dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition]), limit=1
            ).records
            found[partition] = (
                Materialized(storage_id=records[0].storage_id, run_id=records[0].run_id, timestamp=records[0].timestamp)
                if records
                else None
            )
        return found[partition]

    return target


def run_metadata(context: Context, model: Model, outcome: Outcome) -> dict[str, Any]:
    """What is the same for every partition of a run."""
    built = outcome.built.count(model.cadence)
    shared: dict[str, Any] = {"version": outcome.version, "outcome": done_text(context.project, model, outcome)}
    if built:
        shared |= {"seconds": round(outcome.wall, 1), "bytes written": outcome.bytes, "rows written": outcome.rows}
    if outcome.changes is not None:
        shared |= {f"rows {word}": count for word, count in asdict(outcome.changes).items()}
    return shared | {"dagster/uri": table_path(context.warehouse, model.name, outcome.version)}


def partition_metadata(context: Context, model: Model, ranges: Ranges) -> dict[str, dict[str, Any]]:
    """Rows of each interval, by partition key; from file statistics, no rows are read.

    The last one has the table's schema too, with types that only Spark knew, and the columns' lineage: the asset's
    page shows the newest event's.
    """
    version = context.project.fingerprints[model.name]
    counts: dict[datetime, int] = defaultdict(int)
    with suppress(DamagedLogError):
        head = context.log.head(model.name, version)
        for instant, rows in (context.log.rows(model.name, version, head) if head >= 0 else {}).items():
            counts[model.cadence.floor(instant)] += rows
    found: dict[str, dict[str, Any]] = {
        model.cadence.key(start): {"dagster/partition_row_count": counts[start]}
        for start in (i.start for i in ranges.split(model.cadence))
    }
    record = context.control.versions.get(model.name, version)
    if found and record:
        schema = built_schema(record.columns, context.project.columns[model.name], model.grain)
        found[list(found)[-1]]["dagster/column_schema"] = schema
    if found and (lineage := column_lineage(model, context.project)):
        found[list(found)[-1]]["dagster/column_lineage"] = lineage
    return found


def failure_text(project: Project, model: Model, outcome: Outcome) -> str:
    """What is missing and why, in the words that a person needs to go on."""
    missing = outcome.requested - outcome.green
    count, good = missing.count(model.cadence), outcome.green.count(model.cadence)
    lines = [f"{model.name}: {count} of {count + good} intervals are not complete: {missing}"]
    lines += [f"{f.interval} failed: {f.error}" for f in outcome.failures]
    red: dict[str, list[AuditResult]] = defaultdict(list)
    for result in outcome.results:
        if result.blocking and not result.passed:
            red[result.check].append(result)
    for check, found in red.items():
        where = Ranges.of(r.interval for r in found)
        lines.append(f"audit {check} failed in {where}: {found[0].observed}; expected {found[0].expected}")
        if found[0].sample:
            lines.append(f"  for example: {', '.join(found[0].sample)}")
    lines += [f"{w.intervals} waits for {w.upstream}: {w.needs}" for w in outcome.waits]
    if outcome.green:
        lines.append(f"kept: {outcome.green} is complete and audited; building again does only the rest")
    lines.append(f"fix: {_remedy(project, outcome)}; what environments show has not changed")
    return "\n".join(lines)


def _remedy(project: Project, outcome: Outcome) -> str:
    if outcome.failures:
        return "correct the cause above, then materialize the same range again"
    if outcome.red or any(not r.passed for r in outcome.results):
        return "correct the source data, the model or the audit, then materialize the same range again"
    if outcome.waits:
        lacks = outcome.waits[0]
        if lacks.upstream not in project.models:
            return f"once {lacks.upstream} has rows of {lacks.needs}, materialize the same range again"
        return f"materialize {model_key(project, lacks.upstream).to_user_string()} for {lacks.needs} first"
    return "materialize the same range again"


def held_text(why: str, *, goes_on: bool = True) -> str:
    """Why a run ended before all was begun: it does not wait, or nothing `goes_on` with its plan, which has ended."""
    fix = "launch the same again then: it goes on from there" if goes_on else "launch it again if it is to be built"
    return f"stopped before all batches had begun: {why}\nfix: {fix}"


def done_text(project: Project, model: Model, outcome: Outcome) -> str:
    """What a build that is complete did."""
    built, asked = outcome.built.count(model.cadence), outcome.requested.count(model.cadence)
    if not built and outcome.results:
        return f"audited {outcome.requested} again ({asked} intervals); nothing had to be built"
    if not built:
        by_job = job_text(project, "apply")
        again = f"to compute published days again, run {by_job} with restate: ['{model.name}:DAY..DAY']"
        return f"nothing to do, {outcome.requested} ({asked} intervals) was complete, no Spark session opened; {again}"
    kept = (outcome.green - outcome.built).count(model.cadence)
    return (
        f"built {outcome.built} ({built} intervals)"
        + (f"; {kept} were complete already" if kept else "")
        + (f"; a blocking audit failed in {outcome.red}" if outcome.red else "")
    )
