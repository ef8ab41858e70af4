"""Dagster leads to the reviewer's page where a deployment says its address, and says nothing of it otherwise."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest

from backfill_assets.app.context import Context
from backfill_assets.core.errors import SettingsError
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.defs.dagster_home import page_command
from backfill_assets.defs.names import consumer_key, model_key, source_key, view_key
from backfill_assets.project.review_address import page_of, review_address
from backfill_assets_tests.projects import small_project

URL = "BACKFILL_REVIEW_URL"


def links(project: Path) -> dict[str, object]:
    """What the model's asset, its first check and the view link to."""
    place = Context.open(project)
    graph, daily = definitions(place).resolve_asset_graph(), model_key(place.project, "daily")
    check = next(spec for key in graph.asset_check_keys if (spec := graph.get_check_spec(key)).asset_key == daily)
    said = {
        "model": graph.get(daily).metadata,
        "view": graph.get(view_key(place.project, "daily")).metadata,
        "check": check.metadata,
        "source": graph.get(source_key(place.project, "raw.events")).metadata,
        "consumer": graph.get(consumer_key(place.project, "board")).metadata,
    }
    assert all("review" in graph.get_check_spec(key).metadata for key in graph.asset_check_keys) == bool(page_of())
    return {name: metadata.get("review") for name, metadata in said.items()}


def test_assets_and_checks_link_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = small_project(tmp_path, days=2)
    monkeypatch.delenv(URL, raising=False)
    (project / "consumers.yml").write_text("consumers:\n  - {name: board, owner: ana@example.com, reads: [daily]}\n")
    assert set(links(project).values()) == {None}
    monkeypatch.setenv(URL, "https://review.example.com/shop/")
    found = {name: str(getattr(link, "url", "")) for name, link in links(project).items()}
    base = "https://review.example.com/shop"
    assert found == {
        "model": f"{base}/model/daily",
        "view": f"{base}/model/daily",
        "check": f"{base}/model/daily",
        "source": f"{base}/source/raw.events",
        "consumer": f"{base}/consumer/board",
    }


def test_runs_link_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance) -> None:
    """By an event of the run, also of one that fails: to the plan that it names, else to what waits for whom."""
    project = small_project(tmp_path / "project", days=2)

    def leads(job: str, **config: object) -> list[object]:
        made = definitions(Context.open(project)).resolve_job_def(job)
        [node] = [node.name for node in made.graph.nodes]
        done = made.execute_in_process(
            instance=instance, run_config={"ops": {node: {"config": config}}}, raise_on_error=False
        )
        records = instance.get_records_for_run(done.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT).records
        data = [r.event_log_entry.get_dagster_event().event_specific_data for r in records]
        return [link.value for each in data if (link := getattr(each, "metadata", {}).get("review"))]

    assert leads("plans") == []
    monkeypatch.setenv(URL, "http://localhost:3070")
    assert leads("plans") == ["http://localhost:3070"]
    assert leads("approve", plan="rules-1f3a") == ["http://localhost:3070"]
    assert leads("abandon", plan="1f3a") == ["http://localhost:3070/plan/1f3a"], "there is no such plan: it fails"


@pytest.mark.parametrize(
    "said",
    ["javascript:alert(1)", "//x", "review.example.com", "https://", "https://a b", "https://u:p@x", "http://x?y"],
)
def test_what_is_no_address_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, said)
    with pytest.raises(SettingsError, match=URL):
        review_address()


def test_names_in_addresses_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, "http://localhost:3070")
    assert page_of("model", "../plan?x") == "http://localhost:3070/model/..%2Fplan%3Fx"


def test_the_page_beside_dagster_ends_with_it(tmp_path: Path) -> None:
    """It serves, and is gone as soon as whoever started it is, however that died."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = page_command(small_project(tmp_path, days=1), host="127.0.0.1", port=port)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        body = b""
        for _ in range(300):
            with suppress(OSError):
                body = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30).read()
                break
            assert process.poll() is None
            time.sleep(0.1)
        assert b"Nothing waits for anybody" in body
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
