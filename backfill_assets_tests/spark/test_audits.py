"""Does the audit scan count what is wrong, and does it show which rows?"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from backfill_assets.adapters.audit_views import AuditViews
from backfill_assets.app.context import Context
from backfill_assets.audits.scan import scan_audits
from backfill_assets.build.engine import AuditReads
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets_tests.projects import EVENTS, build_all, days, engine, job, write_project

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


IDS = """\
/*
start: 2024-01-01
grain: [id]
batch_size: 2
audits: [{unique_grain: {scope: table}}]
*/
SELECT CAST(at AS DATE) AS ds, id, kind FROM raw.events WHERE at >= :start AND at < :end
"""


def test_a_key_twice_in_the_table_is_red_and_few_files_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Days of one batch and of another: each that has a key of another day. Where keys grow, old files are left out."""
    folder = tmp_path / "data" / "events"
    folder.mkdir(parents=True)
    at = [(n, f"2024-01-{1 + n // 10:02}T01:00:00Z") for n in range(80)]
    rows = "\n".join(f"{n},{when},a,1" for n, when in (*at, (15, "2024-01-08T02:00:00Z")))
    (folder / "all.csv").write_text(f"id,at,kind,amount\n{rows}\n")
    place = Context.open(write_project(tmp_path, {"ids.sql": IDS}, clock="2024-01-09"))
    outcome = build_all(place)["ids"]
    failed = {str(r.interval): (r.failures, r.observed, r.sample) for r in outcome.results if not r.passed}
    # Batches are judged as they come: the second day before the eighth is there, or together with it.
    assert failed.pop("2024-01-08") == (1, "1 failing of 11 rows", ("id=15, also in 2024-01-02 00:00",))
    assert set(failed) <= {"2024-01-02"}

    todo, commit = job(place, "ids"), place.log.head("ids", place.project.fingerprints["ids"])
    look = AuditViews(spark, place.warehouse, todo, commit, Ranges((days("2024-01-07"),)), AuditReads())
    frames: list[str] = []
    asked = look.ask
    look.ask = lambda query: (frames.append(query), asked(query))[1]  # type: ignore[method-assign]
    scan_audits(todo.model, Ranges((days("2024-01-07"),)), look)
    whole = frames[-1].split(" FROM (SELECT CAST(`ds` AS DATE) AS bf_other")[1].split(") AS t LEFT SEMI")[0]
    whole = f"SELECT CAST(`ds` AS DATE) AS bf_other{whole}"
    days_read = {file.split("/")[-2] for file in spark.sql(whole).inputFiles()}
    look.drop()
    assert days_read == {"ds=2024-01-07", "ds=2024-01-08"}  # 8 has 15 and 70 to 79: 60 to 69 may be there


BILLED = """\
/*
start: 2024-01-30
grain: [ds, id]
batch_size: 20
audits: [{reconcile: {metric: sum(amount), of: raw.bills, of_metric: sum(total), period: monthly, within: 0.5}}]
*/
SELECT CAST(at AS DATE) AS ds, id, CAST(1 AS DECIMAL(9, 2)) AS amount
FROM raw.events WHERE at >= :start AND at < :end
"""
BILLS = """\
  - name: raw.bills
    format: csv
    path: data/bills
    options: {header: true}
    columns: {month: date, total: "decimal(9,2)"}
    time_column: month
"""


def test_a_month_that_does_not_add_up_is_red(spark: SparkSession, tmp_path: Path) -> None:
    """Of batches of twenty days, that which completes a month is judged by all of it; an unfinished month is not."""
    for folder in ("events", "bills"):
        (tmp_path / "data" / folder).mkdir(parents=True)
    at = [utc("2024-01-30") + timedelta(days=n) for n in range(66)]
    rows = "\n".join(f"{n},{when:%Y-%m-%d}T01:00:00Z,a,1" for n, when in enumerate(at))
    (tmp_path / "data" / "events" / "all.csv").write_text(f"id,at,kind,amount\n{rows}\n")
    (tmp_path / "data" / "bills" / "all.csv").write_text("month,total\n2024-02-01,29\n2024-03-01,30\n2024-04-01,99\n")
    models, sources = {"billed.sql": BILLED}, EVENTS + BILLS
    place = Context.open(write_project(tmp_path, models, sources=sources, clock="2024-04-04"))
    outcome = build_all(place)["billed"]
    # Batches are judged as they come, some of them together: earlier days of a month may be judged before it is whole.
    march, last = (Ranges((days(first, "2024-03-31"),)) for first in ("2024-03-01", "2024-03-31"))
    assert not outcome.red - march and not last - outcome.red
    [failed] = {(r.observed, r.sample) for r in outcome.results if not r.passed}
    assert failed == ("1 failing of 1 values", ("month of 2024-03-01: 31.00 here, 30.00 in raw.bills",))
    said = {str(r.interval): r.observed for r in outcome.results if r.check == "reconcile_raw_bills"}
    assert said["2024-02-29"] == "0 failing of 1 values"
    assert said["2024-01-31"] == "not all of the month of 2024-01-01 is built: not compared yet"
    assert said["2024-04-03"] == "not all of the month of 2024-04-01 is built: not compared yet"
