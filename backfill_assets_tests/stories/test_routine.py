"""Prod's versions are extended day by day while newer code is loaded; a red day holds back only what reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import promote_green, published_context
from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Ranges
from backfill_assets_tests.projects import (
    backfill_here,
    build_all,
    commits_per_interval,
    days,
    expected_daily,
    small_project,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OTHER = """\
/*
start: 2024-01-01
grain: [ds]
audits: [{range: {column: n, min: 7}}]
*/
SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM raw.events WHERE at >= :start AND at < :end GROUP BY CAST(at AS DATE)
"""
PYTHON = """\
from pyspark.sql import functions as F
from backfill_assets import model


@model(start="2024-01-01", grain=["ds"], columns={"ds": {"type": "date"}, "n": {"type": "bigint"}})
def counted(daily, interval):
    return daily.where(F.col("ds") >= F.lit(interval.start.date())).groupBy("ds").agg(F.sum("n").alias("n"))
"""


def until(root: Path, last: str) -> None:
    """Events until a day, and the clock on the morning after it."""
    number = int(last[-2:])
    write_events(root, days=number)
    settings = root / "backfill.yml"
    text = settings.read_text()
    before = text.split('"clock": "')[1][:10]
    settings.write_text(text.replace(before, f"2024-01-{number + 1:02}"))


def run(root: Path) -> tuple[Context, list[str]]:
    """What `backfill routine` does, in the shared session. Returns what is held back."""
    place = published_context(Context.open(root))
    assert place.spark is not None
    plan = plan_request(place)
    apply(place.bench(plan.sources), plan)
    held = promote_green(place).held
    return place, [f"{o.model} {o.intervals}" for o in held]


def test_routine_runs_go_on(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Newer code, not promoted, changes nothing for the days that follow: prod's own logic makes them."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    (root / "models" / "counted.py").write_text(PYTHON)
    (root / "models" / "other.sql").write_text(OTHER.replace("min: 7", "min: 6"))
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    shown = place.control.environments.read(environment).pointers
    daily, counted = root / "models" / "daily.sql", root / "models" / "counted.py"
    daily.write_text(daily.read_text().replace("sum(amount) AS total", "sum(amount) * 3 AS total"))
    counted.write_text(counted.read_text().replace('F.sum("n")', '-F.sum("n")'))

    until(root, "2024-01-05")
    extended, held = run(root)
    assert held == []
    after = extended.control.environments.read(environment).pointers
    assert {n: p.version for n, p in after.items()} == {n: p.version for n, p in shown.items()}
    assert all(p.covers == Ranges((days("2024-01-01", "2024-01-05"),)) for p in after.values())
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    assert sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows) == expected_daily(root)
    counts = backfill_assets.read("counted", project=root, environment=environment).to_pylist()
    assert sorted((f"{r['ds']}", r["n"]) for r in counts) == [(f"2024-01-0{d}", 6) for d in range(1, 6)]
    assert run(root)[1] == [] and not plan_request(published_context(Context.open(root))).work, "nothing is left to do"


def test_a_red_day_holds_back_what_reads_it(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """`daily` is red on a new day: it and `running` wait, `other` is published."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    (root / "models" / "other.sql").write_text(OTHER.replace("min: 7", "min: 6"))
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    until(root, "2024-01-04")
    write_events(root, days=4, bad="2024-01-04")

    extended, held = run(root)

    assert "daily 2024-01-04" in held and all(h.split()[0] in ("daily", "running") for h in held)
    after = extended.control.environments.read(environment).pointers
    ends = {name: f"{pointer.covers.span.end:%Y-%m-%d}" for name, pointer in after.items() if pointer.covers.span}
    assert ends == {"daily": "2024-01-04", "running": "2024-01-04", "other": "2024-01-05"}


def test_what_was_held_back_is_built_from_the_sources_as_they_are(
    spark: SparkSession, tmp_path: Path, environment: str
) -> None:
    """A red day holds back good ones. Rows of one of these come before the red day is mended: it is built again before
    anybody sees it, the other one is not."""
    root = small_project(tmp_path, days=3, batch_size=1, environment=environment)
    assert backfill_here("apply", "--promote", project=root).code == 0
    until(root, "2024-01-06")
    write_events(root, days=6, bad="2024-01-05")
    first = backfill_here("routine", project=root)
    assert first.code != 0 and "daily" in first.out
    place = Context.open(root)
    built = commits_per_interval(place, "daily")
    assert place.control.environments.read(environment).pointers["daily"].covers == Ranges(
        (days("2024-01-01", "2024-01-03"),)
    )
    good = write_events(tmp_path / "good", days=6) / "2024-01-05.csv"
    good.rename(root / "data" / "events" / good.name)
    late = root / "data" / "events" / "2024-01-06.csv"
    late.write_text(late.read_text() + "999,2024-01-06T12:00:00Z,a,1.00\n")
    assert backfill_here("routine", project=root).code == 0
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    assert sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows) == expected_daily(root)
    again = {day for day, n in commits_per_interval(place, "daily").items() if n > built.get(day, 0)}
    assert again == {days("2024-01-05"), days("2024-01-06")}


def test_helpers_are_stored(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """A published Python model goes on by the texts of then, also of another file of the project that it imports."""
    root = small_project(tmp_path, days=3, batch_size=3, environment=environment)
    (root / "models" / "_help.py").write_text("NAME = 'n'\n")
    text = PYTHON.replace(
        "from backfill_assets import model", "from _help import NAME\nfrom backfill_assets import model"
    )
    model = root / "models" / "counted.py"
    model.write_text(text.replace('F.sum("n")', "F.sum(NAME)"))
    place = Context.open(root)
    build_all(place)
    promote_plan(place)
    assert published_context(Context.open(root)).project.fingerprints == place.project.fingerprints
    model.write_text(PYTHON.replace('F.sum("n")', 'F.max("n")'))
    (root / "models" / "_help.py").write_text("NAME = 'nothing'\n")
    until(root, "2024-01-04")
    extended, held = run(root)
    pointer = extended.control.environments.read(environment).pointers["counted"]
    assert not held and pointer.version == place.project.fingerprints["counted"]
    assert str(pointer.covers) == "2024-01-01..2024-01-04"
