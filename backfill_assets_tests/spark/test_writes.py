"""What does one batch write, and what does it refuse to?"""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets.core.errors import BuildError
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.projects import (
    build_all,
    built_daily,
    days,
    engine,
    expected_daily,
    job,
    path_of,
    small_project,
    write_events,
    write_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOO_MANY = """\
/*
start: 2024-01-01
grain: [id]
*/
SELECT {ds} AS ds, id FROM raw.events WHERE at < :end OR at >= :start
"""


BY_DAY = '''\
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from backfill_assets import model


@model(start="2024-01-01", grain=["ds"], batch_size=1, owner="ana@example.com", upstream={{"events": "raw.events"}})
def wide(events: DataFrame, interval) -> DataFrame:
    """From the sixth day on it has other columns."""
    rows = events.where((F.col("at") >= interval.start) & (F.col("at") < interval.end))
    rows = rows.groupBy(F.to_date("at").alias("ds")).agg(F.count("*").alias("n"), F.sum("id").alias("ids"))
    return {later} if interval.start.day > 5 else rows
'''


def a_place(root: Path, models: dict[str, str] | None = None) -> Context:
    if models is None:
        return Context.open(small_project(root))
    write_events(root)
    return Context.open(write_project(root, models))


@pytest.mark.parametrize(
    ("later", "column"),
    [
        ('rows.drop("n")', "n"),
        ('rows.withColumn("more", F.lit(1))', "more"),
        ('rows.withColumn("n", F.col("n").cast("int"))', "n (int, not bigint)"),
    ],
)
def test_a_batch_of_other_columns_is_refused(spark: SparkSession, tmp_path: Path, later: str, column: str) -> None:
    """A column less would be NULL without a word; one more, or of another type, is told by its name and at once."""
    place = a_place(tmp_path, {"wide.py": BY_DAY.format(later=later)})

    outcome = build_all(place)["wide"]

    assert str(outcome.green) == "2024-01-01..2024-01-05"
    assert [str(f.interval) for f in outcome.failures] == [f"2024-01-{day:02}" for day in range(6, 11)]
    assert all(f"has: {column}\n" in f.error for f in outcome.failures), outcome.failures
    assert all("from the interval" in f.error for f in outcome.failures)
    entries = [e for e in place.control.ledger.entries() if e.kind is Kind.FAILED]
    assert len(entries) == 5, "none is tried again"


@pytest.mark.parametrize(
    ("ds", "why"),
    [
        pytest.param("CAST(at AS DATE)", "a row outside the interval: its ds is 2024-01-", id="of other days"),
        pytest.param(
            "CASE WHEN at >= :start AND at < :end THEN nullif(CAST(at AS DATE), :start) END",
            "a row whose ds is NULL",
            id="without a day",
        ),
    ],
)
def test_rows_outside_the_interval_are_refused(spark: SparkSession, tmp_path: Path, ds: str, why: str) -> None:
    """A batch that computes rows of other days, or of none, ends as BuildError with a remedy; nothing is written."""
    place = a_place(tmp_path, {"leaky.sql": TOO_MANY.format(ds=ds)})
    todo = job(place, "leaky")
    engine(place).prepare(todo, days("2024-01-03"))

    with pytest.raises(BuildError) as refused:
        engine(place).write(todo, "batch-1", days("2024-01-03"))

    assert not refused.value.retryable
    assert why in refused.value.why
    assert ":start" in refused.value.fix
    table = open_table(path_of(place, "leaky"))
    assert table is not None and table.version() == 0 and table.file_uris() == []


def test_a_refused_batch_is_recorded_as_failed_once(spark: SparkSession, tmp_path: Path) -> None:
    """An error that would come again is not tried again on the same days, only on parts of them, to find the bad ones:
    each day is named, the ledger says what it was, and nothing counts as built."""
    place = a_place(
        tmp_path, {"leaky.sql": TOO_MANY.format(ds="CAST(at AS DATE)").replace("[id]", "[id]\nbatch_size: 5")}
    )

    outcome = build_all(place)["leaky"]

    assert not outcome.ok and not outcome.green
    assert [str(f.interval) for f in outcome.failures] == [f"2024-01-{day:02}" for day in range(1, 11)]
    assert all("outside the interval" in f.error for f in outcome.failures)
    entries = place.control.ledger.entries()
    kinds = [entry.kind for entry in entries]
    tried = [entry.interval for entry in entries if entry.kind is Kind.STARTED]
    assert len(tried) == len(set(tried)), "no days are tried twice as they were"
    assert kinds.count(Kind.FAILED) == 10
    assert Kind.BUILT not in kinds


def test_the_table_is_complete_before_its_first_row(spark: SparkSession, tmp_path: Path) -> None:
    """Before any batch the version's table has every column, its partitions and a retention that outlives any pin."""
    place = a_place(tmp_path)

    columns = engine(place).prepare(job(place, "daily"), days("2024-01-01"))

    assert columns == (("ds", "date"), ("kind", "string"), ("n", "bigint"), ("total", "decimal(20,2)"))
    table = open_table(path_of(place, "daily"))
    assert table is not None
    assert table.version() == 0 and table.file_uris() == []
    assert [(f.name, f.type.type) for f in table.schema().fields] == [
        ("ds", "date"),
        ("kind", "string"),
        ("n", "long"),
        ("total", "decimal(20,2)"),
    ]
    said = table.metadata()
    assert said.partition_columns == ["ds"]
    for kept in ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration"):
        assert said.configuration[kept] == "interval 3650 days"


def test_a_commit_says_which_batch_made_it(spark: SparkSession, tmp_path: Path) -> None:
    """Every data commit carries its batch and its range in `userMetadata`; the engine returns that very commit."""
    place = a_place(tmp_path)
    todo = job(place, "daily")
    engine(place).prepare(todo, days("2024-01-01"))

    commit = engine(place).write(todo, "batch-7", days("2024-01-02", "2024-01-03"))

    (newest,) = spark.sql(f"DESCRIBE HISTORY delta.`{path_of(place, 'daily')}` LIMIT 1").collect()
    assert json.loads(newest["userMetadata"]) == {
        "backfill_batch": "batch-7",
        "start": "2024-01-02T00:00:00+00:00",
        "end": "2024-01-04T00:00:00+00:00",
    }
    assert (commit.table_commit, commit.batch, commit.interval) == (1, "batch-7", days("2024-01-02", "2024-01-03"))
    assert commit.rows == 4 and commit.bytes > 0


def test_a_batch_replaces_its_days_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    """Writing days again swaps exactly their files; those of the neighbours are the same ones as before."""
    place = a_place(tmp_path)
    todo = job(place, "daily")
    engine(place).prepare(todo, days("2024-01-01"))
    engine(place).write(todo, "one", days("2024-01-01", "2024-01-10"))
    before = files(place)

    engine(place).write(todo, "two", days("2024-01-04", "2024-01-05"))

    after = files(place)
    changed = {ds for ds in before if before[ds] != after[ds]}
    assert changed == {"2024-01-04", "2024-01-05"}
    assert built_daily(place) == expected_daily(tmp_path)


def test_disjoint_batches_commit_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    """Batches of different days never conflict, however exactly they coincide."""
    place = a_place(tmp_path)
    todo, work = job(place, "daily"), engine(place)
    work.prepare(todo, days("2024-01-01"))
    parts = [days(f"2024-01-{n:02}", f"2024-01-{n + 1:02}") for n in (1, 3, 5, 7, 9)]
    together = threading.Barrier(len(parts))

    def write(number: int) -> int:
        together.wait(60)
        return work.write(todo, f"batch-{number}", parts[number]).table_commit

    with ThreadPoolExecutor(len(parts)) as pool:
        commits = list(pool.map(write, range(len(parts))))

    assert sorted(commits) == [1, 2, 3, 4, 5]
    assert built_daily(place) == expected_daily(tmp_path)


def test_a_day_without_rows_is_written_empty(spark: SparkSession, tmp_path: Path) -> None:
    """Rebuilding a day whose source rows are gone leaves none of its old rows behind."""
    place = a_place(tmp_path)
    todo = job(place, "daily")
    engine(place).prepare(todo, days("2024-01-01"))
    engine(place).write(todo, "one", days("2024-01-01", "2024-01-03"))
    (tmp_path / "data" / "events" / "2024-01-02.csv").write_text("id,at,kind,amount\n")

    engine(place).write(job(place, "daily"), "two", days("2024-01-02"))

    assert {row[0] for row in built_daily(place)} == {"2024-01-01", "2024-01-03"}


def files(place: Context) -> dict[str, set[str]]:
    """Partition day → the names of its files."""
    table = open_table(path_of(place, "daily"))
    assert table is not None
    found: dict[str, set[str]] = {}
    for uri in table.file_uris():
        folder, name = uri.rsplit("/", 2)[1:]
        found.setdefault(folder.removeprefix("ds="), set()).add(name)
    return found


def test_a_table_that_vanished_is_built_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing that the ledger says of a lost table counts for the one that takes its place, commit by commit."""
    place = Context.open(small_project(tmp_path, days=6, batch_size=6))
    build_all(place)
    shutil.rmtree(path_of(place, "daily"))
    smaller = Context.open(small_project(tmp_path, days=6, batch_size=4, batch_concurrency=1))
    assert smaller.project.fingerprints == place.project.fingerprints

    assert build_all(smaller)["daily"].ok

    assert built_daily(smaller) == expected_daily(tmp_path)
