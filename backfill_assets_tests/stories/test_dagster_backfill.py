"""Two projects are backfilled from one Dagster UI. (Stories A3, A5, B4, B7, D2; the UI's own GraphQL, the real daemon.)

A deployment as it may be: records in PostgreSQL by the `dagster.yaml` that ships, a code location a project, each a
server of its own, a queue that runs two at a time. The projects have models of the same names. Two backfills go on at
the same time: a good one over a daily and a monthly model of `north`, and one of `south`, in which a day fails its
audit, and whose steps are processes of their own. The test process only watches.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
import pytest

from backfill_assets.app.context import Context
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.postgres import free_port, postgres_server
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
TERMINATE = """
mutation($id: String!) {
  terminateRun(runId: $id) { __typename ... on TerminateRunFailure { message } ... on PythonError { message } }
}"""
JANUARY = ("2024-01-01", "2024-01-31")
LOCATIONS = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } } }"
OVER = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}


NORTH, SOUTH = "north", "south"
LOCATION = """\
import backfill_assets
defs = backfill_assets.build_definitions({root!r}, key_prefix={name!r}, in_process={in_process})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A webserver's GraphQL, the instance behind it, and the projects of its code locations."""

    url: str
    instance: dg.DagsterInstance
    places: Mapping[str, Context]

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
        assert "errors" not in said, said["errors"]
        return next(iter(said["data"].values()))

    def launch(self, project: str, **partitions: tuple[str, str]) -> str:
        """Start a backfill over a range a model; its id."""
        params = {
            "partitionsByAssets": [
                {"assetKey": {"path": [project, name]}, "partitions": {"range": {"start": first, "end": last}}}
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

    def materialized(self, project: str, name: str) -> set[str]:
        return set(self.instance.get_materialized_partitions(dg.AssetKey([project, name])))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A code server a project, a webserver and a daemon, in a home of its own."""
    root = tmp_path_factory.mktemp("ui")
    daily = DAILY.format(batch_size=31, batch_concurrency=1)
    models = {"daily.sql": daily, "monthly.sql": MONTHLY.format(upstream="daily")}
    models["slow.sql"] = DAILY.format(batch_size=2, batch_concurrency=1)
    more = {"shaky.sql": SHAKY, "shaky_monthly.sql": MONTHLY.format(upstream="shaky")}
    for name, files in ((NORTH, models), (SOUTH, models | more)):
        (root / name).mkdir()
        write_events(root / name, days=31, per_day=4 if name == NORTH else 6)
        write_project(root / name, files, clock="2024-02-01")
        text = LOCATION.format(root=str(root / name), name=name, in_process=name == NORTH)
        (root / f"{name}.py").write_text(text)
    home = root / "home"
    home.mkdir()
    shipped = (CHECKOUT / "dagster.yaml").read_text()
    (home / "dagster.yaml").write_text(re.sub(r"^#   ", "", shipped, flags=re.MULTILINE))  # its example, not commented
    ports = {name: free_port() for name in (NORTH, SOUTH, "web")}
    (root / "workspace.yaml").write_text(
        "load_from:\n"
        + "".join(
            f"  - grpc_server: {{host: 127.0.0.1, port: {ports[name]}, location_name: {name}}}\n"
            for name in (NORTH, SOUTH)
        )
    )
    url, workspace = f"http://127.0.0.1:{ports['web']}/graphql", ["-w", str(root / "workspace.yaml")]
    running: list[tuple[subprocess.Popen[bytes], str]] = []
    with postgres_server("dagster") as database, pytest.MonkeyPatch.context() as patch:
        records = {"PGHOST": "127.0.0.1", "PGPORT": str(database), "PGUSER": "dagster", "PGPASSWORD": "none"}
        for name, value in records.items():
            patch.setenv(name, value)
        env = clean_environment(DAGSTER_HOME=str(home), PYTHONWARNINGS="ignore", **records)

        def begin(name: str, *arguments: str) -> None:
            running.append((_start(root / f"{name}.log", env, *arguments), f"{name}.log"))

        # The instance first: it makes the tables.
        with dg.DagsterInstance.from_config(str(home)) as instance:
            places = {name: Context.open(root / name) for name in (NORTH, SOUTH)}
            found = Server(url=url, instance=instance, places=places)
            try:
                for name in (NORTH, SOUTH):
                    code = ["-f", str(root / f"{name}.py"), "-d", str(root), "--location-name", name]
                    begin(name, "-m", "dagster", "api", "grpc", *code, "-h", "127.0.0.1", "-p", str(ports[name]))
                _until(lambda: all(_listens(ports[name]) for name in (NORTH, SOUTH)), within=240)
                begin("web", "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(ports["web"]), *workspace)
                begin("daemon", "-c", QUICK_DAEMON, "run", *workspace)
                _until(lambda: _answers(found), within=240)
                yield found
            finally:
                for process, log in running:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(timeout=60)
                    print(f"--- {log}", (root / log).read_text()[-20000:], sep="\n")  # shown when a test fails


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


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(server: Server) -> bool:
    try:
        return len(server.ask(LOCATIONS)["nodes"]) == 2
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="module")
def backfills(server: Server) -> dict[str, tuple[str, str]]:
    """Both backfills, launched together and waited for: project → (id, status)."""
    month = ("2024-01-01", "2024-01-01")
    good = server.launch(NORTH, daily=JANUARY, monthly=month)
    bad = server.launch(SOUTH, daily=JANUARY, shaky=JANUARY, shaky_monthly=month)
    return {
        name: (each, _until(lambda each=each: server.status(each), within=900))
        for name, each in ((NORTH, good), (SOUTH, bad))
    }


def test_range_backfill_over_two_cadences_builds_everything(
    server: Server, backfills: dict[str, tuple[str, str]]
) -> None:
    """A range over a daily model and the month that reads it: all is built, in order, and the ledger agrees."""
    backfill, status = backfills[NORTH]
    assert status == "COMPLETED_SUCCESS"
    assert server.materialized(NORTH, "daily") == {f"2024-01-{d:02}" for d in range(1, 32)}
    assert server.materialized(NORTH, "monthly") == {"2024-01-01"}
    assert len(server.runs(backfill)) == 2
    have = server.places[NORTH].facts().tables.coverage
    assert str(have["daily"].complete) == "2024-01-01..2024-01-31"
    assert str(have["monthly"].complete) == "2024-01-01..2024-01-31"


def test_bad_day_stops_what_depends_on_it_and_keeps_the_good_days(
    server: Server, backfills: dict[str, tuple[str, str]]
) -> None:
    """A day that fails a blocking audit: the backfill fails, the month is never started, the other 30 days stay, and
    what another process of the same run built beside it."""
    backfill, status = backfills[SOUTH]
    assert status == "COMPLETED_FAILED"
    good = {f"2024-01-{d:02}" for d in range(1, 32)} - {"2024-01-17"}
    assert server.materialized(SOUTH, "shaky") == good
    assert server.materialized(SOUTH, "shaky_monthly") == set()
    runs = server.runs(backfill)
    assert [r.status for r in runs] == [dg.DagsterRunStatus.FAILURE]
    have = server.places[SOUTH].facts().tables.coverage
    assert str(have["shaky"].complete) == "2024-01-01..2024-01-16, 2024-01-18..2024-01-31"
    assert not have["shaky_monthly"].complete
    said = _failure(server.instance, runs[0].run_id)
    assert "audit range_total failed in 2024-01-17" in said
    assert "1 of 31 intervals are not complete: 2024-01-17" in said
    assert len(server.materialized(SOUTH, "daily")) == 31
    assert str(have["daily"].complete) == "2024-01-01..2024-01-31"
    began = server.instance.get_records_for_run(runs[0].run_id, of_type=dg.DagsterEventType.STEP_WORKER_STARTED).records
    assert {r.event_log_entry.step_key for r in began} == {"south__daily", "south__shaky"}, "each in a process"


def test_nothing_of_one_project_is_the_others(server: Server, backfills: dict[str, tuple[str, str]]) -> None:
    """Records, plans, tags of runs and events are of the project that they are about, whatever the names of models."""
    plans: dict[str, set[str]] = {}
    for name, other in ((NORTH, SOUTH), (SOUTH, NORTH)):
        place, (backfill, _) = server.places[name], backfills[name]
        assert {e.run for e in place.control.ledger.entries()} == {backfill}
        runs = server.runs(backfill)
        plans[name] = {run.tags[f"backfill/{name}.plan"] for run in runs}
        assert plans[name] == {record.id for record in place.control.plans.all()} and len(plans[name]) == 1
        assert not any(f"backfill/{other}.plan" in run.tags for run in runs)
        events = server.instance.fetch_materializations(dg.AssetKey([name, "daily"]), limit=100).records
        places = {str(r.asset_materialization.metadata["dagster/uri"].value) for r in events if r.asset_materialization}
        assert places and all(uri.startswith(f"{place.warehouse}/daily/") for uri in places)
    assert not plans[NORTH] & plans[SOUTH]


def test_records_are_in_postgres_and_two_runs_go_at_a_time(
    server: Server, backfills: dict[str, tuple[str, str]]
) -> None:
    """The queue starts no third run; both sensors tick; nothing is left in files of the home."""
    assert type(server.instance.event_log_storage).__name__ == "PostgresEventLogStorage"
    assert not list(Path(server.instance.root_directory).rglob("*.db"))
    ids = [run.run_id for backfill, _ in backfills.values() for run in server.runs(backfill)]
    times = [(r.start_time, r.end_time) for r in map(server.instance.get_run_record_by_id, ids) if r]
    assert len(times) == 3 and all(start and end for start, end in times)
    assert all(sum(start <= moment < end for start, end in times) <= 2 for moment, _ in times)  # type: ignore[operator]
    states = [s for s in server.instance.all_instigator_state() if s.name == "ledger_sensor"]
    assert {s.origin.repository_origin.code_location_origin.location_name for s in states} == {NORTH, SOUTH}
    ticks = [t for s in states for t in server.instance.get_ticks(s.instigator_origin_id, s.selector_id)]
    assert ticks and not [t.error for t in ticks if t.error]


def test_backfills_never_touch_what_prod_shows(server: Server, backfills: dict[str, tuple[str, str]]) -> None:
    """Neither backfill committed anything to the environments; and a promotion is refused while a day is red."""
    assert backfills
    assert [p.control.environments.read("prod").pointers for p in server.places.values()] == [{}, {}]
    node = next(node for node in server.ask(LOCATIONS)["nodes"] if node["location"]["name"] == SOUTH)
    selector = {"repositoryName": node["name"], "repositoryLocationName": SOUTH, "jobName": "promote"}
    launched = server.ask(JOB, params={"selector": selector, "runConfigData": {}})
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run_id = launched["run"]["runId"]
    _until(lambda: _finished(server.instance, run_id), within=240)
    said = _failure(server.instance, run_id)
    assert "prod was not moved; in the way:" in said
    assert "shaky: 1 day does not count: range_total failed: 2024-01-17" in said
    assert "fix: once the cause is mended: backfill apply\n" in said
    south = server.places[SOUTH]
    assert south.control.environments.read("prod").pointers == {}
    assert days("2024-01-17") not in south.facts().tables.coverage["shaky"].complete


@pytest.mark.extended
def test_a_run_that_is_terminated_keeps_what_it_built(server: Server, backfills: dict[str, tuple[str, str]]) -> None:
    """Terminated in the middle, in the interface: no batch begins after that, and the next backfill builds the rest."""
    north, january = server.places[NORTH], 31
    assert backfills

    def built() -> list[Entry]:
        return [e for e in north.control.ledger.entries(["slow"]) if e.kind is Kind.BUILT]

    def days_of(entries: list[Entry]) -> int:
        return sum((e.interval.end - e.interval.start).days for e in entries)

    server.launch(NORTH, slow=JANUARY)
    _until(built, within=240)
    [run] = [r for r in server.instance.get_runs() if not r.is_finished]
    assert server.ask(TERMINATE, id=run.run_id)["__typename"] == "TerminateRunSuccess"
    _until(lambda: _finished(server.instance, run.run_id), within=120)
    ended = server.instance.get_run_by_id(run.run_id)
    assert ended is not None and ended.status is dg.DagsterRunStatus.CANCELED
    first = built()
    assert 0 < days_of(first) < january
    again = server.launch(NORTH, slow=JANUARY)
    assert _until(lambda: server.status(again), within=300) == "COMPLETED_SUCCESS"
    assert str(north.facts().tables.coverage["slow"].complete) == "2024-01-01..2024-01-31"
    assert [e for e in built() if e.batch in {f.batch for f in first}] == first
    assert days_of(built()) == january, "each day once"


def _finished(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is not None and run.is_finished


def _failure(instance: dg.DagsterInstance, run_id: str) -> str:
    """What the failed step said."""
    records = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
    data = records[0].event_log_entry.get_dagster_event().step_failure_data
    assert data.user_failure_data is not None
    return data.user_failure_data.description or ""
