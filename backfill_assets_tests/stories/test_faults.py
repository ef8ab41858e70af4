"""Faults while history is built: a killed JVM, one bad day, a source that is away, an end from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from backfill_assets.adapters.workspace import Workspace
from backfill_assets.build.apply import apply
from backfill_assets.build.events import BatchDone, BatchFailed, Event
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.projects import (
    BACKFILL,
    backfill_here,
    built_daily,
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


def kinds(place: Workspace, kind: Kind, model: str = "daily") -> list[str]:
    return sorted(str(e.interval) for e in place.control.ledger.entries([model]) if e.kind is kind)


def end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def test_the_jvm_is_killed_in_the_middle(tmp_path: Path) -> None:
    """kill -9 for Spark's JVM, not for Python: it is said, started again once, and the same command ends green with the
    rows of an undisturbed build. Nobody is told to correct a model."""
    place = Workspace.open(small_project(tmp_path, batch_size=1))
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


def test_sigterm_ends_an_apply_like_ctrl_c(tmp_path: Path) -> None:
    """Nothing else begins, what is done is recorded and said, with the command that goes on; code 143."""
    place = Workspace.open(small_project(tmp_path, batch_size=1, batch_concurrency=1))
    process = start(BACKFILL, "--project", tmp_path, "apply")
    try:
        eventually(lambda: kinds(place, Kind.BUILT), within=400, while_=lambda: process.poll() is None)
        process.send_signal(signal.SIGTERM)
        said = finish(process)
    finally:
        end(process)
    assert said.code == 143, said.out
    built = kinds(place, Kind.BUILT)
    assert 0 < len(built) < 10
    assert f"daily: {len(built)} of 10 days built" in said.out
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
    place = Workspace.open(root)
    assert kinds(place, Kind.FAILED) == ["2024-02-07"]
    assert "failed   daily 2024-02-07" in backfill_here("status", project=root).out
    bad.write_text(good)
    assert backfill_here("apply", "--select", "daily", project=root).code == 0
    assert [day for day, n in commits_per_interval(place, "daily").items() if n != 1] == []


def test_a_source_file_vanishes_and_returns(spark: SparkSession, tmp_path: Path) -> None:
    """It is waited for, which is said; nothing is built without its rows."""
    place = Workspace.open(small_project(tmp_path, batch_size=5, batch_concurrency=1))
    made, file = place.plan(), tmp_path / "data" / "events" / "2024-01-08.csv"
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
