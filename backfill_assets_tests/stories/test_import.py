"""A SQLMesh project is imported, built and shown: its rows are those that DuckDB gives for the original queries."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

import backfill_assets
from backfill_assets.app.import_project import import_project
from backfill_assets_tests.projects import backfill_here
from backfill_assets_tests.unit.importing.foreign import sqlmesh_project
from backfill_assets_tests.unit.importing.test_sqlmesh import world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SETTINGS = "environment: prod\nwarehouse: .backfill/warehouse\nclock: 2024-01-06\napprovals: {self: true}\n"
QUERIES = {
    "by_customer": (
        "day",
        "WITH t AS (SELECT order_id, day, sum(price * quantity) AS total FROM raw.items\n"
        "WHERE day BETWEEN @start_ds AND @end_ds GROUP BY order_id, day)\n"
        "SELECT o.customer_id, o.day, count(*) AS n, sum(o.amount) AS amount, max(t.total) AS total,\n"
        "sum(CASE WHEN o.status LIKE 'pa%' THEN o.amount * 1.5 END) AS paid FROM raw.orders AS o\n"
        "LEFT JOIN t ON t.order_id = o.id AND t.day = o.day WHERE o.day BETWEEN @start_ds AND @end_ds\n"
        "GROUP BY o.customer_id, o.day",
    ),
    "last_seen": (
        "moment",
        "SELECT moment, count(*) AS n, min(status) AS status, max(ratio) * 3 AS ratio FROM raw.orders\n"
        "WHERE moment BETWEEN @start_ts AND @end_ts GROUP BY moment HAVING count(*) > 0",
    ),
    "percentiles": (
        "day",
        "SELECT day, percentile_cont(0.3) WITHIN GROUP (ORDER BY n) AS c,\n"
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY n DESC) AS d,\n"
        "percentile_disc(0.4) WITHIN GROUP (ORDER BY n) AS e,\n"
        "quantile_cont(n, 0.9 ORDER BY n DESC) AS f, quantile(n, 0.3) AS g, median(n) AS h,\n"
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY n) FILTER (WHERE n > 2) AS i\n"
        "FROM (SELECT day, id::DOUBLE AS n FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds) AS o GROUP BY day",
    ),
    "sums": ("day", "SELECT day, sum(amount) AS amount, sum(n) AS n FROM shop.by_customer AS c\n"
                    "WHERE c.day BETWEEN @start_date AND @end_date GROUP BY 1"),
}  # fmt: skip


def test_an_imported_project_shows_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Their rows day by day, in DuckDB; ours from Spark, after import, an edit of sources.yml, and a promotion."""
    root = tmp_path / "ours"
    (root / "data").mkdir(parents=True)
    (root / "backfill.yml").write_text(SETTINGS)
    files = {
        f"models/{name}.sql": f"MODEL (name shop.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column {c}));\n{query}"
        for name, (c, query) in QUERIES.items()
    }
    done = import_project(root, "sqlmesh", sqlmesh_project(tmp_path / "theirs", files))
    assert not done.left
    con = world()
    sources = yaml.safe_load((root / "sources.yml").read_text())
    for entry in sources["sources"]:
        table = entry.pop("table")
        con.execute(f"COPY {table} TO '{root}/data/{table}.parquet'")
        entry |= {"path": f"data/{table}.parquet", "format": "parquet"}
    (root / "sources.yml").write_text(yaml.safe_dump(sources))
    assert backfill_here("apply", "--promote", project=root).code == 0

    con.execute("CREATE SCHEMA shop")
    for name, (column, query) in QUERIES.items():
        parts: list[str] = []
        for day in (date(2024, 1, 1) + timedelta(days=n) for n in range(5)):
            said = query
            for form in ("ds", "date"):
                said = said.replace(f"@start_{form}", f"DATE '{day}'").replace(f"@end_{form}", f"DATE '{day}'")
            said = said.replace("@start_ts", f"TIMESTAMP '{day} 00:00:00'")
            said = said.replace("@end_ts", f"TIMESTAMP '{day} 23:59:59.999999'")
            parts.append(f"({said})")
        con.execute(f"CREATE TABLE shop.{name} AS {' UNION ALL '.join(parts)}")
        theirs = con.sql(f"SELECT * FROM shop.{name}").fetchall()
        shown = backfill_assets.read(name, project=root)
        ours = [tuple(r[c] for c in con.table(f"shop.{name}").columns) for r in shown.to_pylist()]
        assert theirs
        assert normal(ours) == normal(theirs), (name, column)


def normal(rows: list[tuple[object, ...]]) -> list[list[str]]:
    """Rows in an order of their own; moments without a zone, numbers without their type."""
    return sorted([_plain(value) for value in row] for row in rows)


def _plain(value: object) -> str:
    return f"{float(value):.9g}" if isinstance(value, int | float | Decimal) else str(value).removesuffix("+00:00")
