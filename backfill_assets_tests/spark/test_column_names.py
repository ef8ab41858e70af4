"""Are columns of any name built, audited, promoted and read? Blanks, accents, capitals, reserved words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import backfill_assets
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DAY, REGION, AMOUNT, MAIL, ORDER = "Jour ouvré", "Odd Name", "montant_é", "E-Mail", "order"
SOURCES = """\
sources:
  - name: raw.sales
    format: csv
    path: data/sales.csv
    time_column: "Le `Jour`"
    columns: {"Le `Jour`": timestamp, "Odd Name": string, "montant_é": bigint, "E-Mail": string, order: bigint}
    options: {header: true}
    mask: [e-mail]
"""
SALES = """\
/*
owner: ana@example.com
start: 2024-01-01
time_column: "Jour ouvré"
grain: ["JOUR OUVRÉ", order]
slices: ["Odd Name"]
columns: {montant_é: how much, Odd Name: {type: string, description: where}}
audits:
  - not_null: ["Odd Name", montant_é]
  - unique: {columns: [order, "Odd Name"], where: "`montant_é` > 0"}
  - range: {column: montant_é, min: 0}
  - expression: "`Odd Name` <> 'x y' OR `order` > 0"
  - accepted_values: {column: "Odd Name", values: [n d, s]}
  - aggregate: {metric: "sum(`montant_é`)", min: 1}
  - known_records: [{Jour ouvré: 2024-01-01, order: 1, montant_é: 10}]
  - sql: {file: odd, severity: warn}
*/
SELECT CAST(`Le ``Jour``` AS DATE) AS `Jour ouvré`, `order`, `Odd Name`, `montant_é`, `E-Mail`
FROM raw.sales WHERE `Le ``Jour``` >= :start AND `Le ``Jour``` < :end
"""
LATEST = """\
/*
owner: ana@example.com
start: 2024-01-01
time_column: "Jour ouvré"
grain: ["Odd Name"]
write: merge
dedupe: {order_by: [order desc, "montant_é asc"]}
updated_at: "mis à jour"
audits:
  - {unique: {columns: ["Jour ouvré", "Odd Name"]}}
  - relationships: {columns: ["Jour ouvré", order], to: sales}
  - reconcile: {metric: count(*), of: sales, of_metric: "count(DISTINCT `Odd Name`)", by: {Jour ouvré: Jour ouvré}}
*/
SELECT `Jour ouvré`, concat(`Odd Name`, date_format(`Jour ouvré`, 'dd')) AS `Odd Name`, `order`, `montant_é`
FROM sales WHERE `Jour ouvré` >= :start AND `Jour ouvré` < :end
"""
ODD = "SELECT `Jour ouvré`, `E-Mail`, `montant_é` FROM sales WHERE `montant_é` > 25"
CONSUMERS = """\
last_verified: 2024-01-02
consumers:
  - name: board
    owner: bo@example.com
    reads: {sales: ["Odd Name", "montant_é"]}
    queries:
      - name: sums
        sql: SELECT `Odd Name`, sum(`montant_é`) AS `la somme` FROM {env}.sales GROUP BY 1
        bounds: {la somme: {min: 1}}
"""
PEOPLE = {"ana@example.com": {"accounts": ["ana"]}, "dev@example.com": {"accounts": ["dev"]}}


def sales() -> pd.DataFrame:
    rows = [
        ("2024-01-01", "n d", 10, "ann@x", 1),
        ("2024-01-01", "s", 20, "bob@x", 2),
        ("2024-01-01", "n d", 30, "cid@x", 3),
        ("2024-01-02", "s", 5, "dan@x", 1),
        ("2024-01-02", "s", 7, "eve@x", 2),
    ]
    return pd.DataFrame(rows, columns=[DAY, REGION, AMOUNT, MAIL, ORDER])


def shown(root: Path, model: str, columns: list[str]) -> list[tuple[Any, ...]]:
    """What the environment shows, read without Spark."""
    rows = backfill_assets.read(model, project=root).to_pylist()
    return sorted(tuple(str(row[c]) if c == DAY else row[c] for c in columns) for row in rows)


def rows_of(frame: pd.DataFrame, columns: list[str]) -> list[tuple[Any, ...]]:
    return sorted(frame[columns].itertuples(index=False, name=None))


def test_every_name_that_a_column_may_have(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Two models, one of them merged, with audits, a mask, slices and a consumer: what is read is what pandas says."""
    (tmp_path / "data").mkdir()
    frame = sales()
    frame.rename(columns={DAY: "Le `Jour`"}).assign(**{"Le `Jour`": frame[DAY] + "T10:00:00Z"})[
        ["Le `Jour`", REGION, AMOUNT, MAIL, ORDER]
    ].to_csv(tmp_path / "data" / "sales.csv", index=False)
    root = write_project(
        tmp_path, {"sales.sql": SALES, "latest.sql": LATEST}, sources=SOURCES, clock="2024-01-03",
        environment=environment,
    )  # fmt: skip
    settings = json.loads((root / "backfill.yml").read_text())
    (root / "backfill.yml").write_text(json.dumps(settings | {"people": PEOPLE}))
    (root / "audits").mkdir()
    (root / "audits" / "odd.sql").write_text(ODD)
    (root / "consumers.yml").write_text(CONSUMERS.replace("{env}", environment))
    done = backfill("apply", "--promote", project=root, user="dev")
    assert done.code == 0, done.err + done.out

    columns = [DAY, ORDER, REGION, AMOUNT, MAIL]
    assert shown(root, "sales", columns) == rows_of(frame, columns)
    latest = frame.sort_values(ORDER).groupby([DAY, REGION], as_index=False).last()
    latest[REGION] += latest[DAY].str[-2:]
    assert shown(root, "latest", [DAY, REGION, ORDER, AMOUNT]) == rows_of(latest, [DAY, REGION, ORDER, AMOUNT])
