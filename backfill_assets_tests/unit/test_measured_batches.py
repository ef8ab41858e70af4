"""What does a plan find of batches where nobody says how long they are? On real files, without Spark."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from backfill_assets.adapters.machine import UNKNOWN_MACHINE, all_compilers, conf_dir, read_conf, spark_machine
from backfill_assets.app import batches
from backfill_assets.app.carry_out import carry_out
from backfill_assets.app.plan import plan_request
from backfill_assets.app.preview import preview
from backfill_assets.cli.plan_markdown import plan_markdown
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.settings import Settings
from backfill_assets.plan.batch_size import Machine
from backfill_assets.plan.sized_batches import sized_words
from backfill_assets.plan.source_bytes import TimedFile
from backfill_assets.plan.stages import Build, Plan, Request, plan_from_json
from backfill_assets_tests.strategies import day
from backfill_assets_tests.unsparked import build, unsparked

DAYS = 400
MODEL = """\
/*
owner: ana@example.com
cadence: daily
start: 2024-01-01
grain: [ds, id]
{said}*/
SELECT CAST(at AS DATE) AS ds, id FROM raw.orders WHERE at >= :start AND at < :end
"""
SOURCES = """\
sources:
  - {name: raw.orders, format: parquet, path: orders, time_column: at}
"""


def a_shop(root: Path, *, said: str = "", settings: str = "") -> Path:
    """A model of 400 days over one source, of which each file has rows of all of them."""
    rows = pa.table({"at": pa.array([day(n).date() for n in range(DAYS)], pa.date32()), "id": range(DAYS)})
    (root / "orders").mkdir(parents=True)
    (root / "models").mkdir()
    for number in range(4):
        parquet.write_table(rows, root / "orders" / f"{number}.parquet")
    (root / "sources.yml").write_text(SOURCES)
    (root / "backfill.yml").write_text(f"clock: 2025-03-01\n{settings}")
    (root / "models" / "orders.sql").write_text(MODEL.format(said=said))
    return root


def the_build(plan: Plan) -> Build:
    [stage] = [s for s in plan.stages if isinstance(s, Build)]
    return stage


def sizes(plan: Plan) -> list[int]:
    return [(b.end - b.start).days for b in the_build(plan).batches]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Files are as large as on a machine of so little memory, and take so long, that there are several batches."""

    def found(memory: int) -> None:
        monkeypatch.setattr(batches, "spark_machine", lambda root, settings: Machine(cores=2, memory=memory))

    return found


def test_a_plan_says_how_long_batches_are_and_why(tmp_path: Path) -> None:
    """All 400 days are one batch, as they are no minute's work; in each form of a plan."""
    place = unsparked(a_shop(tmp_path))
    seen = preview(place, Request())
    stage = the_build(seen.plan)
    assert sizes(seen.plan) == [DAYS]
    assert re.fullmatch(r"one batch of about [\d.]+ s, by [\d.]+ kB to read on \d+ cores?", stage.sized)
    assert f"orders: {stage.sized}" in plan_markdown(seen.plan, place.project, seen.estimate).replace("\\", "")
    assert the_build(plan_from_json(seen.plan.to_json())) == stage
    few = plan_request(place, Request(end=day(7)))
    assert the_build(few).sized and not sized_words(few), "nobody asks why a week is one batch"


@pytest.mark.parametrize(("said", "settings"), [("batch_size: 150\n", ""), ("", "batch_size: 150\n")])
def test_what_somebody_says_is_done(tmp_path: Path, said: str, settings: str) -> None:
    """In the header or the settings: nothing is looked up, and nothing is said about it."""
    plan = plan_request(unsparked(a_shop(tmp_path, said=said, settings=settings)))
    assert (sizes(plan), the_build(plan).sized) == ([150, 150, 100], "")
    assert "sized" not in plan.to_json()["stages"][0]  # type: ignore[index]


def test_what_is_left_of_an_open_plan_keeps_its_batches(tmp_path: Path, slow: Callable[[int], None]) -> None:
    """Whatever is found by now: what is tried again is what was tried before."""
    place = unsparked(a_shop(tmp_path), red={day(n) for n in (*range(100, 104), 300)})
    slow(2_000)
    first, _ = build(place)
    assert len(sizes(first)) > 2, first
    slow(1 << 30)
    left = plan_request(unsparked(tmp_path))
    whole, mine = the_build(first), the_build(left)
    assert mine.intervals and not mine.intervals - whole.intervals
    assert mine.batches == tuple(b for w in whole.batches for b in Ranges((w,)) & mine.intervals)
    assert mine.sized == f"batches as plan {place.control.plans.all()[0].id} has them"


def test_another_machine_finds_other_batches_of_the_same_plan(tmp_path: Path, slow: Callable[[int], None]) -> None:
    """A plan's id is of what is to be done: who approves it elsewhere approves the same."""
    place = unsparked(a_shop(tmp_path))
    slow(2_000)
    here = plan_request(place)
    slow(1 << 30)
    there = plan_request(place)
    assert the_build(here).batches != the_build(there).batches
    assert here.id == there.id
    stage = the_build(here)
    shorter = replace(stage, intervals=stage.intervals - Ranges((Interval.of("2024-01-01", "2024-01-02"),)))
    assert replace(here, stages=(shorter, *here.stages[1:])).id != here.id


@pytest.mark.parametrize(
    ("conf", "found"),
    [
        ({"spark.master": "local[3]", "spark.driver.memory": "2g"}, Machine(cores=3, memory=2 << 30)),
        ({"spark.master": "local", "spark.driver.memory": "512m"}, Machine(cores=1, memory=512 << 20)),
        (
            {
                "spark.master": "yarn",
                "spark.executor.instances": "4",
                "spark.executor.cores": "8",
                "spark.executor.memory": "16g",
            },
            Machine(cores=32, memory=64 << 30),
        ),
        ({"spark.master": "spark://host:7077", "spark.cores.max": "6"}, Machine(cores=6, memory=1 << 30)),
        ({"spark.master": "yarn", "spark.dynamicAllocation.maxExecutors": "many"}, UNKNOWN_MACHINE),
        ({"spark.master": "spark://host:7077"}, UNKNOWN_MACHINE),
        ({"spark.remote": "sc://host"}, UNKNOWN_MACHINE),
    ],
)
def test_cores_and_memory_are_those_of_sparks_configuration(
    tmp_path: Path, conf: dict[str, str], found: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the settings say goes before the files; what nobody can know is guessed."""
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert spark_machine(tmp_path, Settings(spark=conf)) == found


def test_this_machine_is_what_the_process_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5})
    assert spark_machine(tmp_path, Settings()) == Machine(cores=3, memory=4 << 30)


def test_a_long_build_has_all_compilers_where_the_configuration_is_ours(tmp_path: Path) -> None:
    """What the project's files or settings say of the JVM stays as it is."""
    shipped = conf_dir(tmp_path)
    short = read_conf(shipped)["spark.driver.extraJavaOptions"].split()
    ours = all_compilers(shipped, Settings()).split()
    assert set(short) - set(ours) == {"-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"}
    assert set(ours) < set(short) and "-XX:+UseParallelGC" in ours
    assert all_compilers(conf_dir(tmp_path, s3=True), Settings()) == " ".join(ours)
    assert all_compilers(shipped, Settings(spark={"spark.driver.extraJavaOptions": "-Xint"})) == ""
    own = shutil.copytree(shipped, tmp_path / "spark-conf")
    assert conf_dir(tmp_path) == own and all_compilers(own, Settings()) == ""


@pytest.mark.parametrize(("megabytes", "long"), [(10, False), (10_000, True)])
def test_a_session_is_opened_for_what_is_expected(
    tmp_path: Path, slow: Callable[[int], None], megabytes: int, long: bool
) -> None:
    """By the files where nothing was built before: ten gigabytes on two cores are no matter of a minute."""
    slow(1 << 30)
    place = unsparked(a_shop(tmp_path, said="batch_size: 100\n"))
    plan = plan_request(place)
    parts = [TimedFile(days=None, bytes=megabytes * 1_000_000)]
    place.days._seen["raw.orders"] = (plan.sources["raw.orders"], parts)  # pyright: ignore[reportPrivateUsage]
    carry_out(place, plan)
    assert place.long is long
