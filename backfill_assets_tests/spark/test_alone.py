"""Is it found when rows of a day depend on which days are computed with it, and never where they do not?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import build_all, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HEADER = "/*\nstart: 2024-01-01\ngrain: [id]\nbatch_size: 4\nowner: ana@example.com\n{more}*/\n"
WITHIN = "WHERE ds >= :start AND ds < :end"
BASE = "SELECT CAST(at AS DATE) AS ds, id, k, v, f FROM raw.t WHERE at >= :start AND at < :end"
DEPENDS = {
    "rank": f"SELECT ds, id, rank() OVER (ORDER BY v DESC, id) AS r FROM base {WITHIN}",
    "share": f"SELECT ds, id, f / sum(f) OVER () AS s FROM base {WITHIN}",
    "mean": f"SELECT ds, id, v - (SELECT avg(v) FROM base {WITHIN}) AS d FROM base {WITHIN}",
    "days": f"SELECT ds, id, datediff(:end, :start) AS n FROM base {WITHIN}",
    "next": "SELECT i.ds, i.id, count(c.id) AS n FROM base i JOIN base c ON c.k = i.k WHERE i.ds >= :start "
    "AND i.ds < :end AND c.ds >= :start AND c.ds < :end GROUP BY i.ds, i.id",
    "to_date": "SELECT ds, id, unsure, s FROM (SELECT ds, id, uuid() AS unsure, sum(v) OVER "
    f"(PARTITION BY date_trunc('MONTH', ds) ORDER BY id) AS s FROM base {WITHIN})",
    "lead": f"SELECT ds, max(id) AS id, lead(sum(v)) OVER (ORDER BY ds) AS s FROM base {WITHIN} GROUP BY ds",
    "limit": f"SELECT ds, id FROM base {WITHIN} ORDER BY id LIMIT 320",
    "first_seen": f"SELECT min(ds) AS ds, k AS id, count(*) AS n FROM base {WITHIN} GROUP BY k",
    "first": f"SELECT ds, id FROM base b {WITHIN} AND NOT EXISTS "
    "(SELECT 1 FROM base p WHERE p.ds >= :start AND p.ds < :end AND p.k = b.k AND p.id < b.id)",
}
STANDS = {
    "base": BASE,
    "ranks": f"SELECT ds, id, rank() OVER (PARTITION BY ds ORDER BY v, id) AS r FROM base {WITHIN}",
    "window": "SELECT ds, id, f, s FROM (SELECT ds, id, f, sum(f) OVER (PARTITION BY k ORDER BY ds "
    "RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND CURRENT ROW) AS s FROM base "
    f"WHERE ds >= date_sub(:start, 2) AND ds < :end) {WITHIN}",
    "sparse": f"SELECT ds, id FROM base {WITHIN} AND ds <> DATE'2024-01-04' AND k IN (SELECT DISTINCT k FROM raw.t)",
    "known": f"SELECT ds, id, f * 3.3 AS f FROM base {WITHIN} AND k IN (SELECT DISTINCT k FROM raw.t)",
    "types": "SELECT ds, k AS id, sum(f) AS f, sum(f) - sum(f) AS zero, map('n', 1) AS m, parse_json('{}') AS j, "
    f"CAST(0.1 AS DECIMAL(9, 2)) AS d, CAST('NaN' AS DOUBLE) AS nan FROM base {WITHIN} "
    "AND k IN (SELECT DISTINCT k FROM raw.t) GROUP BY k, ds",
}
MORE = {"window": "lookback: 2\n", "to_date": "allow_nondeterministic: an id for the day\n"}
PYTHON = '''\
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from backfill_assets import model


@model(start="2024-01-01", grain=["id"], batch_size=4, owner="ana@example.com")
def {name}(base: DataFrame, interval) -> DataFrame:
    """Whatever Spark cannot be told in SQL."""
    return {frame}
'''
SCHEMA = '"ds date, id long, s long"'
STATE = '''\
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from backfill_assets import model

SEEN = []


@model(start="2024-01-01", grain=["ds"], batch_size=4, owner="ana@example.com")
def state(base: DataFrame, interval) -> DataFrame:
    """What it says of a day depends on how often it was called."""
    SEEN.append(1)
    return base.groupBy("ds").agg(F.sum("v").alias("v")).withColumn("runs", F.lit(len(SEEN)))
'''
PICKY = '''\
from pyspark.sql import DataFrame

from backfill_assets import model


@model(start="2024-01-01", grain=["id"], batch_size=4, owner="ana@example.com")
def picky(base: DataFrame, interval) -> DataFrame:
    """A day without rows has no types: by itself it cannot be computed, and no batch is such a day."""
    rows = base.where("ds <> DATE'2024-01-04'").select("ds", "id").collect()
    return base.sparkSession.createDataFrame([(row.ds, row.id) for row in rows]).toDF("ds", "id")
'''
OPAQUE = {
    "numbers": f'base.groupBy("k").applyInPandas(lambda d: d.assign(s=d.v.cumsum())[["ds", "id", "s"]], {SCHEMA})',
    "by_day": f'base.groupBy("ds").applyInPandas(lambda d: d.assign(s=d.v + 1)[["ds", "id", "s"]], {SCHEMA})',
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    random, count = np.random.default_rng(3), 1200
    at = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(
        np.sort(random.integers(0, 8 * 86_400, count)), unit="s"
    )
    rows = {
        "id": pa.array(np.arange(count)),
        "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
        "k": pa.array(random.integers(0, 50, count)),
        "v": pa.array(random.integers(0, 1000, count)),
        "f": pa.array(random.normal(0, 1e6, count)),
    }
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "data" / "a.parquet")
    models = {f"{n}.sql": HEADER.format(more=MORE.get(n, "")) + query for n, query in (DEPENDS | STANDS).items()}
    models |= {f"{n}.py": PYTHON.format(name=n, frame=frame) for n, frame in OPAQUE.items()}
    models |= {"state.py": STATE, "picky.py": PICKY}
    source = f"sources:\n  - name: raw.t\n    format: parquet\n    path: {tmp_path}/data\n    time_column: at\n"
    return write_project(tmp_path, models, sources=source, clock="2024-01-09")


def test_rows_that_depend_on_their_batch(spark: SparkSession, shop: Path) -> None:
    """Ranks, shares, sums, means, lookups and lengths of a whole batch are refused; windows over days that are read
    back, lookups of what is always the same and sums of floats in any order are built."""
    done = build_all(Context.open(shop))
    refused = {name for name, outcome in done.items() if not outcome.ok}
    assert refused == {*DEPENDS, "numbers"}, {n: o.failures for n, o in done.items() if not o.ok}
    assert "other values of s than in the batch" in done["to_date"].failures[0].error, (
        "what is never the same counts not"
    )
    assert {name: o.unsteady for name, o in done.items() if o.unsteady} == {"state": ("runs",)}
    for name in sorted(refused):
        assert not done[name].built, name
        assert "computed by itself, has" in done[name].failures[0].error
