"""What does a large project look like? Hundreds of SQL models in five layers, with some Python models among them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

LAYERS = ("stg", "int", "fct", "rol", "rep")
SOURCES = 10
START, CLOCK = "2022-01-01", "2025-01-05T06:00:00+00:00"
"""1,100 days are over."""

_TYPES = {
    "event_id": ("bigint", pa.int64()),
    "event_time": ("timestamp", pa.timestamp("us", tz="UTC")),
    "entity_id": ("bigint", pa.int64()),
    "kind": ("string", pa.string()),
    "region": ("string", pa.string()),
    "quantity": ("bigint", pa.int64()),
    "price": ("decimal(18,4)", pa.decimal128(18, 4)),
    "cost": ("decimal(18,4)", pa.decimal128(18, 4)),
    "score": ("double", pa.float64()),
    "landed_on": ("date", pa.date32()),
}

_HEADER = """/*
description: {name}, made for a benchmark.
owner: team-{team}@example.com
start: {start}
grain: [ds, entity_id, region]
batch_size: 90
batch_concurrency: 2
{more}audits:
  - not_null: [ds, entity_id, region, quantity]
  - unique_grain
  - range: {{column: quantity, min: 0}}
  - completeness
*/
"""

_STAGING = """WITH events AS (
  SELECT DISTINCT event_id, CAST(event_time AS DATE) AS ds, entity_id, upper(kind) AS kind, region, quantity, price,
    cost, score
  FROM raw.events_{source}
  WHERE event_time >= :start AND event_time < :end AND landed_on >= :start AND landed_on < date_add(:end, 3)
)
SELECT ds, entity_id, region, max(kind) AS kind, count(*) AS events, sum(quantity) AS quantity,
  CAST(sum(quantity * price) AS DECIMAL(18, 4)) AS revenue, CAST(sum(cost) AS DECIMAL(18, 4)) AS cost,
  avg(score) AS score, count_if(kind = 'K{number}') AS matching
FROM events
GROUP BY ds, entity_id, region
"""

_JOIN = """SELECT a.ds, a.entity_id, a.region, coalesce(a.kind, b.kind) AS kind,
  a.events + coalesce(b.events, 0) AS events,
  a.quantity + coalesce(b.quantity, 0) AS quantity, a.revenue, b.cost,
  CASE WHEN a.score > {number} THEN a.score ELSE b.score END AS score, a.matching
FROM {up[0]} AS a
LEFT JOIN {up[1]} AS b ON a.ds = b.ds AND a.entity_id = b.entity_id AND a.region = b.region
WHERE a.ds >= :start AND a.ds < :end
"""

_FACT = """WITH costs AS (
  SELECT ds, entity_id, region, sum(cost) AS cost, max(score) AS score
  FROM {up[1]}
  WHERE ds >= :start AND ds < :end
  GROUP BY ds, entity_id, region
),
sales AS (
  SELECT ds, entity_id, region, kind, events, quantity, revenue, matching
  FROM {up[0]}
  WHERE ds >= :start AND ds < :end AND matching >= {number} % 3
)
SELECT sales.ds, sales.entity_id, sales.region, kind, events, quantity, revenue,
  CAST(coalesce(costs.cost, 0) AS DECIMAL(18, 4)) AS cost, costs.score, matching
FROM sales
LEFT JOIN costs ON costs.ds = sales.ds AND costs.entity_id = sales.entity_id AND costs.region = sales.region
"""

_ROLLING = """WITH week AS (
  SELECT *, sum(revenue) OVER (
      PARTITION BY entity_id, region ORDER BY datediff(ds, DATE '2022-01-01') RANGE BETWEEN 6 PRECEDING AND CURRENT ROW
    ) AS revenue_7d
  FROM {up[0]}
  WHERE ds >= date_add(:start, -6) AND ds < :end
)
SELECT ds, entity_id, region, kind, events, quantity, CAST(revenue_7d AS DECIMAL(18, 4)) AS revenue, cost,
  revenue_7d / nullif(cost, 0) AS score, matching
FROM week
WHERE ds >= :start
"""

_REPORT = """SELECT r.ds, r.entity_id, r.region, r.kind, r.events, r.quantity, r.revenue, f.cost, r.score,
  row_number() OVER (PARTITION BY r.ds, r.region ORDER BY r.revenue DESC, r.entity_id) AS matching
FROM {up[0]} AS r
JOIN {up[1]} AS f ON f.ds = r.ds AND f.entity_id = r.entity_id AND f.region = r.region
WHERE r.ds >= :start AND r.ds < :end AND f.ds >= :start AND f.ds < :end
"""

_PYTHON = '''"""{name}, made for a benchmark."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from backfill_assets import model


@model(
    owner="team-python@example.com",
    start="{start}",
    grain=["ds", "entity_id", "region"],
    lookback=6,
    batch_size=90,
    audits=[{{"not_null": ["ds", "entity_id"]}}, "unique_grain", "completeness"],
)
def {name}({up[0]}: DataFrame, {up[1]}: DataFrame, interval) -> DataFrame:
    other = {up[1]}.select("ds", "entity_id", "region", F.col("cost").alias("other_cost"))
    joined = {up[0]}.join(other, on=["ds", "entity_id", "region"], how="left")
    return joined.where(F.col("ds") >= F.lit(interval.start.date())).select(
        "ds", "entity_id", "region", "kind", "events", "quantity", "revenue",
        F.coalesce("other_cost", "cost").alias("cost"),
        F.when(F.col("score") > {number}, F.col("score")).otherwise(F.lit(0.0)).alias("score"),
        "matching",
    )
'''

_TEXTS = {"stg": _STAGING, "int": _JOIN, "fct": _FACT, "rol": _ROLLING, "rep": _REPORT}


def make_big_project(folder: Path, *, sql: int, python: int) -> Path:
    """Write the project's folder (anew): its settings, ten Delta sources, and the models."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "models").mkdir(parents=True)
    (folder / "backfill.yml").write_text(f"name: large\nclock: {CLOCK}\n")
    _write_sources(folder)
    width = sql // len(LAYERS)
    below: list[str] = []
    for layer in LAYERS:
        (folder / "models" / layer).mkdir()
        here = [f"{layer}_{n:03}" for n in range(width + (sql % len(LAYERS) if layer == "rep" else 0))]
        for number, name in enumerate(here):
            more = "lookback: 6\n" if layer == "rol" else ""
            header = _HEADER.format(name=name, team=number % 7, start=START, more=more)
            query = _TEXTS[layer].format(source=number % SOURCES, number=number % 10, up=_two(below, number))
            (folder / "models" / layer / f"{name}.sql").write_text(header + query)
        below = here
    facts = [f"fct_{n:03}" for n in range(width)]
    (folder / "models" / "py").mkdir()
    for number in range(python):
        name = f"py_{number:03}"
        text = _PYTHON.format(name=name, start=START, number=number, up=_two(facts, number))
        (folder / "models" / "py" / f"{name}.py").write_text(text)
    return folder


def _two(below: list[str], number: int) -> tuple[str, str]:
    """Two models of the layer below; none for the first layer."""
    return (below[number % len(below)], below[(number * 7 + 1) % len(below)]) if below else ("", "")


def _write_sources(folder: Path) -> None:
    lines = ["sources:"]
    for number in range(SOURCES):
        table = pa.table({name: pa.array([], kind) for name, (_, kind) in _TYPES.items()})
        write_deltalake(str(folder / "data" / f"events_{number}"), table, partition_by=["landed_on"])
        lines += [f"  - name: raw.events_{number}", f"    path: data/events_{number}", "    columns:"]
        lines += [f'      {name}: "{kind}"' for name, (kind, _) in _TYPES.items()]
    (folder / "sources.yml").write_text("\n".join(lines) + "\n")
