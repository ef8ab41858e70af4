"""Does the audit scan count what is wrong, and does it show which rows?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from backfill_assets.app.context import Context
from backfill_assets.build.engine import AuditReads
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets_tests.projects import days, engine, job, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODEL = """\
/*
start: 2024-01-01
grain: [ds, id]
audits:
  - not_null: [kind]
  - not_null: {columns: [id, amount], name: id_and_amount}
  - range: {column: amount, min: 0, max: 90.5}
  - accepted_values: {column: kind, values: [a, "it's"]}
  - unique: {columns: [ds, kind], name: one_kind_a_day}
  - completeness
*/
SELECT CAST(at AS DATE) AS ds, id, kind, amount FROM raw.events WHERE at >= :start AND at < :end
"""
ROWS = """\
1,2024-01-01T01:00:00Z,a,10.00
2,2024-01-01T02:00:00Z,it's,-0.01
3,2024-01-01T03:00:00Z,zebra,90.50
3,2024-01-01T04:00:00Z,,90.51
3,2024-01-01T05:00:00Z,a,
,2024-01-02T01:00:00Z,a,1.00
,2024-01-02T02:00:00Z,b,1.00
7,2024-01-02T23:59:59Z,b,-3.00
8,2024-01-04T12:00:00Z,a,0.00
"""


@pytest.fixture
def built(spark: SparkSession, tmp_path: Path) -> tuple[Context, int]:
    """The rows above in one version's table, and the commit that they are in."""
    folder = tmp_path / "data" / "events"
    folder.mkdir(parents=True)
    (folder / "all.csv").write_text("id,at,kind,amount\n" + ROWS)
    place = Context.open(write_project(tmp_path, {"audited.sql": MODEL}))
    engine(place).prepare(job(place, "audited"), days("2024-01-01"))
    return place, engine(place).write(job(place, "audited"), "b", days("2024-01-01", "2024-01-04")).table_commit


def test_one_scan_counts_what_pandas_counts(built: tuple[Context, int]) -> None:
    """Per day and audit, the failing rows are those that pandas finds in the same rows; a day without rows has none."""
    place, commit = built

    asked = Ranges((days("2024-01-01", "2024-01-04"),))
    found = engine(place).scan(job(place, "audited"), commit, asked, AuditReads())

    names = ["id", "at", "kind", "amount"]
    rows = pd.DataFrame([line.split(",") for line in ROWS.splitlines()], columns=names).replace("", None)
    rows["ds"] = rows["at"].str[:10]
    rows["amount"] = rows["amount"].astype(float)
    expected = {}
    for ds, day in rows.groupby("ds"):
        kind, amount = day["kind"], day["amount"]
        expected[utc(str(ds))] = {
            "rows": len(day),
            "not_null": int(kind.isna().sum()),
            "id_and_amount": int((day["id"].isna() | amount.isna()).sum()),
            "range_amount": int(((amount < 0) | (amount > 90.5)).sum()),
            "accepted_values_kind": int((~kind.isin(["a", "it's"]) & kind.notna()).sum()),
            "one_kind_a_day": int(day.duplicated(["ds", "kind"]).sum()),
            "unique_grain": int(day.duplicated(["ds", "id"]).sum()),
        }
    assert {at: {"rows": c.rows, **c.failures} for at, c in found.items() if c.rows} == expected
    assert found[utc("2024-01-03")].rows == 0 and not any(found[utc("2024-01-03")].failures.values())
    assert sum(n for day in expected.values() for k, n in day.items() if k != "rows") == 15  # none of it is vacuous


def test_a_scan_looks_at_its_days_and_its_commit_only(built: tuple[Context, int]) -> None:
    """Audits judge exactly the rows just built: no other day, and no later commit."""
    place, commit = built
    todo, work = job(place, "audited"), engine(place)
    (place.project.root / "data" / "events" / "more.csv").write_text("id,at,kind,amount\n9,2024-01-02T01:00:00Z,a,1\n")
    later = work.write(job(place, "audited"), "c", days("2024-01-02")).table_commit

    only = Ranges((days("2024-01-02"),))
    assert {at: c.rows for at, c in work.scan(todo, commit, only, AuditReads()).items()} == {utc("2024-01-02"): 3}
    assert {at: c.rows for at, c in work.scan(todo, later, only, AuditReads()).items()} == {utc("2024-01-02"): 4}


@pytest.mark.parametrize(
    ("audit", "day", "sample"),
    [
        ("range_amount", "2024-01-01", {"ds=2024-01-01, id=2, amount=-0.01", "ds=2024-01-01, id=3, amount=90.51"}),
        ("unique_grain", "2024-01-01", {"ds=2024-01-01, id=3"}),
        ("unique_grain", "2024-01-02", {"ds=2024-01-02, id=NULL"}),
        ("one_kind_a_day", "2024-01-02", {"ds=2024-01-02, kind=b"}),
        ("accepted_values_kind", "2024-01-01", {"ds=2024-01-01, id=3, kind=zebra"}),
        ("completeness", "2024-01-03", set()),
        ("range_amount", "2024-01-04", set()),
    ],
)
def test_a_sample_names_the_keys_of_failing_rows(
    built: tuple[Context, int], audit: str, day: str, sample: set[str]
) -> None:
    """For a failed audit one sees keys that fail it in that interval, and nothing else."""
    place, commit = built
    found = engine(place).sample(job(place, "audited"), commit, Ranges((days(day),)), AuditReads(), audit)
    assert set(found.get(utc(day), ())) == sample
