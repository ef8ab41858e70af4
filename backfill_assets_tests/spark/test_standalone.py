"""Does a project build on a standalone cluster of the wheel's Spark, and lose nothing when a worker is killed?"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets_tests.local_cluster import a_spark_home
from backfill_assets_tests.projects import (
    BACKFILL,
    CHECKOUT,
    SMALL_SPARK,
    clean_environment,
    commits_per_interval,
    eventually,
    finish,
    kill,
    path_of,
    start,
    write_events,
    write_project,
)

pytestmark = pytest.mark.spark

HELD = """\
from backfill_assets import model
from pyspark.sql import functions as F


@F.udf("string")
def held(kind):
    import os
    import pathlib
    import time

    folder = pathlib.Path(r"{folder}")
    (folder / f"at-{{os.getppid()}}").touch()
    while not (folder / "go").exists():
        time.sleep(0.1)
    return kind


@model(start="2024-01-01", grain=["id"], time_column="ds", batch_size=2, upstream={{"events": "raw.events"}})
def counted(events, interval):
    rows = events.where((F.col("at") >= F.lit(interval.start)) & (F.col("at") < F.lit(interval.end)))
    return rows.select(F.to_date("at").alias("ds"), "id", held("kind").alias("kind"))
"""


class Cluster:
    """A master and workers, each a process of its own: `workers` are killed with their executors."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.url = f"spark://127.0.0.1:{_free_port()}"
        port = self.url.rpartition(":")[2]
        self.master = self._start("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0")
        eventually(lambda: "I have been elected leader" in self.said("master.Master-0"), within=60)
        self.workers = [
            self._start("worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "600m", "--webui-port", "0",
                        "--work-dir", str(folder / f"work-{n}"), self.url)
            for n in range(2)
        ]  # fmt: skip
        eventually(lambda: self.said("master.Master-0").count("Registering worker") == 2, within=60)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{kind}-{len(self.processes)}.log").open("wb")
        environment = clean_environment(
            SPARK_HOME=str(self.home), SPARK_DAEMON_MEMORY="256m", SPARK_DAEMON_JAVA_OPTS="-XX:TieredStopAtLevel=1",
            SPARK_NO_DAEMONIZE="1",
        )  # fmt: skip
        with log:
            process = subprocess.Popen(
                [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments],
                env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def worker_of(self, daemon: int) -> int:
        """Which worker's executor started this Python."""
        return [worker.pid for worker in self.workers].index(_parent(_parent(daemon)))

    def kill(self, worker: int) -> None:
        """The whole machine of it, as far as one can here: the worker and its executors, at once."""
        os.killpg(self.workers[worker].pid, signal.SIGKILL)
        self.workers[worker].wait()

    def stop(self) -> None:
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    logs = tmp_path / "cluster"
    logs.mkdir()
    made = Cluster(a_spark_home(tmp_path), logs)
    yield made
    made.stop()


@pytest.mark.extended
def test_a_killed_worker_loses_no_row(tmp_path: Path, cluster: Cluster) -> None:
    """With the configuration that ships: executors come as they are needed, get Delta's jars from the driver, and what
    ran on one that is killed runs again on another. No row is lost or there twice."""
    folder = write_events(tmp_path, days=2)
    held = tmp_path / "held"
    held.mkdir()
    root = write_project(tmp_path, {"counted.py": HELD.format(folder=held)}, clock="2024-01-03")
    more = {
        "spark.master": cluster.url,
        "spark.driver.host": "${env:POD_IP}",  # as spark-conf/kubernetes has it
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "1",
    }
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"spark": SMALL_SPARK | more}))
    standalone = str(CHECKOUT / "spark-conf" / "standalone")
    environment = clean_environment(SPARK_CONF_DIR=standalone, SPARK_HOME=str(cluster.home), POD_IP="127.0.0.1")

    building = start(BACKFILL, "--project", root, "apply", "--promote", env=environment)
    try:
        [mark] = eventually(lambda: [*held.glob("at-*")], within=240, while_=lambda: building.poll() is None)
        cluster.kill(cluster.worker_of(int(mark.name.removeprefix("at-"))))
        (held / "go").touch()
        said = finish(building, timeout=240)
    finally:
        if building.poll() is None:
            kill(building)
    assert said.code == 0, said.out
    assert len([*held.glob("at-*")]) > 1, "nothing ran on the other worker"
    place = Context.open(root)
    table = open_table(path_of(place, "counted"))
    assert table is not None
    found = sorted((f"{r['ds']}", r["id"], r["kind"]) for r in table.to_pyarrow_table().to_pylist())
    lines = [line.split(",") for file in folder.glob("*.csv") for line in file.read_text().splitlines()[1:]]
    assert found == sorted((at[:10], int(n), kind) for n, at, kind, _ in lines)
    assert [*commits_per_interval(place, "counted").values()] == [1, 1]
    assert "counted" in place.control.environments.read(place.environment).pointers
