"""A killed build loses only the batches that were running (A4, B6, F5); prod never knew (A3)."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.intervals import Ranges
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.projects import (
    BACKFILL,
    approve,
    backfill_here,
    build_all,
    built_daily,
    commits_per_interval,
    eventually,
    expected_daily,
    finish,
    kill,
    script,
    small_project,
    start,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DIES = """
    import os, sys, threading
    from backfill_assets.app.context import Context
    from backfill_assets.app.plan import plan_request
    from backfill_assets.build.apply import apply
    from backfill_assets.state.ledger import Ledger

    project, kind, nth = sys.argv[1], sys.argv[2], int(sys.argv[3])
    append, seen, lock = Ledger.append, [0], threading.Lock()

    def die_instead(self, entries):
        with lock:
            seen[0] += any(entry.kind == kind for entry in entries)
            if seen[0] == nth:
                os._exit(9)
        append(self, entries)

    Ledger.append = die_instead
    place = Context.open(project)
    made = plan_request(place)
    apply(place.bench(made.sources), made)
"""


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prod shows a first release."""
    place = Context.open(small_project(tmp_path_factory.mktemp("published"), batch_size=10, batch_concurrency=1))
    build_all(place)
    promote_plan(place)
    return place.project.root


@pytest.fixture
def changed(published: Path, tmp_path: Path) -> Context:
    """A copy; the model changed since, and ten days in batches of one are to be built."""
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "models" / "daily.sql"
    text = file.read_text().replace("sum(amount) AS total", "sum(amount) AS total, max(amount) AS most")
    file.write_text(text.replace("batch_size: 10", "batch_size: 1").replace("concurrency: 1", "concurrency: 2"))
    return Context.open(tmp_path)


def shown(place: Context) -> tuple[object, ...]:
    """All that prod shows."""
    environment = place.control.environments.read("prod")
    rows = [backfill_assets.read(m, project=place.project.root).to_pylist() for m in ("daily", "running")]
    return environment.revision, dict(environment.pointers), sorted(map(str, rows))


def entries(place: Context, kind: Kind) -> list[Entry]:
    version = place.project.fingerprints["daily"]
    return [e for e in place.control.ledger.entries(["daily"]) if e.version == version and e.kind is kind]


def under_way(place: Context) -> bool:
    """Whether a batch began that has no end."""
    began, ended = ({e.batch for e in entries(place, kind)} for kind in (Kind.STARTED, Kind.BUILT))
    return began > ended


def finish_and_check(place: Context, before: tuple[object, ...], lost: int) -> None:
    """Build what is left: only that, and with the result of an undisturbed build."""
    done = Ranges.of(e.interval for e in entries(place, Kind.BUILT))
    counts = commits_per_interval(place, "daily")
    unknown = [day for day in counts if day not in done]
    missing = Ranges(tuple(place.project.models["daily"].expected(place.now()))) - done
    assert place.facts().tables.coverage["daily"].built == done
    assert shown(place) == before

    outcomes = build_all(place)

    assert all(o.ok for o in outcomes.values()), outcomes
    assert outcomes["daily"].built == missing
    after = commits_per_interval(place, "daily")
    assert {day for day, n in after.items() if n > 1} == set(unknown)
    assert len(after) == 10 and len(unknown) >= lost
    assert built_daily(place) == expected_daily(place.project.root)
    assert shown(place) == before
    approve(place)
    promote_plan(place)
    assert shown(place) != before


def test_killed_while_batches_run(changed: Context) -> None:
    """kill -9 for `backfill apply` and its JVM after the first batch: the next one builds only what is not recorded."""
    before = shown(changed)
    process = start(BACKFILL, "--project", changed.project.root, "apply")
    try:
        eventually(
            lambda: entries(changed, Kind.BUILT) and under_way(changed),
            within=400,
            while_=lambda: process.poll() is None,
        )
    finally:
        kill(process)
    assert len(entries(changed, Kind.BUILT)) < 10, "it was killed in the middle"
    said = backfill_here("status", project=changed.project.root).out
    # Between two batches, which is a moment, nothing is under way, and nothing is said.
    assert (f"its process {process.pid} is gone" in said) is under_way(changed) and "running  daily" not in said
    finish_and_check(changed, before, lost=0)


@pytest.mark.parametrize(
    ("kind", "nth", "built", "lost"),
    [
        pytest.param(Kind.STARTED, 1, 0, 0, id="before the first batch", marks=pytest.mark.extended),
        pytest.param(Kind.BUILT, 3, 2, 1, id="between a data commit and its record"),
        pytest.param(Kind.AUDITED, 1, 10, 0, id="between a record and its audit", marks=pytest.mark.extended),
    ],
)
def test_killed_between_two_steps(changed: Context, kind: Kind, nth: int, built: int, lost: int) -> None:
    """Dying between any two records loses nothing that is recorded, and trusts nothing that is not."""
    before = shown(changed)
    process = start(*script(DIES, changed.project.root, kind.value, str(nth)))
    try:
        said = finish(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert said.code == 9, said.out
    assert len(entries(changed, Kind.BUILT)) >= built
    finish_and_check(changed, before, lost)
