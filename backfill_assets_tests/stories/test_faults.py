"""Faults while history is built: a killed JVM, one bad day, a source that is away, an end from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from backfill_assets.adapters.engine import SparkEngine
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.build.events import BatchDone, BatchFailed, Event
from backfill_assets.core.intervals import Interval
from backfill_assets.state.ledger import Kind
from backfill_assets.state.tables import DataCommit
from backfill_assets_tests.local_cluster import a_spark_home, on_a_local_cluster
from backfill_assets_tests.projects import (
    BACKFILL,
    SMALL_SPARK,
    backfill,
    backfill_here,
    built_daily,
    clean_environment,
    commits_per_interval,
    eventually,
    expected_daily,
    finish,
    small_project,
    start,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def kinds(place: Context, kind: Kind, model: str = "daily") -> list[str]:
    return sorted(str(e.interval) for e in place.control.ledger.entries([model]) if e.kind is kind)


def end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def test_the_jvm_is_killed_in_the_middle(tmp_path: Path) -> None:
    """kill -9 for Spark's JVM, not for Python: it is said, started again once, and the same command ends green with the
    rows of an undisturbed build. Nobody is told to correct a model."""
    place = Context.open(small_project(tmp_path, batch_size=1))
    process = start(BACKFILL, "--project", tmp_path, "apply")
    try:
        eventually(lambda: kinds(place, Kind.BUILT), within=400, while_=lambda: process.poll() is None)
        [jvm] = [p for p in psutil.Process(process.pid).children(recursive=True) if p.name() == "java"]
        jvm.kill()
        said = finish(process)
    finally:
        end(process)
    assert said.code == 0, said.out
    assert "Spark's JVM died" in said.out and "starting it again" in said.out
    assert "correct the model" not in said.out and "Traceback" not in said.out
    assert built_daily(place) == expected_daily(tmp_path)
    assert kinds(place, Kind.FAILED) == []


@pytest.mark.extended
def test_the_heap_is_too_small(tmp_path: Path) -> None:
    """Two days at once do not fit into the JVM's heap, which ends it: that is called memory, with the setting to raise,
    another JVM is started, once, and takes each day alone. No model is blamed; the rows are those of the files."""
    root = small_project(tmp_path, days=2, batch_size=2, batch_concurrency=1)
    settings, model = root / "backfill.yml", root / "models" / "daily.sql"
    small = {
        "spark.driver.memory": "768m",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraClassPath": "/of/ours.jar",
    }
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"spark": SMALL_SPARK | small}))
    text = model.read_text().replace("count(*) AS n", "greatest(count(*), max(long) - 999999999) AS n")
    long = (
        "SELECT length(repeat('x', CAST(300000000 * count(DISTINCT CAST(at AS DATE)) AS INT))) AS long FROM raw.events"
    )
    text = text.replace("FROM raw.events", f"FROM raw.events CROSS JOIN ({long} WHERE at >= :start AND at < :end)")
    model.write_text(text)
    said = backfill("apply", "--select", "daily", project=root)
    words = " ".join((said.out + said.err).split())
    assert said.code == 0, words
    assert "memory" in words and "raise `spark.driver.memory`" in words and "Traceback" not in words, words
    assert words.count("starting it again") == 1 and "trying its parts" in words, words
    assert "correct the model" not in words, words
    assert built_daily(Context.open(root)) == expected_daily(root)


PATIENT = """\
import time
from pathlib import Path

from pyspark.sql import functions as F

from backfill_assets import model

HERE = Path({root!r})


@F.udf("bigint")
def patient(n, day):
    if day == 2:
        (HERE / "begun").touch()
        while not (HERE / "go").exists():
            time.sleep(0.1)
    return n


@model(
    owner="ana@example.com",
    start="2024-01-01",
    grain=["ds", "kind"],
    batch_size=1,
    batch_concurrency=1,
    columns={{"ds": "date", "kind": "string", "n": "bigint", "total": "decimal(20,2)"}},
    upstream={{"events": "raw.events"}},
    allow_nondeterministic="the second day waits, and that is all",
)
def daily(events, interval):
    rows = events.where((F.col("at") >= interval.start) & (F.col("at") < interval.end))
    groups = rows.groupBy(F.to_date("at").alias("ds"), "kind")
    days = groups.agg(F.count("*").alias("n"), F.sum("amount").alias("total"))
    return days.withColumn("n", patient("n", F.dayofmonth("ds")))
"""


def executors(process: subprocess.Popen[str]) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for one in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it ends meanwhile
            if one.name() == "java" and "CoarseGrainedExecutorBackend" in " ".join(one.cmdline()):
                found.append(one)
    return found


@pytest.mark.extended
def test_an_executor_is_lost(tmp_path: Path) -> None:
    """kill -9 for an executor in the middle of a batch, on Spark's own cluster of processes: it is said, the batch is
    tried again on another executor, and the rows are those of an undisturbed build."""
    root = small_project(tmp_path, days=3)
    on_a_local_cluster(root)
    for model in (root / "models").glob("*.sql"):
        model.unlink()
    (root / "models" / "daily.py").write_text(PATIENT.format(root=str(root)))
    process = start(BACKFILL, "--project", root, "apply", env=clean_environment(SPARK_HOME=str(a_spark_home(tmp_path))))
    try:
        eventually((root / "begun").exists, within=400, while_=lambda: process.poll() is None)
        [executor] = executors(process)
        executor.kill()
        (root / "go").touch()
        said = finish(process)
    finally:
        end(process)
    assert said.code == 0, said.out
    assert "failed, trying again" in said.out and "lost" in said.out.lower() and "Traceback" not in said.out, said.out
    assert "correct the model" not in said.out and "JVM died" not in said.out, said.out
    place = Context.open(root)
    assert built_daily(place) == expected_daily(root)
    assert kinds(place, Kind.FAILED) == [] and set(commits_per_interval(place, "daily").values()) == {1}


def test_sigterm_ends_an_apply_like_ctrl_c(tmp_path: Path) -> None:
    """Nothing else begins, what is done is recorded and said, with the command that goes on; code 143."""
    place = Context.open(small_project(tmp_path, days=60, batch_size=1, batch_concurrency=1))
    process = start(BACKFILL, "--project", tmp_path, "apply")
    try:
        eventually(lambda: kinds(place, Kind.BUILT), within=400, while_=lambda: process.poll() is None)
        process.send_signal(signal.SIGTERM)
        said = finish(process)
    finally:
        end(process)
    assert said.code == 143, said.out
    built = kinds(place, Kind.BUILT)
    assert 0 < len(built) < 60, said.out
    assert f"daily: {len(built)} of 60 days built" in said.out
    assert "terminated" in said.out and f"backfill --project {tmp_path} apply" in said.out
    assert len(kinds(place, Kind.STARTED)) <= len(built) + 1
    assert "Traceback" not in said.out


def test_one_bad_day_among_sixty(spark: SparkSession, tmp_path: Path) -> None:
    """A value that cannot be cast, in a batch of sixty days: that day is named in the output, the ledger and the
    status, with code 3; the others are green, and after mending the source only that day is built."""
    root = small_project(tmp_path, days=60, batch_size=60)
    model = root / "models" / "daily.sql"
    model.write_text(model.read_text().replace("sum(amount) AS total", "sum(CAST(code AS INT)) AS total"))
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace('amount: "decimal(10,2)"', "code: string"))
    for file in (root / "data" / "events").glob("*.csv"):
        file.write_text(file.read_text().replace(".", "").replace("amount", "code"))
    bad = root / "data" / "events" / "2024-02-07.csv"
    good = bad.read_text()
    bad.write_text(good[: good.rindex(",")] + ",oops\n")

    said = backfill_here("apply", "--select", "daily", project=root)
    assert said.code == 3, said.out + said.err
    assert "cannot build daily 2024-02-07" in said.out and "oops" in said.out
    place = Context.open(root)
    assert kinds(place, Kind.FAILED) == ["2024-02-07"]
    assert "failed   daily 2024-02-07" in backfill_here("status", project=root).out
    bad.write_text(good)
    assert backfill_here("apply", "--select", "daily", project=root).code == 0
    assert [day for day, n in commits_per_interval(place, "daily").items() if n != 1] == []


def test_a_source_file_vanishes_and_returns(spark: SparkSession, tmp_path: Path) -> None:
    """It is waited for, which is said; nothing is built without its rows."""
    place = Context.open(small_project(tmp_path, batch_size=5, batch_concurrency=1))
    made, file = plan_request(place), tmp_path / "data" / "events" / "2024-01-08.csv"
    away, tried = tmp_path / "away.csv", threading.Event()
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, BatchDone) and not tried.is_set() and event.model == "daily":
            file.rename(away)
            tried.set()
        elif isinstance(event, BatchFailed) and event.again:
            away.rename(file)

    assert place.spark is not None
    outcomes = apply(place.bench(made.sources, listen=listen), made)
    assert all(o.ok for o in outcomes.values()), outcomes
    assert [e.again for e in events if isinstance(e, BatchFailed)] == [True]
    assert "9 of its 10 files are there" in next(e.error for e in events if isinstance(e, BatchFailed))
    assert built_daily(place) == expected_daily(tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which takes no room until somebody writes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here: only root can")
    try:
        yield folder
    finally:
        while folder.is_mount():
            mount(folder, "umount", "-l")


def mount(disk: Path, *command: str) -> None:
    subprocess.run([*command, disk], check=True)


def test_a_full_disk_and_one_that_nobody_may_write(
    spark: SparkSession, tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark and the ledger meet a disk that is full in the middle of a build: it is said, with no traceback, what was
    complete counts, and nothing half-written does. Reading goes on, there and where nothing may be written. With room
    the same command ends green, with the rows of an undisturbed build."""
    root = small_project(tmp_path / "shop", days=6, batch_size=2, batch_concurrency=1)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"warehouse": f"{disk}/warehouse"}))
    apply_daily, written, real = ("apply", "--select", "daily"), list[str](), SparkEngine.write

    def write(self: SparkEngine, job: Job, batch: str, interval: Interval) -> DataCommit:
        if written == ["first"]:
            there = os.statvfs(disk)
            taken = (there.f_blocks - there.f_bfree) * there.f_frsize
            mount(disk, "mount", "-o", f"remount,size={taken + 8192}")
        written.append("first" if not written else "more")
        return real(self, job, batch, interval)

    with monkeypatch.context() as patch:
        patch.setattr(SparkEngine, "write", write)
        full = backfill_here(*apply_daily, project=root)
    said = full.out + full.err
    assert len(written) == 2, "nothing else begins"
    assert full.code in (1, 3) and "No space left on device" in said, full
    assert "Traceback" not in said and "correct the model" not in said, full
    place = Context.open(root)
    have = place.facts().tables.coverage["daily"]
    assert str(have.complete | have.unaudited) == "2024-01-01..2024-01-02"
    for command in ("plan", "status", "watch"):
        assert backfill_here(command, project=root).code in (0, 3), command
    assert "free some room" in backfill_here(*apply_daily, project=root).err

    mount(disk, "mount", "-o", "remount,size=4g")
    mount(disk, "mount", "--bind", f"{disk}")  # a second one, over the first: Spark may hold files of that open
    mount(disk, "mount", "-o", "remount,bind,ro")
    refused = backfill_here(*apply_daily, project=root)
    said = refused.out + refused.err
    assert refused.code == 1 and "mount it so that it can be written" in said and "Traceback" not in said, refused
    for command in ("plan", "status", "watch"):
        assert backfill_here(command, project=root).code in (0, 3), command

    mount(disk, "umount", "-l")
    done = backfill_here(*apply_daily, project=root)
    assert done.code == 0, done
    assert built_daily(Context.open(root)) == expected_daily(root)
