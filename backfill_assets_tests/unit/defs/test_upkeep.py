"""Do the jobs `rollback` and `janitor` do what the commands do? In process, on tables written without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from backfill_assets.adapters.table_log import batch_metadata
from backfill_assets.adapters.workspace import Workspace
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.promote.promote import promote
from backfill_assets.snapshots.stored import to_definition
from backfill_assets.state.environment import Pointer, Segment
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.versions import Version, table_path
from backfill_assets_tests.projects import days, small_project

COLUMNS = (("ds", "date"), ("kind", "string"), ("n", "bigint"), ("total", "decimal(20,2)"))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`daily` was released at version one, then at version two."""
    root = small_project(tmp_path / "project", days=2)
    for version in ("one", "two"):
        release(Workspace.open(root), version)
    return root


def release(place: Workspace, version: str) -> None:
    """A table of two days as a build leaves it, and prod pointing at it."""
    interval, now = days("2024-01-01", "2024-01-02"), datetime.now(UTC)
    rows = pa.table({"ds": [date(2024, 1, 1), date(2024, 1, 2)], "n": [1, 2]})
    metadata = CommitProperties(custom_metadata={"userMetadata": batch_metadata(version, interval)})
    location = table_path(place.warehouse, "daily", version)
    write_deltalake(location, rows.slice(0, 0), partition_by=["ds"])
    write_deltalake(location, rows, mode="append", commit_properties=metadata)
    built = Entry(
        kind=Kind.BUILT, model="daily", version=version, interval=interval, table_commit=1, batch=version, at=now
    )
    place.control.ledger.append([built])
    definition = to_definition(place.project.models["daily"])
    place.control.versions.put(
        Version(model="daily", version=version, upstream={}, columns=COLUMNS, definition=definition, created=now)
    )
    segment = Segment(version=version, commit=1, interval=interval)
    pointer = Pointer(model="daily", time_column="ds", timestamps=False, columns=COLUMNS, segments=(segment,))
    environments = place.control.environments
    promote(environments, environments.read("prod"), [pointer], None, by="ana")


def run(root: Path, instance: dg.DagsterInstance, job: str, op: str, **config: object) -> dg.ExecuteInProcessResult:
    found = build_definitions(root).resolve_job_def(job)
    return found.execute_in_process(
        run_config={"ops": {op: {"config": config}}}, instance=instance, raise_on_error=False
    )


def shown(root: Path) -> str:
    return Workspace.open(root).control.environments.read("prod").pointers["daily"].version


def test_rollback_job(root: Path, instance: dg.DagsterInstance) -> None:
    """A dry run moves nothing; the job moves and reports the view; an unknown release fails with the reason."""
    assert run(root, instance, "rollback", "point_prod_back", dry_run=True).success and shown(root) == "two"
    done = run(root, instance, "rollback", "point_prod_back")
    assert done.success and shown(root) == "one"
    event = instance.get_latest_materialization_event(dg.AssetKey(["prod", "daily"]))
    assert event is not None and event.asset_materialization is not None
    assert event.asset_materialization.metadata["version"].value == "one"
    assert not run(root, instance, "rollback", "point_prod_back", release="rx").success
    assert shown(root) == "one"


def test_rollback_job_is_refused(root: Path, instance: dg.DagsterInstance) -> None:
    """A file is missing: the run fails, prod shows what it showed."""
    next((Path(Workspace.open(root).warehouse) / "daily" / "one").glob("ds=2024-01-02/*.parquet")).unlink()
    for dry in (True, False):
        assert not run(root, instance, "rollback", "point_prod_back", dry_run=dry).success
    assert shown(root) == "two"


def test_janitor_job(root: Path, instance: dg.DagsterInstance) -> None:
    """It deletes only when its config says so."""
    settings = json.loads((root / "backfill.yml").read_text())
    settings["clock"] = f"{datetime.now(UTC) + timedelta(days=15):%Y-%m-%dT%H:%M:%S}"
    settings["retention_days"] = 14
    (root / "backfill.yml").write_text(json.dumps(settings))
    folder = Path(Workspace.open(root).warehouse) / "daily"
    assert run(root, instance, "janitor", "clear_up").success
    assert {p.name for p in folder.iterdir()} == {"one", "two"}
    assert run(root, instance, "janitor", "clear_up", apply=True).success
    assert {p.name for p in folder.iterdir()} == {"two"}
