"""What does the engine keep apart? Timeouts, settings, parameters, and what a model reads around its interval."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from backfill_assets.adapters.few_rows import FEW_COMPARED, SETTINGS
from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError
from backfill_assets.core.segments import Segment, Segments
from backfill_assets_tests.projects import (
    DAILY,
    RUNNING,
    build_all,
    days,
    engine,
    job,
    path_of,
    write_events,
    write_project,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ENDLESS = """\
/*
start: 2024-01-01
grain: [ds]
timeout: 2s
spark: {spark.sql.shuffle.partitions: 1}
*/
SELECT :start AS ds, count(*) AS n
FROM range(0, 4000000, 1, 1) AS a CROSS JOIN range(0, 4000000, 1, 1) AS b
WHERE hash(a.id, b.id) = 1 AND EXISTS (SELECT 1 FROM raw.events WHERE at < :end)
"""


def test_a_timeout_interrupts_a_long_batch(spark: SparkSession, tmp_path: Path) -> None:
    """A batch that runs longer than its model's timeout is stopped in Spark, and says which settings would help."""
    write_events(tmp_path, days=1)
    place = Context.open(write_project(tmp_path, {"endless.sql": ENDLESS}))
    todo, work = job(place, "endless"), engine(place)
    work.prepare(todo, days("2024-01-01"))

    began = time.monotonic()
    with pytest.raises(BuildError, match="cannot build endless 2024-01-01") as late:
        work.write(todo, "b", days("2024-01-01"))

    assert not late.value.retryable
    assert "timeout of 0:00:02" in late.value.why and "batch_size" in late.value.fix
    assert time.monotonic() - began < 120  # 16e12 pairs would take hours
    table = open_table(path_of(place, "endless"))
    assert table is not None and table.version() == 0
    assert spark.range(3).count() == 3  # the session is as good as before


SETTING = """\
/*
start: 2024-01-01
grain: [ds]
spark: {{spark.sql.shuffle.partitions: {partitions}{more}}}
*/
SELECT CAST(at AS DATE) AS ds, {value} AS value FROM raw.events
WHERE at >= :start AND at < :end GROUP BY CAST(at AS DATE)
"""


def test_a_models_settings_are_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """`spark:` of one model changes neither another model's results nor the process's session."""
    before = {key: spark.conf.get(key) for key in ("spark.sql.ansi.enabled", "spark.sql.shuffle.partitions")}
    write_events(tmp_path, days=2)
    loose = SETTING.format(partitions=3, more=", spark.sql.ansi.enabled: false", value="CAST(max(kind) AS INT)")
    strict = SETTING.format(partitions=5, more="", value="CAST(max(kind) AS INT)")
    place = Context.open(write_project(tmp_path, {"loose.sql": loose, "strict.sql": strict}, clock="2024-01-03"))

    outcomes = build_all(place)

    assert outcomes["loose"].ok  # NULL where ANSI mode is off
    assert [f.error for f in outcomes["strict"].failures if "CAST_INVALID_INPUT" in f.error]
    assert {key: spark.conf.get(key) for key in before} == before


SPREAD = """\
/*
start: 2024-01-01
grain: [ds, n]
spark: {spark.sql.shuffle.partitions: 3}
*/
SELECT CAST(at AS DATE) AS ds, n FROM raw.events LATERAL VIEW explode(sequence(1, CAST(amount * 300 AS INT))) AS n
WHERE at >= :start AND at < :end AND id % 6 = 0
"""


def test_few_rows_are_interpreted_until_they_become_many(spark: SparkSession, tmp_path: Path) -> None:
    """A job that reads few rows compiles nothing; once its batch has many, what comes next does. A model's own settings
    stay. Nobody else's session changes."""
    write_events(tmp_path, days=2)
    place = Context.open(
        write_project(
            tmp_path,
            {"spread.sql": SPREAD, "daily.sql": DAILY.format(batch_size=1, batch_concurrency=1)},
            clock="2024-01-03",
        )
    )
    todo, other, work = job(place, "spread"), job(place, "daily"), engine(place)
    before = {name: spark.conf.get(name) for name in SETTINGS}

    def settings(of: Job) -> dict[str, str | None]:
        return {name: work._rows.session(of).conf.get(name) for name in SETTINGS}  # pyright: ignore[reportPrivateUsage]

    own = {"spark.sql.shuffle.partitions": "3"}
    assert settings(todo) == SETTINGS | own
    work.prepare(todo, days("2024-01-01"))
    assert work.write(todo, "b", days("2024-01-01")).rows == 3000
    assert settings(todo) == before | own
    assert settings(other) == SETTINGS
    assert {name: spark.conf.get(name) for name in SETTINGS} == before


def test_named_parameters_reach_delta_sessions(spark: SparkSession) -> None:
    """`:start` binds in a session with Delta's parser, also inside subqueries and functions (delta-io/delta #7640)."""
    assert spark.conf.get("spark.sql.extensions") == "io.delta.sql.DeltaSparkSessionExtension"
    text = """
        SELECT count(*) AS n, date_add(:start, 1) AS next, (SELECT max(id) FROM range(0, :top)) AS top
        FROM range(10) WHERE id >= :least AND id IN (SELECT id FROM range(:top) WHERE id < :top)"""
    (row,) = spark.sql(text, args={"start": days("2024-01-31").start.date(), "least": 2, "top": 5}).collect()
    assert (row["n"], f"{row['next']}", row["top"]) == (3, "2024-02-01", 4)


def test_lookback_stops_where_the_upstream_starts(spark: SparkSession, tmp_path: Path) -> None:
    """The first days are built although nothing precedes them; a later day waits for the day that it looks back to."""
    write_events(tmp_path, days=4)
    models = {
        "daily.sql": DAILY.format(batch_size=4, batch_concurrency=1),
        "running.sql": RUNNING.format(batch_size=1).replace("lookback: 1", "lookback: 3"),
    }
    place = Context.open(write_project(tmp_path, models, clock="2024-01-05"))

    outcomes = build_all(place)

    assert outcomes["running"].ok and not outcomes["running"].waits
    table = open_table(path_of(place, "running"))
    assert table is not None
    found = {f"{row['ds']}": row for row in table.to_pyarrow_table().to_pylist()}
    assert sorted(found) == ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    assert found["2024-01-01"]["day_before"] is None
    for one, before in (("2024-01-02", "2024-01-01"), ("2024-01-04", "2024-01-03")):
        assert found[one]["day_before"] == found[before]["total"]


ROLLING = '''\
from backfill_assets import model
from pyspark.sql import functions as F


@model(start="2024-01-01", grain=["ds"], lookback=2, batch_size=1)
def rolling(daily, interval):
    """Which days it was given, for each of its own."""
    seen = daily.agg(F.min("ds").alias("first"), F.max("ds").alias("last"))
    own = daily.where((F.col("ds") >= interval.start.date()) & (F.col("ds") < interval.end.date()))
    return own.select("ds").distinct().crossJoin(seen)
'''


def test_a_python_model_is_given_its_window_only(spark: SparkSession, tmp_path: Path) -> None:
    """A function gets the upstream's rows of its interval and the lookback before it, clipped at the start."""
    write_events(tmp_path, days=4)
    models = {"daily.sql": DAILY.format(batch_size=4, batch_concurrency=1), "rolling.py": ROLLING}
    place = Context.open(write_project(tmp_path, models, clock="2024-01-05"))

    assert build_all(place)["rolling"].ok

    table = open_table(path_of(place, "rolling"))
    assert table is not None
    rows = table.to_pyarrow_table().to_pylist()
    assert {(row["ds"].day, row["first"].day, row["last"].day) for row in rows} == {
        (1, 1, 1),
        (2, 1, 2),
        (3, 1, 3),
        (4, 2, 4),
    }


SCORED = """\
import pandas as pd
from backfill_assets import model
from pyspark.sql import functions as F

import _helper
from _helper import score

plain = F.udf(score, "bigint")


@F.pandas_udf("bigint")
def many(ids: pd.Series) -> pd.Series:
    return ids.map(_helper.score)


@model(start="2024-01-01", grain=["ds", "id"], batch_size=2, upstream={"events": "raw.events"})
def scored(events, interval):
    rows = events.where((F.col("at") >= F.lit(interval.start)) & (F.col("at") < F.lit(interval.end)))
    return rows.select(F.to_date("at").alias("ds"), "id", plain("id").alias("one"), many("id").alias("two"))
"""
HELPER = "FACTOR = 2\n\n\ndef score(x):\n    return FACTOR * x\n"


def test_functions_of_helpers_run_on_workers(spark: SparkSession, tmp_path: Path) -> None:
    """Plain and pandas UDFs use what a file of the project defines; an edit of it is a version with other rows."""
    write_events(tmp_path, days=2)
    models = {"scored.py": SCORED, "_helper.py": HELPER}
    root = write_project(tmp_path, models, clock="2024-01-03")
    versions: set[str] = set()
    for factor in (2, 3):
        (root / "models" / "_helper.py").write_text(HELPER.replace("2", str(factor)))
        place = Context.open(root)
        outcome = build_all(place)["scored"]
        assert outcome.ok, outcome.failures
        table = open_table(path_of(place, "scored"))
        assert table is not None
        rows = table.to_pyarrow_table().to_pylist()
        assert len(rows) == 12 and all(r["one"] == r["two"] == factor * r["id"] for r in rows)
        versions.add(place.project.fingerprints["scored"])
    assert len(versions) == 2


SWAPPED = """\
/*
start: 2024-01-01
grain: [ds, id]
*/
SELECT CAST(at AS DATE) AS ds, id, {a} AS a, {b} AS b FROM raw.events WHERE at >= :start AND at < :end
"""


@pytest.mark.parametrize("few", [-1, FEW_COMPARED])
def test_values_that_changed_places_with_null_differ(
    spark: SparkSession, tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(1, NULL) is not (NULL, 1): a table that is kept is compared by hashes of its rows, and these tell, in queries
    that are compiled and in those that are not."""
    monkeypatch.setattr("backfill_assets.adapters.checksums.FEW_COMPARED", few)
    write_events(tmp_path, days=2)
    shown: list[Segment] = []
    for a, b in (("id", "CAST(NULL AS BIGINT)"), ("CAST(NULL AS BIGINT)", "id")):
        place = Context.open(write_project(tmp_path, {"swapped.sql": SWAPPED.format(a=a, b=b)}, clock="2024-01-03"))
        build_all(place)
        version = place.project.fingerprints["swapped"]
        head = place.log.head("swapped", version)
        shown.append(Segment(version=version, commit=head, interval=days("2024-01-01", "2024-01-02")))
    model, one, other = place.project.models["swapped"], Segments(shown[:1]), Segments(shown[1:])
    assert str(engine(place).differing(model, ["a", "b"], one, other)) == "2024-01-01..2024-01-02"
    assert str(engine(place).differing(model, ["A", "B"], one, other)) == "2024-01-01..2024-01-02", "names have no case"
    assert not engine(place).differing(model, ["ds", "id"], one, other)
    assert not engine(place).differing(model, ["a", "b"], one, one)


def test_a_query_that_spark_refuses_is_told_with_its_file_and_line(spark: SparkSession, tmp_path: Path) -> None:
    """sqlglot takes the subquery, and Spark says where by the query's own lines."""
    write_events(tmp_path, days=1)
    query = "SELECT CAST(at AS DATE) AS ds, count(*) AS n\nFROM raw.events\nWHERE at >= :start AND at < :end\n"
    query += "GROUP BY CAST(at AS DATE), (SELECT max(id) FROM raw.events AS e WHERE e.kind = events.kind)\n"
    place = Context.open(write_project(tmp_path, {"lsub.sql": f"/*\nstart: 2024-01-01\ngrain: [ds]\n*/\n{query}"}))
    with pytest.raises(BuildError, match="cannot prepare lsub") as refused:
        engine(place).prepare(job(place, "lsub"), days("2024-01-01"))
    assert refused.value.why.endswith("(models/lsub.sql:8)"), refused.value.why


def test_arrays_of_numpy_are_arguments_as_ever(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told without PySpark's test tools, which bring pandas into each process."""
    monkeypatch.setitem(sys.modules, "pyspark.testing.utils", None)  # an import of it fails
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    assert jvm.java.util.Arrays.toString(np.array([1, 2])) == "[1, 2]"
    assert jvm.java.util.Arrays.toString(np.array([0.5])) == "[0.5]"
    assert spark.range(10).limit(np.int64(3)).count() == 3  # type: ignore[arg-type]


RETURNS = """\
from backfill_assets import model


@model(start="2024-01-01", grain=["ds"], upstream={"events": "raw.events"})
def ret(events, interval):
    return GIVEN
"""


@pytest.mark.parametrize(("given", "what"), [("events.toPandas()", "a pandas DataFrame"), ("None", "None")])
def test_a_function_that_returns_no_frame(spark: SparkSession, tmp_path: Path, given: str, what: str) -> None:
    """It is told by the line of the function, wherever its rows are asked for."""
    write_events(tmp_path, days=1)
    place = Context.open(write_project(tmp_path, {"ret.py": RETURNS.replace("GIVEN", given)}, clock="2024-01-02"))
    todo, work = job(place, "ret"), engine(place)
    for asked in (lambda: work.prepare(todo, days("2024-01-01")), lambda: work.write(todo, "b", days("2024-01-01"))):
        with pytest.raises(BuildError, match=f"`ret` returns {what}.*models/ret.py:5"):
            asked()
