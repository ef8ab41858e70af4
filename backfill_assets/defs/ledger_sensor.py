"""How does Dagster learn of what happened elsewhere? A sensor reports what the `backfill` command built and promoted.

The ledger and the environment are the truth, Dagster's events a projection of them: the sensor looks at what is there,
at what Dagster has events for, and reports the difference. So it can be killed or run twice without harm, and what a
crashed Dagster run built and could not report is reported too.
"""

import json
from collections.abc import Callable, Iterable, Iterator

import dagster as dg

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.audit.digest import audits_digest
from backfill_assets.defs.checks import summary_evaluations
from backfill_assets.defs.metadata import DATA_VERSION_TAG, model_key
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.report import materializations, recorded
from backfill_assets.intervals import Cadence, Interval, Ranges
from backfill_assets.state.ledger import Coverage, by_version
from backfill_assets.state.tables import version_coverage

Report = dg.AssetMaterialization | dg.AssetCheckEvaluation
MOST_EVENTS = 300
"""Events a tick: each costs about 7 ms, and a tick has a minute."""
SECONDS_BETWEEN_TICKS = 30


def ledger_sensor(workspace: Workspace) -> dg.SensorDefinition:
    """The sensor. Its cursor is the revision of ledger and environments at which everything was reported."""

    @dg.sensor(
        name="ledger_sensor",
        minimum_interval_seconds=SECONDS_BETWEEN_TICKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports what was built and promoted by other ways than Dagster: the ledger is the truth.",
    )
    def ledger_to_events(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        revisions = json.dumps([workspace.control.ledger.revision(), workspace.control.environments.revision()])
        if context.cursor == revisions:
            return dg.SkipReason("nothing happened since the last look")
        views = unreported_views(workspace, context.instance)
        busy = _busy(context.instance)
        events: list[Report] = [*views]
        complete = True
        for name in workspace.project.models:
            found, settled = _unreported(workspace, context.instance, name, busy, MOST_EVENTS - len(events))
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
    workspace: Workspace, instance: dg.DagsterInstance, name: str, busy: Callable[[str], bool], most: int
) -> tuple[list[Report], bool]:
    """A model's events, at most `most`, and whether there are no more. The last ones say what the audits found."""
    model, version = workspace.project.models[name], workspace.project.fingerprints[name]
    entries = by_version(workspace.control.ledger.entries([name])).get((name, version), [])
    if not entries:
        return [], True
    digest = audits_digest(model)
    have, _ = version_coverage(entries, workspace.log, model=name, version=version, audits=digest, now=workspace.now())
    intervals, settled = to_report(model.cadence, have, _known(instance, name, version), busy)
    some = intervals[: max(most - len(model.audits), 0)]
    if not some:
        return [], settled and not intervals
    shared = {"version": version, "outcome": "built by the backfill command"}
    events: list[Report] = [*materializations(workspace, model, Ranges.of(some), shared)]
    if len(some) < len(intervals):
        return events, False
    return events + summary_evaluations(model, recorded(workspace, model, have.green)), settled


def _known(instance: dg.DagsterInstance, name: str, version: str) -> Iterator[str]:
    """The partitions whose newest materialization is of this version."""
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        model_key(name), dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG]
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
