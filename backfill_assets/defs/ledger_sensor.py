"""How does Dagster learn of what happened elsewhere? A sensor reports what the `backfill` command built and promoted.

The ledger and the environment are the truth, Dagster's events a projection of them: the sensor looks at what is there,
at what Dagster has events for, and reports the difference. So it can be killed or run twice without harm, and what a
crashed Dagster run built and could not report is reported too.

A partition counts in Dagster when the version of the loaded code is complete in it. Events of other versions would say
the same of rows that do not exist, so the sensor wipes them (decisions/0032).
"""

import json
from collections.abc import Callable, Iterable, Iterator

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.model import Project
from backfill_assets.defs.checks import summary_evaluations
from backfill_assets.defs.foreign_events import foreign_reporter
from backfill_assets.defs.metadata import DATA_VERSION_TAG
from backfill_assets.defs.names import local_name, model_key
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.report import materializations, recorded
from backfill_assets.state.ledger import Coverage, by_version
from backfill_assets.state.tables import version_coverage
from backfill_assets.state.versions import table_path

Report = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation
MOST_EVENTS = 300
"""Events a tick: each costs about 7 ms, and a tick has a minute."""
SECONDS_BETWEEN_TICKS = 30


def ledger_sensor(context: Context) -> dg.SensorDefinition:
    """The sensor. Its cursor is what everything was reported of: the revisions of ledger and environments, the loaded
    versions, and Dagster's own newest events."""

    @dg.sensor(
        name=local_name(context.project, "ledger_sensor"),
        minimum_interval_seconds=SECONDS_BETWEEN_TICKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports what was built and promoted by other ways than Dagster: the ledger is the truth.",
    )
    def ledger_to_events(tick: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        instance = tick.instance
        revisions = json.dumps(
            [
                context.control.ledger.revision(),
                context.control.environments.revision(),
                context.project.fingerprints,
                _newest(instance, context.project),
            ]
        )
        if tick.cursor == revisions:
            return dg.SkipReason("nothing happened since the last look")
        events: list[Report] = [*unreported_views(context, instance)]
        busy, complete = _busy(instance), True
        for name in context.project.models:
            found, settled = _unreported(context, instance, name, busy, MOST_EVENTS - len(events), tick.log.warning)
            events += found
            complete = complete and settled
        return dg.SensorResult(
            asset_events=events,
            cursor=revisions if complete else "",
            skip_reason=None if events else "everything is known already",
        )

    return ledger_to_events


def to_report(
    cadence: Cadence, have: Coverage, known: Iterable[str], busy: Callable[[str], bool]
) -> tuple[list[Interval], bool]:
    """The green intervals whose keys are not `known`, and whether nothing else may come. Open intervals have no
    partition yet.

    What a run that is still going on built is left to it (`busy` says so of a run's name): it reports by itself when
    its audits are through.
    """
    left: list[Interval] = []
    told, settled = frozenset(known), True
    for part, entry in have.batches(have.green - have.partial):
        fresh = [i for i in cadence.split(part) if cadence.key(i.start) not in told]
        if fresh and busy(entry.run):
            settled = False
        else:
            left += fresh
    return left, settled


def _unreported(
    context: Context,
    instance: dg.DagsterInstance,
    name: str,
    busy: Callable[[str], bool],
    most: int,
    warn: Callable[[str], object],
) -> tuple[list[Report], bool]:
    """A model's events, at most `most`, and whether there are no more. The last ones say what the audits found.

    An asset that another code location materializes is left alone, and `warn` is told.

    What Dagster has is read before the ledger: a run records there first, so that nothing true is taken for untrue.
    """
    project = context.project
    model, version, key = project.models[name], project.fingerprints[name], model_key(project, name)
    there, known = instance.get_materialized_partitions(key), set(_known(instance, key, version))
    entries = by_version(context.control.ledger.entries([name])).get((name, version), [])
    if not entries and not there:
        return [], True
    digest = audits_digest(model)
    over = model.over(context.now())
    have, _ = version_coverage(entries, context.log, model=name, version=version, audits=digest, over=over)
    green = {model.cadence.key(i.start) for i in (have.green - have.partial).split(model.cadence)}
    events: list[Report] = []
    if untrue := there - green:
        if told := foreign_reporter(instance, key, untrue, context.warehouse):
            warn(told)
            return [], True
        instance.wipe_assets([key])
        events.append(_wiped(key, version, len(untrue), len(green)))
        known.clear()
    intervals, settled = to_report(model.cadence, have, known, busy)
    settled = settled and not untrue  # what a run told meanwhile is wiped as well: look again
    some = intervals[: max(most - len(model.audits) - len(events), 0)]
    if not some:
        return events, settled and not intervals
    shared = {
        "version": version,
        "outcome": "complete in the ledger, which says who built it",
        "dagster/uri": table_path(context.warehouse, name, version),
    }
    events += materializations(context, model, Ranges.of(some), shared)
    if len(some) < len(intervals):
        return events, False
    return events + summary_evaluations(project, model, recorded(context, model, have.green)), settled


def _wiped(key: dg.AssetKey, version: str, untrue: int, green: int) -> dg.AssetObservation:
    """What the asset's page says of partitions that do not count any more."""
    return dg.AssetObservation(
        key,
        description=f"{untrue} partitions are not complete in version {version} of the loaded code and are shown as "
        f"missing; {green} are complete. No rows were touched: prod's views show what they showed.",
        metadata={"version": version, "partitions wiped": untrue, "partitions complete": green},
    )


def _newest(instance: dg.DagsterInstance, project: Project) -> dict[str, int | None]:
    """The newest materialization that Dagster has of each model, whoever reported it."""
    records = instance.get_asset_records([model_key(project, name) for name in project.models])
    return {r.asset_entry.asset_key.to_user_string(): r.asset_entry.last_materialization_storage_id for r in records}


def _known(instance: dg.DagsterInstance, key: dg.AssetKey, version: str) -> Iterator[str]:
    """The partitions whose newest materialization is of this version."""
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        key, dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG]
    )
    return (key for key, of in tags.items() if of.get(DATA_VERSION_TAG) == version)


def _busy(instance: dg.DagsterInstance) -> Callable[[str], bool]:
    """Whether a run, or a run of the backfill, of that name is still going on."""
    answers: dict[str, bool] = {}

    def ask(name: str) -> bool:
        if name not in answers:
            run = instance.get_run_by_id(name)
            if run is not None:
                answers[name] = not run.is_finished
            else:
                runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": name}))
                answers[name] = any(not r.is_finished for r in runs)
        return answers[name]

    return ask
