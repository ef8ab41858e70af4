"""Does `not_constant` find, on Spark, the columns and days in which pandas finds one value only?"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import build_all, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), [None, "", "x"]),
    "whole": (pa.int64(), [None, 0, 7]),
    "float": (pa.float64(), [None, 0.5, float("nan")]),
    "flag": (pa.bool_(), [None, True, False]),
    "day": (pa.date32(), [None, date(2024, 2, 29), date(1999, 1, 1)]),
    "list": (pa.list_(pa.string()), [None, [], ["a"]]),
    "Odd Name": (pa.struct({"city": pa.string()}), [None, {"city": None}, {"city": "x"}]),
}
MODEL = """\
/*
start: 2024-01-01
grain: [ds, id]
mask: [text]
audits:
  - not_constant: {columns: [text, whole, float, flag, DAY, list, "Odd Name"], severity: warn}
*/
SELECT CAST(at AS DATE) AS ds, * EXCEPT (at) FROM raw.rows WHERE at >= :start AND at < :end
"""


def test_constant_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Of every type, with NULLs, NaN and days of one row or of none; the samples name the columns and their values."""
    rng = random.Random(11)
    rows: list[dict[str, Any]] = []
    for ds in range(1, 25):
        some = {n: [rng.choice(v)] if rng.random() < 0.3 else v for n, (_, v) in VALUES.items()}
        for number in range(rng.choice([0, 1, 2, 2, 3])):
            at = datetime(2024, 1, ds, rng.randint(0, 23), tzinfo=UTC)
            rows.append({"at": at, "id": 100 * ds + number} | {n: rng.choice(v) for n, v in some.items()})
    (tmp_path / "data" / "rows").mkdir(parents=True)
    schema = pa.schema({"at": pa.timestamp("us", tz="UTC"), "id": pa.int64()} | {n: k for n, (k, _) in VALUES.items()})
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "data" / "rows" / "all.parquet")
    sources = "sources: [{name: raw.rows, format: parquet, path: data/rows}]"
    write_project(tmp_path, {"m.sql": MODEL}, sources=sources, clock="2024-01-25")
    outcome = build_all(Context.open(tmp_path))["m"]
    assert outcome.ok, outcome.failures
    table = pd.DataFrame({n: [repr(r[n]) for r in rows] for n in VALUES}, index=[f"{r['at']:%Y-%m-%d}" for r in rows])
    found = {str(r.interval): r for r in outcome.results if r.check.startswith("not_constant")}
    constant: dict[str, list[str]] = {}
    for ds in found:
        day = table[table.index == ds]
        constant[ds] = [n for n in VALUES if len(day) > 1 and day[n].nunique() == 1]
    assert {ds: r.failures for ds, r in found.items()} == {ds: len(names) for ds, names in constant.items()}
    assert len(found) == 24 and {n for names in constant.values() for n in names} == set(VALUES)
    for ds, result in found.items():
        assert result.passed == (not constant[ds])
        told = [sample.split("=")[0].lower() for sample in result.sample]
        assert set(told) <= {n.lower() for n in constant[ds]} and len(told) == min(len(constant[ds]), 5)
        assert all(sample == "text=***" for sample in result.sample if sample.startswith("text"))
