"""Are sources of every kind read, and read as they were when the plan froze them?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from backfill_assets.adapters.job_rows import JobRows
from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.candidate import open_plan
from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.build.apply import apply
from backfill_assets.core.errors import BuildError
from backfill_assets_tests.projects import build_all, days, engine, job, path_of, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODEL = """\
/*
start: 2024-01-01
grain: [id]
time_column: ds
batch_size: 3
*/
SELECT ds, id, amount FROM raw.rows WHERE ds >= :start AND ds < :end
"""
ROWS = pa.table(
    {
        "ds": pa.array(["2024-01-01", "2024-01-02", "2024-01-02"]).cast(pa.date32()),
        "id": pa.array([1, 2, 3], pa.int64()),
        "amount": pa.array([Decimal("1.10"), Decimal("-2.25"), None], pa.decimal128(10, 2)),
    }
)
MORE = ROWS.set_column(1, "id", pa.array([11, 12, 13], pa.int64()))
COLUMNS = 'columns: {ds: date, id: bigint, amount: "decimal(10,2)"}'


def as_delta(folder: Path) -> str:
    write_deltalake(str(folder), ROWS)
    return f"format: delta\n    path: {folder}"


def as_parquet(folder: Path) -> str:
    folder.mkdir()
    pq.write_table(ROWS.slice(0, 1), folder / "1.parquet")
    pq.write_table(ROWS.slice(1), folder / "2.parquet")
    return f"format: parquet\n    path: {folder}"


def as_csv(folder: Path) -> str:
    (folder / "deep").mkdir(parents=True)
    (folder / "1.csv").write_text("ds|id|amount\n2024-01-01|1|1.10\n")
    (folder / "deep" / "2.csv").write_text("ds|id|amount\n2024-01-02|2|-2.25\n2024-01-02|3|\n")
    (folder / "_SUCCESS").write_text("")
    return f"format: csv\n    path: {folder}\n    options: {{header: true, sep: '|'}}\n    {COLUMNS}"


def as_json(folder: Path) -> str:
    folder.mkdir()
    lines = [
        json.dumps({k: v if v is None else str(v) if k != "id" else v for k, v in r.items()}) for r in ROWS.to_pylist()
    ]
    (folder / "rows.json").write_text("\n".join(lines).replace('"1.10"', "1.10").replace('"-2.25"', "-2.25"))
    return f"format: json\n    path: {folder}\n    {COLUMNS}"


@pytest.mark.parametrize("make", [as_delta, as_parquet, as_csv, as_json], ids=lambda make: make.__name__)
def test_files_of_every_format_are_read(spark: SparkSession, tmp_path: Path, make) -> None:
    """Delta, Parquet, CSV with options and folders in folders, JSON: the same rows arrive, with their types."""
    place = a_place(tmp_path, make(tmp_path / "rows"))

    assert build_all(place)["copy"].ok

    assert rows_of(place) == ROWS.to_pylist()


@pytest.fixture
def catalog_table(spark: SparkSession) -> Iterator[str]:
    """A managed table in the session catalog with the rows above."""
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    spark.sql(
        "CREATE OR REPLACE TABLE shop.rows USING delta AS SELECT CAST(ds AS DATE) AS ds, CAST(id AS BIGINT) AS id,"
        " CAST(amount AS DECIMAL(10,2)) AS amount FROM VALUES ('2024-01-01', 1, 1.10), ('2024-01-02', 2, -2.25),"
        " ('2024-01-02', 3, NULL) AS t (ds, id, amount)"
    )
    yield "shop.rows"
    spark.sql("DROP DATABASE shop CASCADE")


def test_a_catalog_table_is_read(spark: SparkSession, tmp_path: Path, catalog_table: str) -> None:
    """`table:` names a table of the metastore."""
    place = a_place(tmp_path, f"table: {catalog_table}\n    {COLUMNS}")

    assert build_all(place)["copy"].ok

    assert rows_of(place) == ROWS.to_pylist()
    assert "catalog table shop.rows" in str(plan_request(place).sources["raw.rows"]["unpinned"])


def test_a_delta_source_is_read_at_the_frozen_commit(spark: SparkSession, tmp_path: Path) -> None:
    """What lands in a Delta source after planning is not read by that plan, also not by an apply that goes on with it;
    the ledger says which commit was."""
    place = a_place(tmp_path, as_delta(tmp_path / "rows"))
    assert open_plan(place, plan_request(place))
    write_deltalake(str(tmp_path / "rows"), MORE, mode="append")

    assert build_all(place)["copy"].ok

    assert rows_of(place) == ROWS.to_pylist()
    (built,) = [e for e in place.control.ledger.entries() if e.kind == "built"]
    assert built.inputs == {"raw.rows": {"commit": 0, "table": str(DeltaTable(tmp_path / "rows").metadata().id)}}


def test_files_that_changed_since_the_plan_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Files cannot be read as they were: a source that changed after planning ends the batch, and says what to do."""
    place = a_place(tmp_path, as_csv(tmp_path / "rows"))
    made = plan_request(place)
    (tmp_path / "rows" / "3.csv").write_text("ds|id|amount\n2024-01-02|4|7.00\n")

    outcome = apply(place.bench(made.sources), made)["copy"]

    (failure,) = outcome.failures
    assert "source raw.rows changed while the plan was carried out" in failure.error
    assert "run `backfill plan` and apply" in failure.error
    assert open_table(path_of(place, "copy")) is None, "nothing was written"
    assert build_all(place)["copy"].ok and len(rows_of(place)) == 4  # and that helps


def test_files_that_change_during_a_batch_do_not_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that change while a batch reads them: the batch may have committed, but it is not recorded as built."""
    place = a_place(tmp_path, as_parquet(tmp_path / "rows"))
    todo, work = job(place, "copy"), engine(place)
    work.prepare(todo, days("2024-01-01"))
    rows = JobRows.of

    def change_then_read(*arguments):
        pq.write_table(MORE, tmp_path / "rows" / "3.parquet")
        return rows(*arguments)

    with (
        monkeypatch.context() as patch,
        pytest.raises(BuildError, match=r"raw\.rows changed while the plan was carried out"),
    ):
        patch.setattr(JobRows, "of", change_then_read)
        work.write(todo, "b", days("2024-01-01", "2024-01-02"))

    assert not place.facts().tables.coverage["copy"].built  # the commit without a ledger entry is dirt
    assert build_all(place)["copy"].ok and len(rows_of(place)) == 6


def test_a_declared_key_is_looked_at_first(spark: SparkSession, tmp_path: Path) -> None:
    """A source with two rows of one key (NULL is one, too) is not read: nothing is built."""
    declared = as_delta(tmp_path / "rows") + "\n    key: [ID]"
    place = a_place(tmp_path, declared)
    without_id = ROWS.slice(0, 2).set_column(1, "id", pa.nulls(2, pa.int64()))
    write_deltalake(str(tmp_path / "rows"), pa.concat_tables([ROWS, ROWS.slice(1, 1), without_id]), mode="overwrite")

    outcome = build_all(place)["copy"]

    [failure] = outcome.failures
    assert "source raw.rows has several rows of one key (ID)" in failure.error
    assert "ID=NULL (2 rows); ID=2 (2 rows): nothing" in failure.error
    assert "correct the source, or remove its `key:` (sources.yml:2)" in failure.error
    assert not outcome.green and open_table(path_of(place, "copy")) is None
    write_deltalake(str(tmp_path / "rows"), ROWS, mode="overwrite")
    assert build_all(place)["copy"].ok and rows_of(place) == ROWS.to_pylist()


def test_a_reader_by_places_reads_the_codes_order(spark: SparkSession, tmp_path: Path) -> None:
    """An upstream's columns change places in its code: its table stays, with the old places. Who pairs columns by their
    places has other rows, so it is another version, and it pairs them as the code says. Expected rows: from Python."""
    head, within = "/*\nstart: 2024-01-01\ngrain: [ds, p, q]\n*/\n", "WHERE ds >= :start AND ds < :end"
    pair = f"{head}SELECT ds, id AS p, id * 10 AS q FROM raw.rows {within}"
    other = f"{head.replace('p, q', 'r')}SELECT ds, id + 100 AS r, id + 200 AS s FROM raw.rows {within}"
    reader = f"{head}SELECT * FROM pair {within} UNION ALL SELECT * FROM other {within}"
    sources = f"sources:\n  - name: raw.rows\n    {as_delta(tmp_path / 'rows')}\n"
    models = {"pair.sql": pair, "other.sql": other, "reader.sql": reader}
    root = write_project(tmp_path / "project", models, sources=sources, clock="2024-01-03")

    def reads(place: Context) -> list[tuple[int, int]]:
        found = open_table(path_of(place, "reader"))
        assert found is not None
        return sorted((row["p"], row["q"]) for row in found.to_pyarrow_table().to_pylist())

    before = Context.open(root)
    assert all(o.ok for o in build_all(before).values())
    assert reads(before) == sorted([(i, i * 10) for i in (1, 2, 3)] + [(i + 100, i + 200) for i in (1, 2, 3)])
    (root / "models" / "pair.sql").write_text(pair.replace("id AS p, id * 10 AS q", "id * 10 AS q, id AS p"))
    after = Context.open(root)
    outcomes = build_all(after)

    then, now = before.project.fingerprints, after.project.fingerprints
    assert {name for name in now if now[name] != then[name]} == {"reader"}
    assert [name for name, outcome in outcomes.items() if outcome.built] == ["reader"]
    assert reads(after) == sorted([(i, i * 10) for i in (1, 2, 3)] + [(i + 200, i + 100) for i in (1, 2, 3)])


def a_place(root: Path, source: str) -> Context:
    sources = f"sources:\n  - name: raw.rows\n    {source}\n"
    project = write_project(root / "project", {"copy.sql": MODEL}, sources=sources, clock="2024-01-03")
    return Context.open(project)


def rows_of(place: Context) -> list[dict[str, object]]:
    table = open_table(path_of(place, "copy"))
    assert table is not None
    return sorted(table.to_pyarrow_table(columns=["ds", "id", "amount"]).to_pylist(), key=lambda row: row["id"])
