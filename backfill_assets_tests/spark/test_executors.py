"""Do executors in processes of their own get what a project defines, and do their errors say where in it they arose?"""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets_tests.local_cluster import a_spark_home, on_a_local_cluster
from backfill_assets_tests.projects import backfill, clean_environment, path_of, write_events, write_project

pytestmark = pytest.mark.spark

SCORED = """\
import pandas as pd
from backfill_assets import model
from pyspark.sql import functions as F

import _helper
from lib.scores import score

plain = F.udf(score, "bigint")


@F.pandas_udf("bigint")
def many(ids: pd.Series) -> pd.Series:
    from lib.late import doubled

    return ids.map(lambda x: doubled(_helper.FACTOR * x))


@model(start="2024-01-01", grain=["ds", "id"], batch_size=2, upstream={"events": "raw.events"})
def scored(events, interval):
    rows = events.where((F.col("at") >= F.lit(interval.start)) & (F.col("at") < F.lit(interval.end)))
    return rows.select(F.to_date("at").alias("ds"), "id", plain("id").alias("one"), many("id").alias("two"))
"""
SCORES = "import _helper\n\n\ndef score(x):\n    return _helper.FACTOR * x\n"
LATE = "def doubled(x):\n    return 2 * x\n"
WRONG = "def doubled(x):\n    raise ValueError(f'no double of {x}')\n"


@pytest.mark.extended
def test_helpers_on_executors(tmp_path: Path) -> None:
    """What plain and pandas UDFs import, at the top of a file or as they run, is there on executors, as the version
    was named after it. An error there is told by its last line and its place in the project, not by Java's words."""
    write_events(tmp_path, days=1)
    root = write_project(tmp_path, {"scored.py": SCORED, "_helper.py": "FACTOR = 2\n"}, clock="2024-01-02")
    (root / "lib").mkdir()
    (root / "lib" / "scores.py").write_text(SCORES)
    (root / "lib" / "late.py").write_text(LATE)
    on_a_local_cluster(root)
    environment = clean_environment(SPARK_HOME=str(a_spark_home(tmp_path)))

    said = backfill("apply", project=root, env=environment)
    assert said.code == 0, said.out + said.err
    place = Context.open(root)
    table = open_table(path_of(place, "scored"))
    assert table is not None
    rows = table.to_pyarrow_table().to_pylist()
    assert rows and all((r["one"], r["two"]) == (2 * r["id"], 4 * r["id"]) for r in rows)

    (root / "lib" / "late.py").write_text(WRONG)
    assert Context.open(root).project.fingerprints["scored"] != place.project.fingerprints["scored"]
    said = backfill("apply", project=root, env=environment)
    words = " ".join((said.out + said.err).split())
    assert said.code == 3 and "ValueError: no double of" in words and "(lib/late.py:2, in doubled)" in words, words
    assert "Traceback" not in words and "org.apache" not in words and "java." not in words, words
