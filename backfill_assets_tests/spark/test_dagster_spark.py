"""Does a materialization end in Delta tables, and does a user's own asset read them? With the real engine."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster._cli.asset import asset_materialize_command

from backfill_assets.adapters.reader import read_pointer
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build.apply import apply
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.io_manager import IO_MANAGER_KEY
from backfill_assets.defs.launcher import VARIABLE
from backfill_assets.defs.plan_tags import PLAN_TAG
from backfill_assets_tests.projects import (
    CHECKOUT,
    backfill_here,
    built_daily,
    expected_daily,
    say_yes,
    small_project,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.BetaWarning"),
    pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.SupersessionWarning"),
]


def test_range_of_two_models_and_an_asset_of_the_users_own(
    tmp_path: Path, instance: dg.DagsterInstance, spark: SparkSession
) -> None:
    """One run over four days: the tables hold what the files say, and a downstream asset gets exactly its days."""
    place = Context.open(small_project(tmp_path / "project", days=4, batch_size=2))
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
    place = Context.open(root)
    apply(place.bench(), plan_request(place))
    promote_plan(place)
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
    say_yes(place, next(iter(plan)))
    promote_plan(place, plan=next(iter(plan)))
    assert kinds() == sorted([*before, "late"])


def test_asset_of_the_users_own_never_reads_what_is_not_audited(
    tmp_path: Path, instance: dg.DagsterInstance, spark: SparkSession
) -> None:
    """Reading days that were never built fails with what to do."""
    place = Context.open(small_project(tmp_path / "project", days=4))
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


ANA, TAG = "ana@example.com", "user"


def test_a_release_from_dagster_alone(
    tmp_path: Path, instance: dg.DagsterInstance, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README's command builds a range and opens its plan; the jobs `approve`, `promote` and `routine` do the rest,
    with approvals on: an edit, then a new day, by the code that is published and not by that which is loaded."""
    root = small_project(tmp_path / "project", days=3, batch_size=3)
    settings, model = root / "backfill.yml", root / "models" / "daily.sql"
    (root / "models" / "running.sql").unlink()
    people = {ANA: {"accounts": ["ana"]}, "dev@example.com": {"accounts": ["dev"]}}
    said = json.loads(settings.read_text()) | {"people": people}
    settings.write_text(json.dumps(said))
    monkeypatch.setenv(VARIABLE, TAG)
    monkeypatch.setenv("BACKFILL_PROJECT", str(root))
    monkeypatch.setenv("DAGSTER_HOME", instance.root_directory)

    def materialize() -> None:
        """`dagster asset materialize`, word by word."""
        (command,) = re.findall(r"`dagster asset materialize ([^`]*)`", (CHECKOUT / "README.md").read_text())
        words = command.replace("campaign_performance", "daily").replace("2024-01-31", "2024-01-03").split()
        assert words[words.index("--partition-range") + 1] == "2024-01-01...2024-01-03"
        sys.modules.pop("backfill_assets.definitions", None)  # a process of its own would load it anew
        done = CliRunner().invoke(asset_materialize_command, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output

    def run(job: str, user: str, **config: object) -> dg.ExecuteInProcessResult:
        found = definitions(Context.open(root)).resolve_job_def(job)
        (op,) = (node.name for node in found.graph.nodes)
        return found.execute_in_process(
            instance=instance, tags={TAG: user}, raise_on_error=False,
            run_config={"ops": {op: {"config": config}}} if config else None,
        )  # fmt: skip

    def shown() -> str:
        pointer = Context.open(root).control.environments.read("prod").pointers["daily"]
        return f"{pointer.covers}"

    def totals() -> dict[str, int]:
        rows = read_pointer(
            Context.open(root).control.environments.read("prod").pointers["daily"], Context.open(root).warehouse
        ).to_pylist()
        return {f"{d:%d}": sum(r["n"] for r in rows if r["ds"] == d) for d in sorted({r["ds"] for r in rows})}

    def live() -> str:
        (plan,) = [p.id for p in Context.open(root).control.plans.all() if p.live]
        return plan

    materialize()
    assert run("promote", "dev", plan=live()).success and shown() == "2024-01-01..2024-01-03"
    before = totals()

    model.write_text(model.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    materialize()
    assert totals() == before
    plan = live()
    assert not run("promote", "dev", plan=plan).success, "the gate waits for ana"
    assert not run("approve", "dev", plan=plan, by=ANA).success
    assert run("approve", "ana", plan=plan, reason="as asked").success
    assert run("promote", "dev", plan=plan).success
    assert totals() == {day: n + 2 for day, n in before.items()}, "two kinds a day"

    model.write_text(model.read_text().replace("count(*) + 1 AS n", "count(*) + 5 AS n"))  # loaded, and nobody's
    settings.write_text(json.dumps(said | {"clock": "2024-01-05"}))
    write_events(root, days=4)
    assert run("routine", "dev").success and shown() == "2024-01-01..2024-01-04"
    assert totals()["04"] == before["03"] + 2, "by the published code"

    rows = sum(before.values()) + 2 * 3 + before["03"] + 2
    line = 'print("rows:", sql("SELECT sum(n) AS n FROM prod.daily").first().n, sum(read("daily")["n"].to_pylist()))'
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n"))
    assert f"rows: {rows} {rows}" in backfill_here("shell", project=root).out, "the views, and Arrow without Spark"
