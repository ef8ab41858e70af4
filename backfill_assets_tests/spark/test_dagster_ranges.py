"""Does Dagster count what the loaded version has, and does a range that is materialized there belong to a plan?

The engine is a fake: no JVM is started.
"""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest
from dagster._core.definitions.selector import (
    PartitionRangeSelector,
    PartitionsByAssetSelector,
    PartitionsSelector,
)
from dagster._core.execution.backfill import PartitionBackfill

from backfill_assets.app.candidate import open_plan
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import ColumnRef
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.plan_tags import PLAN_TAG
from backfill_assets.defs.runs import BACKFILL_TAG
from backfill_assets.plan.request_parsing import request_of
from backfill_assets.plan.stages import Request
from backfill_assets.state.plans import PlanStatus
from backfill_assets_tests.dagster_place import (
    KEYS,
    Place,
    a_place,
    build_elsewhere,
    execute,
    failure_of,
    loaded,
    materializations_of,
    materialize,
    red,
    tick,
    with_changes,
)
from backfill_assets_tests.fakes import Cell, a_model

ROWS_OK = dg.AssetCheckKey(dg.AssetKey("base"), "rows_ok")


@pytest.fixture
def place() -> Place:
    return a_place(a_model("base", "raw"), a_model("top", "base", lookback=1))


def tagged_plan(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> str:
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    return run.tags.get(PLAN_TAG, "")


def test_a_range_from_the_ui_opens_a_plan_that_owners_can_approve(place: Place, instance: dg.DagsterInstance) -> None:
    """An edit is loaded and days of it are materialized: a plan is open that says so, its candidate shows them, the run
    and each partition name it and the next step; the rest of the days goes on under the same id."""
    build_elsewhere(place, "base", "top")
    promote_plan(place)
    edited = loaded(place, base="base-2", top="top-2")
    first = materialize(edited, instance, "base", "top", last=KEYS[9])
    [plan] = [p for p in place.control.plans.all() if p.live]
    assert first.success and tagged_plan(instance, first) == plan.id
    assert plan.versions == {"base": "base-2", "top": "top-2"} and plan.status is PlanStatus.APPLIED
    shown = place.control.environments.read(plan.candidate).pointers
    assert {n: (p.version, str(p.covers)) for n, p in shown.items()} == {
        "base": ("base-2", "2024-01-01..2024-01-10"), "top": ("top-2", "2024-01-01..2024-01-10"),
    }  # fmt: skip
    said = {k: v.value for k, v in materializations_of(first, "top")[0].metadata.items()}
    assert said["plan"] == plan.id
    assert f"`backfill approve {plan.id}` or the job `approve`" in str(said["next"])
    assert f"`backfill promote {plan.id}` or the job `promote`" in str(said["next"])
    assert place.control.environments.read("prod").pointers["base"].version == "base-1"
    refused = execute(edited, instance, "promote", plan=plan.id)
    assert "approv" in failure_of(refused, "point_prod")


def test_a_range_goes_on_with_the_plan_that_covers_it(place: Place, instance: dg.DagsterInstance) -> None:
    """A plan that failed on a day, wherever it was applied: that day, materialized from the UI, belongs to it. A range
    of its own has a plan of its own, which is the one of `apply` with the same days."""
    place.world.engine.cell = red
    plan = open_plan(place, plan_request(place, Request()))
    build_elsewhere(place, "base", "top")
    assert plan is not None
    place.world.engine.cell = lambda job, interval: Cell()
    again = materialize(place, instance, "base", first=KEYS[2], last=KEYS[2])
    assert again.success and tagged_plan(instance, again) == plan.plan.id
    assert "not complete yet" in str(materializations_of(again, "base")[0].metadata["next"].value)

    other = a_place(a_model("base", "raw"), a_model("top", "base", lookback=1))
    result = materialize(other, instance, "base", last=KEYS[4])
    request = request_of(start=KEYS[0], end=KEYS[4], select=["base"])
    [own] = other.control.plans.all()
    assert tagged_plan(instance, result) == own.id
    found = open_plan(other, plan_request(other, request))
    assert found is None or found.plan.id == own.id


def test_a_range_that_collides_is_refused_before_anything_is_built(place: Place, instance: dg.DagsterInstance) -> None:
    """Somebody else's open plan builds another version: the run says whose, as `apply` does."""
    build_elsewhere(place, "base", "top")
    promote_plan(place)
    theirs = replace(loaded(place, base="base-2"), acting="bob")
    opened = open_plan(theirs, plan_request(theirs, Request(select=("base",))))
    assert opened is not None
    entries = place.control.ledger.entries()
    result = materialize(loaded(place, base="base-3"), instance, "base")
    said = failure_of(result, "base")
    assert f"plan {opened.plan.id} (by bob" in said and "also changes base" in said
    assert place.control.ledger.entries() == entries


def test_runs_of_a_dagster_backfill_work_on_one_plan(instance: dg.DagsterInstance) -> None:
    """Ten days and the week that reads them, in two runs: one plan about both, in which the first run's days are not
    all there is to do."""
    place = a_place(a_model("d", "raw"), a_model("w", "d", cadence=Cadence.WEEKLY))
    graph = definitions(place).resolve_asset_graph()
    keys = {name: dg.AssetKey(name) for name in ("d", "w")}
    backfill = PartitionBackfill.from_partitions_by_assets(
        backfill_id="abcdefgh", asset_graph=graph, backfill_timestamp=1_700_000_000.0, tags={},
        dynamic_partitions_store=instance, title=None, description=None, run_config=None,
        partitions_by_assets=[
            PartitionsByAssetSelector(asset_key=keys["d"], partitions=_selected("2024-01-01", "2024-01-07")),
            PartitionsByAssetSelector(asset_key=keys["w"], partitions=_selected("2024-01-01", "2024-01-01")),
        ],
    )  # fmt: skip
    instance.add_backfill(backfill)
    tags = {BACKFILL_TAG: "abcdefgh"}
    one = materialize(place, instance, "d", first="2024-01-01", last="2024-01-07", tags=tags)
    two = materialize(place, instance, "w", first="2024-01-01", last="2024-01-01", tags=tags)
    assert one.success and two.success
    [plan] = place.control.plans.all()
    assert tagged_plan(instance, one) == tagged_plan(instance, two) == plan.id
    assert {t.model: str(t.intervals) for t in plan.targets} == {
        "d": "2024-01-01..2024-01-07", "w": "2024-01-01..2024-01-07",
    }  # fmt: skip
    assert plan.status is PlanStatus.APPLIED
    said = [str(materializations_of(r, n)[0].metadata["next"].value) for r, n in ((one, "d"), (two, "w"))]
    assert said[0].startswith("not complete yet") and said[1].startswith(f"`backfill promote {plan.id}`")


def _selected(first: str, last: str) -> PartitionsSelector:
    return PartitionsSelector([PartitionRangeSelector(first, last)])


def test_column_lineage_reaches_the_events(place: Place, instance: dg.DagsterInstance) -> None:
    """What Dagster's lineage tab draws from: the newest event of a model, and of a view, whoever built it."""
    lineage = {"base": {"n": (ColumnRef(table="raw", column="x"),)}}
    edited = replace(place, project=with_changes(place.project, lineage=lineage))
    result = materialize(edited, instance, "base")
    said = materializations_of(result, "base")[-1].metadata["dagster/column_lineage"].value
    assert said.deps_by_column == {"n": [dg.TableColumnDep(asset_key=dg.AssetKey("raw"), column_name="x")]}  # type: ignore[union-attr]
    build_elsewhere(edited, "base")
    promote_plan(place, Request(select=("base",)))
    tick(edited, instance)
    for key in (["base"], ["prod", "base"]):
        event = instance.get_latest_materialization_event(dg.AssetKey(key))
        assert event and event.asset_materialization
        assert "dagster/column_lineage" in event.asset_materialization.metadata, key
