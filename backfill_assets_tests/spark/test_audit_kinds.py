"""Does every kind of audit find, on Spark, what pandas finds in the same random rows?"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backfill_assets.app.context import Context
from backfill_assets.core.intervals import utc
from backfill_assets_tests.projects import build_all, days, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DAYS = 9
SOURCES = """\
sources:
  - {name: raw.rows, format: parquet, path: data/rows, time_column: at}
  - {name: raw.kinds, format: parquet, path: data/kinds}
"""
LABELS = """\
/*
start: 2024-01-01
grain: [ds, label]
*/
SELECT CAST(at AS DATE) AS ds, `Odd Name` AS label, count(*) AS n
FROM raw.rows WHERE at >= :start AND at < :end AND n IS NOT NULL GROUP BY 1, 2
"""
AUDITED = """\
/*
start: 2024-01-01
grain: [ds, id]
audits:
  - not_null: {columns: [KIND, "Odd Name"], tolerate: 5}
  - null_rate: {column: amount, min_percent: 2, max_percent: 20}
  - unique: {columns: ["Odd Name", n]}
  - unique: {columns: tags, name: unique_tags, where: n > 2}
  - range: {column: Amount, min: -50, max: 80.5, tolerate: "10%"}
  - range: {column: ratio, max: 0.9, where: "kind = 'a' -- only"}
  - accepted_values: {column: kind, values: [a, b, "it's"]}
  - accepted_values: {column: flag, values: [true]}
  - expression: n < 7 OR flag
  - expression: {expression: addr.city <> 'x', name: city}
  - relationships: {columns: kind, to: raw.kinds, fields: Name}
  - relationships: {columns: [ds, "Odd Name"], to: labels, fields: [ds, label], name: labelled, where: id > 0}
  - entities: {column: kind, values: [a, b, zz], tolerate: 1}
  - entities: {column: kind, of: raw.kinds, field: name, name: all_kinds}
  - aggregate: {metric: sum(amount), min: 0, max: 150}
  - aggregate: {metric: avg(ratio), max: 0.5, name: mean}
  - reconcile: {metric: count(*), of: raw.rows, name: same_rows}
  - reconcile: {metric: sum(n), of: raw.rows, of_metric: "sum(n + if(n > 8, 1, 0))", by: {kind: kind}, within: 1.5}
  - reconcile: {metric: count(n), of: labels, of_metric: sum(n), by: {Odd Name: label}, tolerate: 1}
  - trend: {metric: sum(n), max_change_percent: 25, neighbours: 2, explained: {2024-01-03: a sale}}
  - known_records:
      - {ds: 2024-01-02, id: 20001, n: 3, ratio: 0.5, kind: null}
      - {ds: 2024-01-02, id: 77, n: 3}
      - {ds: 2024-01-04, id: 40002, amount: 1.25}
  - sql: duplicates
  - sql: undated
  - completeness: {min_rows: 25}
*/
SELECT CAST(at AS DATE) AS ds, id, n, kind, amount, ratio, flag, tags, addr, `Odd Name`
FROM raw.rows WHERE at >= :start AND at < :end
"""
DUPLICATES = """\
-- Rows of a day that share a label, and both sides of the join: columns come twice.
SELECT * FROM audited AS one JOIN audited AS other USING (ds)
WHERE one.`Odd Name` = other.`Odd Name` AND one.id < other.id AND ds >= :start AND ds < :end;
"""
UNDATED = "SELECT id, count(*) FROM Audited GROUP BY id HAVING max(n) > 1000 -- none of them"


def a_row(day: int, number: int, rng: random.Random) -> dict[str, Any]:
    """A row of a day; any column but its time may be NULL."""

    def maybe(value: Any, share: float = 0.1) -> Any:
        return None if rng.random() < share else value

    n = rng.randint(0, 9)
    label = rng.choice(["l1", "l 2", "l`3", "l'4"])
    kinds = ["a", "b", "it's", "zebra", "A"] if day != 5 else ["a", "b"]
    return {
        "at": datetime(2024, 1, 1, rng.randint(0, 23), 59, tzinfo=UTC) + timedelta(days=day),
        "id": maybe(10000 * (day + 1) + rng.randint(0, 25) + 100 * number, 0.05),
        "n": None if (day, label) == (4, "l1") else maybe(n),
        "kind": maybe(rng.choice(kinds)),
        "amount": maybe(Decimal(rng.randint(-6000, 9000)) / 100),
        "ratio": maybe(rng.random()),
        "flag": maybe(rng.random() < 0.8),
        "tags": maybe([rng.choice("pq"), str(n)]),
        "addr": maybe({"city": maybe(rng.choice("xyz"), 0.2)}),
        "Odd Name": maybe(label),
    }


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = random.Random(7)
    found = [a_row(day, number, rng) for day in range(DAYS) if day != 6 for number in range(rng.randint(20, 45))]
    found.append(a_row(1, 0, rng) | {"id": 20001, "n": 3, "ratio": 0.5000000000001, "kind": None})
    found.append(a_row(3, 0, rng) | {"id": 40002, "amount": Decimal("1.26")})
    return pd.DataFrame(found).astype({"id": "Int64", "n": "Int64", "flag": "boolean"})


@pytest.fixture(scope="module")
def place(spark: SparkSession, rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Context:
    """The rows above, built and audited in one go."""
    root = tmp_path_factory.mktemp("kinds")
    schema = pa.schema(
        {
            "at": pa.timestamp("us", tz="UTC"), "id": pa.int64(), "n": pa.int64(), "kind": pa.string(),
            "amount": pa.decimal128(10, 2), "ratio": pa.float64(), "flag": pa.bool_(), "tags": pa.list_(pa.string()),
            "addr": pa.struct({"city": pa.string()}), "Odd Name": pa.string(),
        }
    )  # fmt: skip
    for name, table in (
        ("rows", pa.Table.from_pylist(_plain(rows), schema=schema)),
        ("kinds", pa.table({"NAME": ["a", "it's", None, "A", "a"]})),
    ):
        (root / "data" / name).mkdir(parents=True)
        pq.write_table(table, root / "data" / name / "all.parquet")
    models = {"audited.sql": AUDITED, "labels.sql": LABELS}
    write_project(root, models, sources=SOURCES, clock=f"2024-01-{DAYS + 1:02}")
    (root / "audits").mkdir()
    (root / "audits" / "duplicates.sql").write_text(DUPLICATES)
    (root / "audits" / "undated.sql").write_text(UNDATED)
    found = Context.open(root)
    outcomes = build_all(found)
    assert not outcomes["audited"].failures, outcomes["audited"].failures
    assert outcomes["labels"].ok
    return found


def _plain(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{k: None if _null(v) else v for k, v in row.items()} for row in rows.to_dict("records")]


def _null(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def failing(day: pd.DataFrame, whole: pd.DataFrame, ds: str) -> dict[str, int]:
    """What each audit should count in one day, from the rows alone."""
    records = _plain(day)
    kinds = {r["kind"] for r in records} - {None}
    labels = {r["Odd Name"] for r in _plain(whole) if r["n"] is not None and f"{r['at']:%Y-%m-%d}" == ds}
    keys = [(r["id"],) for r in records]
    named = [(r["Odd Name"], r["n"]) for r in records]
    tags = [None if r["tags"] is None else tuple(r["tags"]) for r in records if r["n"] is not None and r["n"] > 2]
    by_kind = {
        k: [r["n"] for r in records if r["kind"] == k and r["n"] is not None] for k in {r["kind"] for r in records}
    }
    ids = [(r["id"], r["Odd Name"]) for r in records]
    return {
        "not_null": sum(r["kind"] is None or r["Odd Name"] is None for r in records),
        "unique_grain": len(keys) - len(set(keys)),
        "unique_Odd_Name_n": len(named) - len(set(named)),
        "unique_tags": len(tags) - len(set(tags)),
        "range_Amount": sum(r["amount"] is not None and not -50 <= r["amount"] <= Decimal("80.5") for r in records),
        "range_ratio": sum(r["ratio"] is not None and r["ratio"] > 0.9 and r["kind"] == "a" for r in records),
        "accepted_values_kind": sum(r["kind"] in ("zebra", "A") for r in records),
        "accepted_values_flag": sum(r["flag"] is False for r in records),
        "expression": sum(not (r["flag"] is True or (r["n"] is not None and r["n"] < 7)) for r in records),
        "city": sum((r["addr"] or {}).get("city") in (None, "x") for r in records),
        "relationships_raw_kinds": sum(r["kind"] in ("b", "zebra") for r in records),
        "labelled": sum(
            r["Odd Name"] is not None and r["id"] is not None and r["Odd Name"] not in labels for r in records
        ),
        "entities_kind": len({"a", "b", "zz"} - kinds),
        "all_kinds": len({"a", "it's", "A"} - kinds),
        "same_rows": 0,
        "reconcile_raw_rows": sum(sum(v > 8 for v in values) > 1.5 for values in by_kind.values()),
        "reconcile_labels": _labels_apart(records),
        "duplicates": sum(
            name is not None and name == twin and one is not None and other is not None and one < other
            for one, name in ids for other, twin in ids
        ),
        "undated": 0,
    }  # fmt: skip


def _labels_apart(records: list[dict[str, Any]]) -> int:
    """Labels of which count(n) here is not the model's n: those without any n are not in the model at all."""
    labels = {r["Odd Name"] for r in records}
    return sum(all(r["n"] is None for r in records if r["Odd Name"] == label) for label in labels)


def results(place: Context, check: str) -> dict[str, Any]:
    """Day → the result of an audit."""
    found = place.control.results.read(models=["audited"])
    return {f"{r.interval.start:%Y-%m-%d}": r for r in found if r.check == check}


def test_counts_are_those_of_pandas(place: Context, rows: pd.DataFrame) -> None:
    """Every audit that counts finds in every day what plain Python counts; almost all of them find something."""
    dates = [f"{utc('2024-01-01') + timedelta(days=n):%Y-%m-%d}" for n in range(DAYS)]
    by_day = rows.groupby(rows["at"].dt.strftime("%Y-%m-%d"))
    expected = {ds: failing(day, rows, ds) for ds, day in by_day}
    for check in expected["2024-01-01"]:
        found = {ds: r.failures for ds, r in results(place, check).items()}
        empty = {"entities_kind": 3, "all_kinds": 3}.get(check, 0)
        assert found == {ds: expected[ds][check] if ds in expected else empty for ds in dates}, check
    vacuous = {c for c in expected["2024-01-01"] if not any(day[c] for day in expected.values())}
    assert vacuous == {"same_rows", "undated"}


def test_thresholds_decide(place: Context, rows: pd.DataFrame) -> None:
    """As many rows, or as large a share, as is tolerated pass; the result says both numbers."""
    for ds, day in rows.groupby(rows["at"].dt.strftime("%Y-%m-%d")):
        few, share = results(place, "not_null")[str(ds)], results(place, "range_Amount")[str(ds)]
        assert few.passed == (few.failures <= 5) and "5 tolerated" in few.observed
        assert share.passed == (share.failures <= len(day) // 10) and f"{len(day) // 10} tolerated" in share.observed
    both = [r.passed for check in ("not_null", "range_Amount") for r in results(place, check).values()]
    assert True in both and False in both


def test_metrics_are_those_of_pandas(place: Context, rows: pd.DataFrame) -> None:
    """Null rates, aggregates and trends: a day passes exactly when pandas' number is within the bounds."""
    by_day = {str(ds): day for ds, day in rows.groupby(rows["at"].dt.strftime("%Y-%m-%d"))}
    sums = {f"2024-01-{n + 1:02}": 0.0 for n in range(DAYS)} | {ds: float(d["n"].sum()) for ds, d in by_day.items()}
    for ds, day in by_day.items():
        amounts = [v for v in day["amount"] if not _null(v)]
        rate = 100 * (1 - len(amounts) / len(day))
        assert results(place, "null_rate_amount")[ds].passed == (2 <= rate <= 20)
        assert results(place, "aggregate")[ds].passed == (0 <= sum(amounts) <= 150)
        assert results(place, "mean")[ds].passed == (day["ratio"].mean() <= 0.5)
        assert results(place, "completeness")[ds].passed == (len(day) >= 25)
    dates = sorted(sums)
    verdicts = {}
    for at, ds in enumerate(dates):
        near = [sums[d] for d in dates[max(at - 2, 0) : at] + dates[at + 1 : at + 3]]
        usual = float(pd.Series(near).median())
        verdicts[ds] = len(near) < 3 or abs(sums[ds] - usual) <= 0.25 * usual
    assert not verdicts["2024-01-03"] or not verdicts["2024-01-07"]
    trend = results(place, "trend")
    assert {ds: r.passed for ds, r in trend.items()} == verdicts | {"2024-01-03": True}
    assert verdicts["2024-01-03"] or "explained: a sale" in trend["2024-01-03"].observed
    assert len({r.passed for r in trend.values()}) == 2


def test_samples_show_what_fails(place: Context, rows: pd.DataFrame) -> None:
    """Keys of failing rows, missing entities, both sides of a difference, a record as it is, a row of the query."""
    day = _plain(rows[rows["at"].dt.strftime("%Y-%m-%d") == "2024-01-02"])
    orphans = {f"ds=2024-01-02, id={r['id'] or 'NULL'}, kind={r['kind']}" for r in day if r["kind"] in ("b", "zebra")}
    sample = results(place, "relationships_raw_kinds")["2024-01-02"].sample
    assert sample and set(sample) <= orphans
    assert "kind=zz" in results(place, "entities_kind")["2024-01-02"].sample
    assert results(place, "all_kinds")["2024-01-07"].sample == ("kind=A", "kind=a", "kind=it's")
    known = results(place, "known_records")
    assert (known["2024-01-02"].failures, known["2024-01-04"].failures) == (1, 1)
    assert known["2024-01-02"].sample == ("no row ds=2024-01-02, id=77",)
    assert known["2024-01-04"].sample == ("ds=2024-01-04, id=40002, amount=1.26",)
    assert known["2024-01-01"].observed == "0 failing of 0 known records"
    apart = [line for r in results(place, "reconcile_raw_rows").values() for line in r.sample]
    assert apart and all(line.startswith("kind=") and " here, " in line and " in raw.rows" in line for line in apart)
    pairs = [line for r in results(place, "duplicates").values() for line in r.sample]
    assert pairs and all('"ds":"2024-01-' in line for line in pairs)


def test_rows_without_a_day_fail_the_whole_range(spark: SparkSession, tmp_path: Path) -> None:
    """A query that gives no time column: what it gives is a failure of each interval that it was asked for together."""
    root = tmp_path
    (root / "data" / "rows").mkdir(parents=True)
    pq.write_table(
        pa.table({"at": [datetime(2024, 1, d, tzinfo=UTC) for d in (1, 2, 3)], "n": [1, 99, 1]}),
        root / "data" / "rows" / "all.parquet",
    )
    model = """\
    /*
    start: 2024-01-01
    grain: [ds]
    audits: [{sql: {file: undated, severity: warn}}, {sql: {file: dated, severity: warn}}]
    */
    SELECT CAST(at AS DATE) AS ds, n FROM raw.rows WHERE at >= :start AND at < :end
    """
    sources = "sources: [{name: raw.rows, format: parquet, path: data/rows}]"
    write_project(root, {"m.sql": model}, sources=sources, clock="2024-01-04")
    (root / "audits").mkdir()
    (root / "audits" / "undated.sql").write_text("SELECT n FROM m WHERE n > 50")
    (root / "audits" / "dated.sql").write_text("WITH b AS (SELECT * FROM m WHERE n > 50) SELECT n, DS FROM b")
    place = Context.open(root)
    outcome = build_all(place)["m"]
    assert outcome.ok, outcome.failures
    found = {(r.check, str(r.interval)): r.failures for r in outcome.results if r.check != "unique_grain"}
    assert found == {("undated", f"2024-01-0{d}"): 1 for d in (1, 2, 3)} | {
        ("dated", f"2024-01-0{d}"): int(d == 2) for d in (1, 2, 3)
    }
    assert [r.sample for r in outcome.results if r.check == "dated" and not r.passed] == [
        ('{"n":99,"DS":"2024-01-02"}',)
    ]
    assert days("2024-01-01") in outcome.green
