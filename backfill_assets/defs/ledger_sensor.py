"""How does Dagster learn of what happened elsewhere? A sensor reports what the `backfill` command built and promoted.

The ledger and the environment are the truth, Dagster's events a projection of them: the sensor looks at what is there,
at what Dagster has events for, and reports the difference. So it can be killed or run twice without harm, and what a
crashed Dagster run built and could not report is reported too.

A partition counts in Dagster when the version of the loaded code is complete in it. Events of other versions would say
the same of rows that do not exist, so the sensor wipes them (decisions/0032).
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import dagster as dg
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from backfill_assets.app.context import Context
from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.escaping import one_line
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.model import Model, Project
from backfill_assets.defs.bulk_events import report_events
from backfill_assets.defs.checks import summary_evaluations
from backfill_assets.defs.foreign_events import foreign_reporter
from backfill_assets.defs.metadata import DATA_VERSION_TAG
from backfill_assets.defs.names import local_name, model_key
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.report import materializations, recorded
from backfill_assets.state.ledger import Coverage, Entry, by_version
from backfill_assets.state.tables import known_coverage, known_head
from backfill_assets.state.versions import table_path

EVENTS_AT_ONCE = 500
"""Partitions that are told before a look at the clock: in Dagster's SQLite each costs about 7 ms, in Postgres some
hundred microseconds."""
MODELS_AT_ONCE = 20
"""Of so many the ledger's entries are read by one look."""
SECONDS_A_TICK = 20.0
"""After which what is left is told by the next tick: Dagster ends one after a minute."""
SECONDS_BETWEEN_TICKS = 30


def ledger_sensor(context: Context) -> dg.SensorDefinition:
    """The sensor. Its cursor is what everything was reported of (the revisions of ledger and environments, the loaded
    versions, and Dagster's own newest events), and of each model the same: so that what was looked at is not looked at
    again when a tick does not get through."""
    project = context.project
    loaded = cache(lambda: {n: (project.fingerprints[n], audits_digest(m)) for n, m in project.models.items()})

    @dg.sensor(
        name=local_name(context.project, "ledger_sensor"),
        minimum_interval_seconds=SECONDS_BETWEEN_TICKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports what was built and promoted by other ways than Dagster: the ledger is the truth.",
    )
    def ledger_to_events(tick: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        began = time.monotonic()
        newest = _newest(tick.instance, context.project)
        revisions = _digest(
            context.control.ledger.revision(),
            context.control.environments.revision(),
            loaded(),
            newest,
        )
        before = _cursor(tick.cursor)
        if before.get("of") == revisions:
            return dg.SkipReason("nothing happened since the last look")
        views = unreported_views(context, tick.instance)
        report_events(tick.instance, views)
        seen, states = before.get("models", {}), _states(context, loaded(), newest)
        work = _Tick(
            context=context,
            instance=tick.instance,
            warn=tick.log.warning,
            late=lambda: time.monotonic() - began >= SECONDS_A_TICK,
        )
        # What was settled once changed by little; a backlog is not in its way.
        waiting = sorted((n for n, state in states.items() if seen.get(n) != state), key=lambda n: n not in seen)
        settled, told = work.tell(waiting)
        left = set(waiting) - settled
        told += len(views)
        return dg.SensorResult(
            cursor=json.dumps(
                {
                    "of": "" if left else revisions,
                    "models": {name: state for name, state in states.items() if name not in left},
                }
            ),
            skip_reason=(f"told Dagster of {told} events" if told else "everything is known already")
            + (f"; {len(left)} models are left for the next tick" if left else ""),
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
    closed = (have.green - have.partial).split(cadence)
    for part, entry in have.batches(Ranges.of(i for i in closed if cadence.key(i.start) not in told)):
        if busy(entry.run):
            settled = False
        else:
            left += cadence.split(part)
    return left, settled


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tick:
    """What a tick tells of models, and with what."""

    context: Context
    instance: dg.DagsterInstance
    warn: Callable[[str], object]
    late: Callable[[], bool]

    def tell(self, models: Sequence[str]) -> tuple[set[str], int]:
        """The models of which nothing else is to be told by now, and how many events were told."""
        settled, told, looked = set[str](), 0, 0
        for at in range(0, len(models), MODELS_AT_ONCE):
            some = models[at : at + MODELS_AT_ONCE]
            # Dagster's before the ledger's: a run records there first, so that nothing true is taken for untrue.
            known = {name: self._known(name) for name in some}
            entries = by_version(self.context.control.ledger.entries(some))
            busy = _busy(self.instance)
            for name in some:
                if looked and self.late():
                    return settled, told
                looked += 1
                mine = entries.get((name, self.context.project.fingerprints[name]), [])
                try:
                    rests, count = self._tell(name, mine, *known[name], busy, few=len(models) <= MODELS_AT_ONCE)
                except BackfillError as error:
                    self.warn(f"nothing is told of {name}: {one_line(str(error))}")
                    continue
                told += count
                if rests:
                    settled.add(name)
        return settled, told

    def _known(self, name: str) -> tuple[Collection[str], set[str]]:
        """The partitions that Dagster counts, and those of which it knows the loaded version."""
        project = self.context.project
        key = model_key(project, name)
        there = self.instance.get_materialized_partitions(key)
        return there, set(_of_version(self.instance, key, project.fingerprints[name])) if there else set()

    def _tell(
        self,
        name: str,
        entries: Sequence[Entry],
        there: Collection[str],
        known: set[str],
        busy: Callable[[str], bool],
        *,
        few: bool,
    ) -> tuple[bool, int]:
        """Whether nothing else is to be told of a model, and how many events were told: partitions, and after the last
        ones what the audits found. What is untrue goes at once; unless models are `few`, what is true is told by the
        next tick then, so that the others' goes as well.

        An asset that another code location materializes is left alone, and `warn` is told.
        """
        context, instance, project = self.context, self.instance, self.context.project
        if not entries and not there:
            return True, 0
        model, version, key = project.models[name], project.fingerprints[name], model_key(project, name)
        digest, over = audits_digest(model), model.over(context.now())
        have, _ = known_coverage(entries, context.log, model=name, version=version, audits=digest, over=over)
        green = {model.cadence.key(i.start) for i in (have.green - have.partial).split(model.cadence)}
        told = 0
        if untrue := set(there) - green:
            if foreign := foreign_reporter(instance, key, untrue, context.warehouse):
                self.warn(foreign)
                return True, 0
            instance.wipe_assets([key])
            report_events(instance, [_wiped(key, version, len(untrue), len(green))])
            known, told = set(), 1
            if not few:
                return False, told
        intervals, settled = to_report(model.cadence, have, known, busy)
        settled = settled and not untrue  # what a run told meanwhile is wiped as well: look again
        if not intervals:
            lacking = green and not self._has_checks(model)  # as when a tick was killed before it told them
            return settled, told + (self._tell_checks(model, have) if lacking else 0)
        shared = {
            "version": version,
            "outcome": "complete in the ledger, which says who built it",
            "dagster/uri": table_path(context.warehouse, name, version),
        }
        events = materializations(context, model, Ranges.of(intervals), shared)
        for at in range(0, len(events), EVENTS_AT_ONCE):
            some = events[at : at + EVENTS_AT_ONCE]
            report_events(instance, some)
            told += len(some)
            if at + len(some) < len(events) and self.late():
                return False, told
        return settled, told + self._tell_checks(model, have)

    def _has_checks(self, model: Model) -> bool:
        """Whether Dagster knows a result of each of a model's audits."""
        key = model_key(self.context.project, model.name)
        wanted = [dg.AssetCheckKey(key, audit.name) for audit in model.audits]
        storage = self.instance.event_log_storage
        return not wanted or storage.get_latest_asset_check_execution_by_key(wanted).keys() >= set(wanted)

    def _tell_checks(self, model: Model, have: Coverage) -> int:
        """What the audits found, after the partitions that it is about."""
        found = summary_evaluations(self.context.project, model, recorded(self.context, model, have.green))
        report_events(self.instance, found)
        return len(found)


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


def _of_version(instance: dg.DagsterInstance, key: dg.AssetKey, version: str) -> Iterator[str]:
    """The partitions whose newest materialization is of this version."""
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        key, dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG]
    )
    return (key for key, of in tags.items() if of.get(DATA_VERSION_TAG) == version)


def _states(
    context: Context, loaded: Mapping[str, tuple[str, str]], newest: Mapping[str, int | None]
) -> dict[str, str]:
    """A digest for each model of all that is told of it: its entries, its table, the loaded code and audits, and what
    Dagster knows."""
    project, marks = context.project, context.control.ledger.marks()

    def state(name: str) -> str:
        return _digest(
            marks.get(name),
            loaded[name],
            known_head(context.log, name, project.fingerprints[name]),
            newest.get(model_key(project, name).to_user_string()),
        )[:8]

    with ThreadPoolExecutor(_HEADS_AT_ONCE) as pool:  # in an object store each is a request
        return dict(zip(project.models, pool.map(state, project.models), strict=True))


_HEADS_AT_ONCE = 8


def _cursor(text: str | None) -> Mapping[str, Any]:
    """What a cursor says; those of earlier releases, and what people write there, say nothing."""
    try:
        said: object = json.loads(text or "null")
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _busy(instance: dg.DagsterInstance) -> Callable[[str], bool]:
    """Whether a run, or a run of the backfill, of that name is still going on."""
    names = set[str]()
    for run in instance.get_runs(dg.RunsFilter(statuses=NOT_FINISHED_STATUSES)):
        names |= {run.run_id, run.tags.get("dagster/backfill", "")}
    return names.__contains__
