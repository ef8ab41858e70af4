"""Runs, jobs and ticks of Dagster over a workspace whose engine is a fake: no JVM is started."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.app.plan import plan_request
from backfill_assets.app.prove import Proved
from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Model
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.bulk_events import Report, report_events
from backfill_assets.defs.candidate_checks import PREFIX
from backfill_assets.defs.ledger_sensor import ledger_sensor
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approval import EVERY_PROOF, subject
from backfill_assets.promote.gate import judge_rows
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.proofs import DIFF, Proof
from backfill_assets_tests.fakes import Cell, FakePins, World, days

KEYS = [f"2024-01-{d:02}" for d in range(1, 11)]
INSTANCES: dict[str, dg.DagsterInstance] = {}
"""Which instance a run was on."""


@dataclass(kw_only=True)
class Place(Context):
    """A workspace over fakes. It counts how often an engine (and so a Spark session) was asked for."""

    world: World
    opened: int = 0

    def engine(self) -> Any:
        self.opened += 1
        return self.world.engine

    def shared_views(self) -> None:
        return None


def nothing_found(place: Context, plan: str, planned: Plan, facts: Facts) -> Proved:
    """What is complete is compared, by nobody, and nothing is found: Spark is what would do it."""
    record = find_plan(place.control, plan)
    cases = cases_of(place, facts)
    if found := judge_rows(cases.of_rows(facts, record, planned.blocked)).obstacles:
        return Proved(in_the_way=found)
    content = subject(place.project, facts, cases.review(facts, record)).content
    now = datetime.now(UTC)
    blank = Proof(plan=record.id, kind=DIFF, content=content, at=now, document={"old": "", "new": "", "models": []})
    place.control.proofs.put([replace(blank, kind=kind) for kind in sorted(EVERY_PROOF)])
    return Proved()


def in_process(job: dg.JobDefinition, **options: Any) -> dg.ExecuteInProcessResult:
    """Run a job here, with comparisons that need no Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backfill_assets.app.apply.prove_built", nothing_found)
        return job.execute_in_process(raise_on_error=False, **options)


def a_place(*models: Model) -> Place:
    world = World(*models)
    settings = replace(world.project.settings, clock=days("10").end)
    project = with_changes(world.project, settings=settings, columns={m.name: () for m in models})
    return Place(project=project, control=world.control, log=world.tables, pins=FakePins(), world=world)  # type: ignore[arg-type]


def with_changes(value: Any, **changes: Any) -> Any:
    return replace(value, **changes)


def materialize(
    place: Place,
    instance: dg.DagsterInstance,
    *names: str,
    first: str = KEYS[0],
    last: str = KEYS[4],
    tags: Mapping[str, str] | None = None,
) -> dg.ExecuteInProcessResult:
    """As the UI and the CLI run a range: one run, the range in its tags, with `tags` of the user's."""
    job = definitions(place).resolve_implicit_global_asset_job_def()
    tags = {
        "dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last, **(tags or {})
    }  # fmt: skip
    chosen = job.get_subset(asset_selection={dg.AssetKey(n) for n in names})
    result = in_process(chosen, instance=instance, tags=tags)
    INSTANCES[result.run_id] = instance
    return result


def events_of(result: dg.ExecuteInProcessResult, kind: dg.DagsterEventType) -> list[Any]:
    """What the instance keeps of a run: of a failed step, the result itself does not have all."""
    records = INSTANCES[result.run_id].get_records_for_run(result.run_id, of_type=kind).records
    return [r.event_log_entry.get_dagster_event().event_specific_data for r in records]


def materializations_of(result: dg.ExecuteInProcessResult, name: str) -> list[dg.AssetMaterialization]:
    events = events_of(result, dg.DagsterEventType.ASSET_MATERIALIZATION)
    return [e.materialization for e in events if e.materialization.asset_key == dg.AssetKey(name)]


def partitions_of(result: dg.ExecuteInProcessResult, name: str) -> list[str | None]:
    return [m.partition for m in materializations_of(result, name)]


def evaluations_of(result: dg.ExecuteInProcessResult) -> list[dg.AssetCheckEvaluation]:
    """Of audits; what owners ask of a candidate is answered after them (`unit/defs/test_candidate_checks.py`)."""
    found: list[dg.AssetCheckEvaluation] = events_of(result, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    return [each for each in found if not each.check_name.startswith(PREFIX)]


def failure_of(result: dg.ExecuteInProcessResult, name: str) -> str:
    data = result.failure_data_for_node(name)
    assert data and data.user_failure_data
    return data.user_failure_data.description or ""


def tick(place: Place, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult | dg.SkipReason:
    """One tick, and what it told, as the events of its result."""
    told: list[Report] = []

    def listen(instance: dg.DagsterInstance, events: Sequence[Report]) -> None:
        told.extend(events)
        report_events(instance, events)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backfill_assets.defs.ledger_sensor.report_events", listen)
        found = ledger_sensor(place)(dg.build_sensor_context(instance=instance, cursor=cursor))
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    if isinstance(found, dg.SkipReason):
        return found
    return dg.SensorResult(asset_events=told, cursor=found.cursor, skip_reason=found.skip_reason)


def rests(cursor: str | None) -> bool:
    """Whether a sensor that left this cursor looks at nothing until something happens."""
    return bool(json.loads(cursor or "{}").get("of"))


def told(result: dg.SensorResult | dg.SkipReason) -> list[tuple[str, str | None]]:
    events = result.asset_events if isinstance(result, dg.SensorResult) else []
    return [(e.asset_key.to_user_string(), e.partition) for e in events if isinstance(e, dg.AssetMaterialization)]


def build_elsewhere(place: Place, *names: str, run: str = "cli-run") -> None:
    """What `backfill apply` does."""
    plan = plan_request(place, Request(select=names))
    apply(place.bench(plan.sources, run=run), plan)


def execute(
    place: Place, instance: dg.DagsterInstance, job: str, *, tags: Mapping[str, str] | None = None, **config: Any
) -> dg.ExecuteInProcessResult:
    found = definitions(place).resolve_job_def(job)
    run_config = {"ops": {found.graph.nodes[0].name: {"config": config}}} if config else None
    return in_process(found, instance=instance, run_config=run_config, tags=tags)


def loaded(place: Place, **versions: str) -> Place:
    """The same warehouse after an edit and a reload: the models' code has other versions."""
    edited = replace(
        place, project=with_changes(place.project, fingerprints={**place.project.fingerprints, **versions})
    )
    edited.world = place.world
    return edited


def red(job: Job, interval: Interval) -> Cell:
    """Every model has a red day: the 3rd."""
    return Cell(failures={"rows_ok": 2}) if interval.start.day == 3 else Cell()
