"""A heavy build leaves the machine to others by day: it pauses between batches, and routine runs go first (F8)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.apply import build_plan, check_plan, start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import write_evidence
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import extend
from backfill_assets.build.hold import Hold
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.stages import Request
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.projects import (
    build_all,
    built_daily,
    commits_per_interval,
    expected_daily,
    say_yes,
    small_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROUTINE = """
import sys, time
from backfill_assets.adapters.heartbeat import sending_heartbeats
with sending_heartbeats(sys.argv[1], "morning", routine=True):
    print("there", flush=True)
    time.sleep(600)
"""
NIGHT = utc("2024-03-01T22:00")


def settings(root: Path, **more: object) -> None:
    file = root / "backfill.yml"
    file.write_text(json.dumps(json.loads(file.read_text()) | more))


@dataclass
class Wall:
    """The clock on the wall: each batch takes twenty minutes, and who waits moves it on."""

    now: datetime

    def look(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prod shows nine days."""
    root = small_project(tmp_path_factory.mktemp("published"), batch_size=1, batch_concurrency=1)
    settings(root, clock="2024-01-10", approvals={"self": True})
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    return root


@pytest.fixture
def changed(published: Path, tmp_path: Path) -> Context:
    """A copy; a tenth day is there since, and the model changed: ten days in batches of one are to be built, in a
    window of an hour a night."""
    root = shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    file = root / "models" / "daily.sql"
    file.write_text(file.read_text().replace("sum(amount) AS total", "sum(amount) AS total, max(amount) AS most"))
    settings(root, clock="2024-01-11", windows=[{"from": "22:00", "to": "23:00"}])
    return Context.open(root)


def started_of(place: Context) -> list[Entry]:
    version = place.project.fingerprints["daily"]
    found = [e for e in place.control.ledger.entries(["daily"]) if e.version == version and e.kind is Kind.STARTED]
    return sorted(found, key=lambda e: e.order)


def shown_days(place: Context) -> list[str]:
    rows = backfill_assets.read("daily", project=place.project.root).to_pylist()
    return sorted({str(r["ds"]) for r in rows})


def test_ten_batches_over_four_nights(changed: Context) -> None:
    """Three begin each night, the rest wait. In the first pause a routine run shows the tenth day, in the old logic.
    What is built in the end is what the files say, each day once; prod moves by its promotion only."""
    place, wall = changed, Wall(now=NIGHT - timedelta(hours=10))
    began, routines = list[datetime](), list[bool]()
    write, lock = place.engine().write, threading.Lock()

    def sleep(stop: threading.Event, seconds: float) -> None:
        if len(began) == 3 and not routines:  # the first night is over
            done = extend(Context.open(place.project.root))
            routines.append(not done.held)
        wall.now += timedelta(minutes=30)

    def slow(job: object, batch: str, interval: Interval) -> object:
        with lock:
            began.append(wall.now)
            wall.now += timedelta(minutes=20)
        return write(job, batch, interval)  # type: ignore[arg-type]

    place.engine().write = slow  # type: ignore[method-assign]
    place.clock = wall.look
    try:
        started = start_apply(place, Request(select=("daily",)))
        assert started.maintenance and started.maintenance.timetable.opens == NIGHT
        hold = Hold(windows=place.project.settings.windows, now=wall.look, sleep=sleep)
        built = build_plan(place, started, hold=hold)
    finally:
        place.engine().write = write  # type: ignore[method-assign]

    assert built.complete and routines == [True]
    nights = [NIGHT + timedelta(days=n, minutes=20 * m) for n in range(4) for m in range(3)]
    assert began == nights[:10]
    waited = sum((pause.end - pause.start).total_seconds() for pause in hold.waited)
    assert built.actual.seconds < waited, "pauses are no work"
    assert [(s.batches, s.count) for s in built.actual.stages] == [(10, 10)], "and all of the work is told"
    assert built_daily(place) == expected_daily(place.project.root)
    assert set(commits_per_interval(place, "daily").values()) == {1}

    # Prod shows what the routine run made of the tenth day; the candidate has the new column.
    assert len(shown_days(place)) == 10
    assert "most" not in backfill_assets.read("daily", project=place.project.root).column_names
    assert check_plan(place, built).unproved is None
    assert "22:00-23:00 UTC" in write_evidence(place, started.stored).packet.maintenance.notice  # type: ignore[union-attr]
    say_yes(place, started.stored)
    promote_plan(place, Request(select=("daily",)))
    assert "most" in backfill_assets.read("daily", project=place.project.root).column_names


def test_a_routine_run_that_died_holds_nobody_up(changed: Context) -> None:
    """While it works no batch begins; once it is killed all of them do."""
    place = changed
    settings(place.project.root, windows=[{"from": "00:00", "to": "24:00"}])
    place = Context.open(place.project.root)
    command = [sys.executable, "-c", ROUTINE, place.warehouse]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as routine:
        try:
            assert routine.stdout and routine.stdout.readline() == "there\n"
            waits = list[int]()

            def sleep(stop: threading.Event, seconds: float) -> None:
                waits.append(len(started_of(place)))
                routine.kill()
                routine.wait()

            hold = place.hold()
            hold.sleep = sleep
            assert hold.why().startswith("the routine run morning (since ")
            built = build_plan(place, start_apply(place, Request(select=("daily",))), hold=hold)
        finally:
            routine.kill()
    assert built.complete and waits == [0]
    assert built_daily(place) == expected_daily(place.project.root)
