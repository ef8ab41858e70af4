"""Does the job `watch` put on the prod views what `backfill watch` says? On tables written without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from deltalake import DeltaTable

from backfill_assets.app.context import Context
from backfill_assets.app.watch import watch_environment
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.defs import watch as watch_module
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.watch.notice import Notice, NoticeKind
from backfill_assets_tests.projects import backfill_here, release_by_hand, small_project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`daily` shows two days; `running` is not shown."""
    root = small_project(tmp_path / "project", days=2)
    place = Context.open(root)
    release_by_hand(place, place.project.fingerprints["daily"])
    return root


def run(root: Path, instance: dg.DagsterInstance) -> dict[str, dg.AssetCheckEvaluation]:
    """The evaluations of a run of the job, by view and check."""
    done = build_definitions(root).resolve_job_def("watch").execute_in_process(instance=instance)
    found = done.get_asset_check_evaluations()
    assert not any(e.blocking for e in found)
    return {f"{e.asset_key.to_user_string()} {e.check_name}": e for e in found}


def test_quiet(root: Path, instance: dg.DagsterInstance) -> None:
    """Every check of every view passes, whether it is shown or not; the CLI says the same and exits with 0."""
    found = run(root, instance)
    assert len(found) == 16 and all(e.passed for e in found.values())
    said = backfill_here("watch", "--json", project=root)
    assert said.code == 0, said
    assert [n["kind"] for n in said.json["notices"]] == ["unwatched"]  # written by hand: no inputs are recorded
    assert said.json["closing"]["sentence"].startswith("still watching, 0 h of 24")


def test_something_is_found(root: Path, instance: dg.DagsterInstance) -> None:
    """A missing file and days that nobody built: the two checks warn, the others pass; the CLI exits with 3."""
    place = Context.open(root)
    version = place.project.fingerprints["daily"]
    next((Path(place.warehouse) / "daily" / version).glob("ds=2024-01-02/*.parquet")).unlink()
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"clock": "2024-01-05", "watch_hours": 2}))
    found = run(root, instance)
    bad = {name: e for name, e in found.items() if not e.passed}
    assert set(bad) == {"prod/daily pointer_drift", "prod/daily first_run"}
    assert all(e.severity is dg.AssetCheckSeverity.WARN for e in bad.values())
    assert bad["prod/daily first_run"].metadata["intervals"].value == "2024-01-03"
    assert bad["prod/daily first_run"].metadata["remedy"].value == "backfill routine"
    said = backfill_here("watch", project=root)
    assert said.code == 3, said
    assert "pointer drift: daily" in said.out and "is missing" in said.out and "fix: backfill routine" in said.out
    assert "prod: open: 2 found" in said.out


def test_what_reads_late_rows_is_late_with_them(
    root: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The restatement computes both again, so the reader's view is no better than the one that it reads."""
    quiet = watch_environment(Context.open(root))
    late = Notice(
        kind=NoticeKind.LATE,
        model="daily",
        intervals=Ranges((Interval.of("2024-01-02", "2024-01-03"),)),
        what="built before its source changed: raw.events (commit 1)",
        remedy="backfill apply --restate daily:2024-01-02",
        downstream={"running": Ranges((Interval.of("2024-01-02", "2024-01-04"),))},
    )
    monkeypatch.setattr(watch_module, "watch_environment", lambda _: replace(quiet, notices=(late,)))
    bad = {name: e for name, e in run(root, instance).items() if not e.passed}
    assert set(bad) == {"prod/daily late_source_data", "prod/running late_source_data"}
    reader = bad["prod/running late_source_data"]
    assert reader.description == f"2024-01-02..2024-01-03: reads daily, of which 2024-01-02 was {late.what}"
    assert reader.metadata["remedy"].value == late.remedy


def test_a_version_without_a_record(root: Path, instance: dg.DagsterInstance) -> None:
    """Routine runs could not extend it: a finding, not an error."""
    DeltaTable(f"{Context.open(root).warehouse}/_control/versions").delete()
    bad = [name for name, e in run(root, instance).items() if not e.passed]
    assert bad == ["prod/daily pointer_drift"]


def test_off_until_turned_on(root: Path) -> None:
    """Nobody is watched by surprise."""
    schedule = build_definitions(root).get_repository_def().get_schedule_def("watch_schedule")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
