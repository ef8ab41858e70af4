"""Somebody launches backfills from Dagster's UI. (Stories A3, A5, B4, B7, D2; the UI's own GraphQL, the real daemon.)

Two backfills go on at the same time: a good one over a daily and a monthly model, and one in which a day fails its
audit. The test process only watches.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import (
    CHECKOUT,
    DAILY,
    clean_environment,
    days,
    write_events,
    write_project,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1500)]  # about 80 s on a quiet machine
T = TypeVar("T")

MONTHLY = """\
/*
cadence: monthly
start: 2024-01-01
time_column: month
grain: [month, kind]
audits: [completeness]
*/
SELECT CAST(date_trunc('MONTH', ds) AS DATE) AS month, kind, sum(n) AS n, sum(total) AS total
FROM {upstream} WHERE ds >= :start AND ds < :end
GROUP BY CAST(date_trunc('MONTH', ds) AS DATE), kind
"""
SHAKY = DAILY.format(batch_size=31, batch_concurrency=1).replace(
    "sum(amount)", "sum(CASE WHEN CAST(at AS DATE) = DATE '2024-01-17' THEN -amount ELSE amount END)"
)
QUICK_DAEMON = """\
import dagster._daemon.controller as controller
controller.DEFAULT_DAEMON_INTERVAL_SECONDS = 3  # 30 by default: the same daemon, less waiting
from dagster._daemon.cli import main
main()
"""
LAUNCH = """
mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}"""
STATUS = """
query($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    __typename
    ... on PartitionBackfill { status error { message } }
  }
}"""
JOB = """
mutation($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}"""
JANUARY = ("2024-01-01", "2024-01-31")
OVER = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A webserver's GraphQL, and the instance behind it."""

    url: str
    instance: dg.DagsterInstance
    place: Context

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
        assert "errors" not in said, said["errors"]
        return next(iter(said["data"].values()))

    def launch(self, **partitions: tuple[str, str]) -> str:
        """Start a backfill over a range a model; its id."""
        params = {
            "partitionsByAssets": [
                {"assetKey": {"path": [name]}, "partitions": {"range": {"start": first, "end": last}}}
                for name, (first, last) in partitions.items()
            ]
        }
        found = self.ask(LAUNCH, params=params)
        assert found["__typename"] == "LaunchBackfillSuccess", found
        return found["backfillId"]

    def status(self, backfill: str) -> str:
        """The status once it is over, else empty."""
        found = self.ask(STATUS, id=backfill)
        assert found["__typename"] == "PartitionBackfill", found
        return found["status"] if found["status"] in OVER else ""

    def runs(self, backfill: str) -> list[dg.DagsterRun]:
        return list(self.instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill})))

    def materialized(self, name: str) -> set[str]:
        return set(self.instance.get_materialized_partitions(dg.AssetKey(name)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A webserver and a daemon over a project of its own, in a home of its own."""
    root = tmp_path_factory.mktemp("ui")
    write_events(root, days=31, per_day=4)
    write_project(
        root,
        {
            "daily.sql": DAILY.format(batch_size=31, batch_concurrency=1),
            "monthly.sql": MONTHLY.format(upstream="daily"),
            "shaky.sql": SHAKY,
            "shaky_monthly.sql": MONTHLY.format(upstream="shaky"),
        },
        clock="2024-02-01",
    )
    home = root / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text((CHECKOUT / "dagster.yaml").read_text())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = clean_environment(DAGSTER_HOME=str(home), BACKFILL_PROJECT=str(root), PYTHONWARNINGS="ignore")
    module = ["-m", "backfill_assets.definitions"]
    url = f"http://127.0.0.1:{port}/graphql"
    # The instance first: several processes that create its SQLite files at the same moment get in each other's way.
    with dg.DagsterInstance.from_config(str(home)) as instance:
        found = Server(url=url, instance=instance, place=Context.open(root))
        running: list[tuple[subprocess.Popen[bytes], str]] = []
        try:
            running.append(
                (
                    _start(
                        root / "web.log", env, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), *module
                    ),
                    "web.log",
                )
            )
            _until(lambda: _answers(found), within=240)
            running.append((_start(root / "daemon.log", env, "-c", QUICK_DAEMON, "run", *module), "daemon.log"))
            yield found
        finally:
            for process, log in running:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=60)
                print(f"--- {log}", (root / log).read_text()[-20000:], sep="\n")  # pytest shows it when a test fails


def _start(log: Path, env: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    """A Python process in a group of its own. Its output goes to a file: nobody reads a pipe meanwhile."""
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=log.parent, env=env, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip


def _until(look: Callable[[], T], *, within: float) -> T:
    """The first true value that `look` gives. It asks once a second: the server and its runs need the machine."""
    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, f"it did not happen within {within:g} s"
        time.sleep(1)
    return found


def _answers(server: Server) -> bool:
    try:
        return server.ask("{ version }") != ""
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="module")
def backfills(server: Server) -> dict[str, tuple[str, str]]:
    """Both backfills, launched together and waited for: name → (id, status)."""
    good = server.launch(daily=JANUARY, monthly=("2024-01-01", "2024-01-01"))
    bad = server.launch(shaky=JANUARY, shaky_monthly=("2024-01-01", "2024-01-01"))
    return {
        name: (each, _until(lambda each=each: server.status(each), within=900))
        for name, each in (("good", good), ("bad", bad))
    }


def test_range_backfill_over_two_cadences_builds_everything(
    server: Server, backfills: dict[str, tuple[str, str]]
) -> None:
    """A range over a daily model and the month that reads it: all is built, in order, and the ledger agrees."""
    backfill, status = backfills["good"]
    assert status == "COMPLETED_SUCCESS"
    assert server.materialized("daily") == {f"2024-01-{d:02}" for d in range(1, 32)}
    assert server.materialized("monthly") == {"2024-01-01"}
    assert len(server.runs(backfill)) == 2
    have = server.place.facts().coverage
    assert str(have["daily"].complete) == "2024-01-01..2024-01-31"
    assert str(have["monthly"].complete) == "2024-01-01..2024-01-31"
    entries = server.place.control.ledger.entries(["daily", "monthly"])
    assert {e.run for e in entries} == {backfill}


def test_bad_day_stops_what_depends_on_it_and_keeps_the_good_days(
    server: Server, backfills: dict[str, tuple[str, str]]
) -> None:
    """A day that fails a blocking audit: the backfill fails, the month is never started, the other 30 days stay."""
    backfill, status = backfills["bad"]
    assert status == "COMPLETED_FAILED"
    good = {f"2024-01-{d:02}" for d in range(1, 32)} - {"2024-01-17"}
    assert server.materialized("shaky") == good
    assert server.materialized("shaky_monthly") == set()
    runs = server.runs(backfill)
    assert [r.status for r in runs] == [dg.DagsterRunStatus.FAILURE]
    have = server.place.facts().coverage
    assert str(have["shaky"].complete) == "2024-01-01..2024-01-16, 2024-01-18..2024-01-31"
    assert not have["shaky_monthly"].complete
    said = _failure(server.instance, runs[0].run_id)
    assert "audit range_total failed in 2024-01-17" in said
    assert "1 of 31 intervals are not complete: 2024-01-17" in said


def test_backfills_never_touch_what_prod_shows(server: Server, backfills: dict[str, tuple[str, str]]) -> None:
    """Neither backfill committed anything to the environments; and a promotion is refused while a day is red."""
    assert backfills
    assert server.place.control.environments.read("prod").pointers == {}
    nodes = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } } }"
    node = server.ask(nodes)["nodes"][0]
    selector = {
        "repositoryName": node["name"],
        "repositoryLocationName": node["location"]["name"],
        "jobName": "promote",
    }
    launched = server.ask(JOB, params={"selector": selector, "runConfigData": {}})
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run_id = launched["run"]["runId"]
    _until(lambda: _finished(server.instance, run_id), within=240)
    said = _failure(server.instance, run_id)
    assert "prod was not moved; in the way:" in said
    assert "shaky: 1 intervals are not built, or failed their audits: 2024-01-17" in said
    assert "fix: backfill apply\n" in said
    assert server.place.control.environments.read("prod").pointers == {}
    assert days("2024-01-17") not in server.place.facts().coverage["shaky"].complete


def _finished(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is not None and run.is_finished


def _failure(instance: dg.DagsterInstance, run_id: str) -> str:
    """What the failed step said."""
    records = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
    data = records[0].event_log_entry.get_dagster_event().step_failure_data
    assert data.user_failure_data is not None
    return data.user_failure_data.description or ""
