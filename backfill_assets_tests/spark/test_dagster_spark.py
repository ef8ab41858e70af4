"""Does a materialization end in Delta tables, and does a user's own asset read them? With the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.build.apply import apply
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.io_manager import IO_MANAGER_KEY
from backfill_assets.defs.runs import PLAN_TAG
from backfill_assets_tests.projects import built_daily, expected_daily, small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.BetaWarning")]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


def test_range_of_two_models_and_an_asset_of_the_users_own(
    tmp_path: Path, instance: dg.DagsterInstance, spark: SparkSession
) -> None:
    """One run over four days: the tables hold what the files say, and a downstream asset gets exactly its days."""
    place = Workspace.open(small_project(tmp_path / "project", days=4, batch_size=2))
    found = definitions(place)
    read: list[list[str]] = []

    @dg.asset(
        ins={"daily": dg.AssetIn(input_manager_key=IO_MANAGER_KEY)},
        partitions_def=found.get_assets_def("daily").partitions_def,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def own(daily) -> None:  # type: ignore[no-untyped-def]
        read.append(sorted({str(row.ds) for row in daily.select("ds").collect()}))

    job = dg.Definitions.merge(found, dg.Definitions(assets=[own])).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance,
        tags={"dagster/asset_partition_range_start": "2024-01-02", "dagster/asset_partition_range_end": "2024-01-03"},
        raise_on_error=False,
    )
    assert not result.success  # running looks a day back, and the 1st is not there
    assert "2024-01-02 waits for daily: 2024-01-01" in str(result.get_step_failure_events())
    assert read == [["2024-01-02", "2024-01-03"]]

    result = job.execute_in_process(
        instance=instance,
        tags={"dagster/asset_partition_range_start": "2024-01-01", "dagster/asset_partition_range_end": "2024-01-04"},
    )
    assert result.success
    assert built_daily(place) == expected_daily(place.project.root)
    assert read[1] == [f"2024-01-0{d}" for d in (1, 2, 3, 4)]
    rows = {
        m.partition: m.metadata["dagster/partition_row_count"].value
        for m in result.asset_materializations_for_node("daily")
    }
    assert rows == {f"2024-01-0{d}": 2 for d in (1, 2, 3, 4)}


def test_asset_of_the_users_own_in_a_run_that_is_tagged_with_a_plan(
    tmp_path: Path, instance: dg.DagsterInstance, spark: SparkSession
) -> None:
    """A restatement of a day: the tagged run reads it as it will be, any other one as it is, until it is promoted."""
    root = small_project(tmp_path / "project", days=4, batch_size=4)
    place = Workspace.open(root)
    apply(place.bench(), place.plan())
    place.promote()
    file = root / "data" / "events" / "2024-01-02.csv"
    file.write_text(file.read_text() + "99,2024-01-02T10:00:00,late,7.00\n")
    found = definitions(place)
    result = found.resolve_job_def("apply").execute_in_process(
        instance=instance,
        run_config={"ops": {"build_what_is_missing": {"config": {"restate": ["daily:2024-01-02"]}}}},
    )
    plan = instance.get_run_tags([PLAN_TAG], value_prefix="")[0][1]
    assert result.success
    read: list[list[str]] = []

    @dg.asset(
        ins={"daily": dg.AssetIn(input_manager_key=IO_MANAGER_KEY)},
        partitions_def=found.get_assets_def("daily").partitions_def,
    )
    def own(daily) -> None:  # type: ignore[no-untyped-def]
        read.append(sorted({row.kind for row in daily.select("kind").collect()}))

    job = dg.Definitions.merge(found, dg.Definitions(assets=[own])).resolve_implicit_global_asset_job_def()
    mine = job.get_subset(asset_selection={dg.AssetKey("own")})

    def kinds(**tags: str) -> list[str]:
        mine.execute_in_process(instance=instance, partition_key="2024-01-02", tags=tags)
        return read[-1]

    before = kinds()
    assert "late" not in before
    assert kinds(**{PLAN_TAG: next(iter(plan))}) == sorted([*before, "late"])
    place.promote(plan=next(iter(plan)))
    assert kinds() == sorted([*before, "late"])


def test_asset_of_the_users_own_never_reads_what_is_not_audited(
    tmp_path: Path, instance: dg.DagsterInstance, spark: SparkSession
) -> None:
    """Reading days that were never built fails with what to do."""
    place = Workspace.open(small_project(tmp_path / "project", days=4))
    found = definitions(place)

    @dg.asset(
        ins={"daily": dg.AssetIn(input_manager_key=IO_MANAGER_KEY)},
        partitions_def=found.get_assets_def("daily").partitions_def,
    )
    def own(daily) -> None:  # type: ignore[no-untyped-def]
        raise AssertionError("it must not be called")

    job = dg.Definitions.merge(found, dg.Definitions(assets=[own])).resolve_implicit_global_asset_job_def()
    result = job.get_subset(asset_selection={dg.AssetKey("own")}).execute_in_process(
        instance=instance, partition_key="2024-01-02", raise_on_error=False
    )
    assert not result.success
    said = str(result.get_step_failure_events())
    assert "cannot read daily: 2024-01-02 is not complete" in said
    assert "materialize daily for 2024-01-02 first" in said
