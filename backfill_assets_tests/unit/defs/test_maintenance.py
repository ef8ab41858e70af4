"""Do the jobs that need no Spark do what the commands do? In process, on tables written without it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from backfill_assets.app.candidate import open_plan
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.pointer import Pointer
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.promote.compaction import Corrections
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.projects import release_by_hand, small_project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`daily` was released at version one, then at version two."""
    root = small_project(tmp_path / "project", days=2)
    for version in ("one", "two"):
        release_by_hand(Context.open(root), version)
    return root


def run(root: Path, instance: dg.DagsterInstance, job: str, op: str, **config: object) -> dg.ExecuteInProcessResult:
    found = build_definitions(root).resolve_job_def(job)
    return found.execute_in_process(
        run_config={"ops": {op: {"config": config}}}, instance=instance, raise_on_error=False
    )


def shown(root: Path) -> str:
    return Context.open(root).control.environments.read("prod").pointers["daily"].version


def test_rollback_job(root: Path, instance: dg.DagsterInstance) -> None:
    """A dry run moves nothing; the job moves and reports the view; an unknown release fails with the reason."""
    assert run(root, instance, "rollback", "point_prod_back", dry_run=True).success and shown(root) == "two"
    done = run(root, instance, "rollback", "point_prod_back")
    assert done.success and shown(root) == "one"
    event = instance.get_latest_materialization_event(dg.AssetKey(["prod", "daily"]))
    assert event is not None and event.asset_materialization is not None
    assert event.asset_materialization.metadata["version"].value == "one"
    release = Context.open(root).control.releases.all("prod")[-1]
    done = run(root, instance, "evidence", "write_packet", target=release.id)
    metadata = next(e for e in done.all_node_events if e.is_successful_output).step_output_data.metadata
    assert metadata["release"].value == release.id and metadata["manifest"].value == release.evidence[release.id]
    assert Path(str(metadata["page"].value)).read_text() and metadata["headline"].value
    assert "no release r1" in failure(run(root, instance, "evidence", "write_packet", target="r1"))
    assert not run(root, instance, "rollback", "point_prod_back", release="rx").success
    assert shown(root) == "one"


def test_rollback_job_is_refused(root: Path, instance: dg.DagsterInstance) -> None:
    """A file is missing: the run fails, prod shows what it showed."""
    next((Path(Context.open(root).warehouse) / "daily" / "one").glob("ds=2024-01-02/*.parquet")).unlink()
    for dry in (True, False):
        assert not run(root, instance, "rollback", "point_prod_back", dry_run=dry).success
    assert shown(root) == "two"


def test_janitor_job(root: Path, instance: dg.DagsterInstance) -> None:
    """It deletes only when its config says so."""
    settings = json.loads((root / "backfill.yml").read_text())
    later = datetime.now(UTC) + timedelta(days=15)
    settings["clock"] = f"{later:%Y-%m-%dT%H:%M:%S}"
    settings["retention_days"] = 14
    (root / "backfill.yml").write_text(json.dumps(settings))
    folder = Path(Context.open(root).warehouse) / "daily"
    assert run(root, instance, "janitor", "clear_up").success
    assert {p.name for p in folder.iterdir()} == {"one", "two"}
    assert "the clock says" in failure(run(root, instance, "janitor", "clear_up", apply=True))
    assert {p.name for p in folder.iterdir()} == {"one", "two"}
    assert run(root, instance, "janitor", "clear_up", apply=True, today=f"{later.date()}").success
    assert {p.name for p in folder.iterdir()} == {"two"}


def test_evidence_and_promote_jobs_of_a_plan(root: Path, instance: dg.DagsterInstance) -> None:
    """The packet of the newest plan is written where the command writes it; a plan that is not built is not promoted,
    and one that nobody knows is named as such."""
    assert "there is no plan yet" in failure(run(root, instance, "evidence", "write_packet"))
    place = Context.open(root)
    opened = open_plan(place, plan_request(place))
    assert opened is not None
    done = run(root, instance, "evidence", "write_packet")
    assert done.success
    output = next(e for e in done.all_node_events if e.is_successful_output)
    metadata = output.step_output_data.metadata
    page = Path(str(metadata["page"].value))
    assert page == Path(place.warehouse, "evidence", opened.plan.id, "packet.html") and page.is_file()
    assert metadata["plan"].value == opened.plan.id and metadata["headline"].value
    assert "in the way" in failure(run(root, instance, "promote", "point_prod", plan=opened.plan.id))
    both = run(root, instance, "promote", "point_prod", plan=opened.plan.id, select=["daily"])
    assert "PLAN with select" in failure(both)
    assert "no plan nosuch" in failure(run(root, instance, "promote", "point_prod", plan="nosuch"))
    assert shown(root) == "two"


def test_copies_are_no_news(root: Path, instance: dg.DagsterInstance) -> None:
    """Dagster hears of a prod view when its rows may be others, not when they were only copied; and of that once."""
    place = Context.open(root)

    def news() -> int:
        found = unreported_views(place, instance)
        for event in found:
            instance.report_runless_asset_event(event)
        return len(found)

    def moves_to(pointer: Pointer, release: str, *, compaction: bool) -> None:
        seen = place.control.environments.read("prod")
        now = datetime.now(UTC)
        place.control.environments.flip(
            seen, [pointer], release=release, at=now, note=ReleaseNote(by="ana", compaction=compaction)
        )

    first, second = (r.moves[0].after for r in place.control.releases.all("prod"))
    assert first is not None and second is not None
    assert (news(), news()) == (1, 0)
    moves_to(first, "copied", compaction=True)
    assert news() == 0
    moves_to(second, "copied again", compaction=True)
    assert news() == 0
    moves_to(first, "moved", compaction=False)
    assert (news(), news()) == (1, 0)


def test_what_cannot_be_joined_keeps_nothing_else(
    root: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The janitor removes what can go, then says why corrections stay apart, by name and with a remedy."""
    place = Context.open(root)
    pointer = place.control.environments.read("prod").pointers["daily"]
    crowd = Corrections(pointer=pointer, corrections=pointer.segments, version="two.x")
    monkeypatch.setattr("backfill_assets.app.janitor.find_many_corrections", lambda *_: [crowd])

    def no_java(*_: object, **__: object) -> None:
        raise SettingsError("Java was not found", why="there is none", fix="install it")

    monkeypatch.setattr("backfill_assets.app.janitor.compact", no_java)
    late = (datetime.now(UTC) + timedelta(days=40)).date()
    settings = json.loads((root / "backfill.yml").read_text()) | {"clock": f"{late}"}
    (root / "backfill.yml").write_text(json.dumps(settings))
    assert "install it" in failure(run(root, instance, "janitor", "clear_up", apply=True, today=f"{late}"))
    assert not Path(place.warehouse, "daily", "one").exists()


def failure(done: dg.ExecuteInProcessResult) -> str:
    """What the step that failed says."""
    assert not done.success
    [event] = [e for e in done.all_node_events if e.is_step_failure]
    return str(event.step_failure_data.user_failure_data.description)  # type: ignore[union-attr]
