"""How fast can the demo's three tables be made by hand? One Spark job a table, tuned, over all of history at once.

    python bench/handwritten_job.py --data DATA --warehouse WAREHOUSE

What `bench/backfill.py` compares with. It keeps no record, resumes nothing and overwrites what is there; it does run
every audit. Spark's configuration is that of `spark-conf/`; prints its seconds by step as JSON.

What is tuned: an event is known by its id, day and campaign, so nothing wider is grouped; the raw events are shuffled
once, by day and campaign, so that counting each once needs no shuffle of its own (measured: a tenth less CPU; shuffling
by day alone, which would also spare the small shuffle before the write, is slower); the small sides of joins are
broadcast; a day is one file; the first table's audits run beside the other two tables, which run beside each other.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START, END, LAST_MONTH_END = date(2024, 1, 1), date(2025, 6, 24), date(2025, 6, 1)

PERFORMANCE = """
WITH events AS (
  SELECT /*+ REPARTITION({tasks}, ds, campaign_id) */
    event_id, CAST(event_time AS DATE) AS ds, campaign_id, event_type = 'click' AS is_click, spend
  FROM delta.`{data}/ad_events`
  WHERE landed_on >= DATE '{start}' AND landed_on < DATE '{end}' + INTERVAL 3 DAYS
    AND event_time >= TIMESTAMP '{start}' AND event_time < TIMESTAMP '{end}'
),
ads AS (
  SELECT ds, campaign_id, count_if(NOT is_click) AS impressions, count_if(is_click) AS clicks,
    CAST(sum(spend) AS DECIMAL(18, 6)) AS spend
  FROM (
    SELECT event_id, ds, campaign_id, bool_or(is_click) AS is_click, max(spend) AS spend
    FROM events GROUP BY event_id, ds, campaign_id
  )
  GROUP BY ds, campaign_id
),
acquired AS (
  SELECT ds, campaign_id, count(*) AS conversions
  FROM (
    SELECT DISTINCT conversion_id, CAST(click_time AS DATE) AS ds, campaign_id
    FROM delta.`{data}/conversions`
    WHERE landed_on >= DATE '{start}' AND landed_on < DATE '{end}' + INTERVAL 14 DAYS
      AND click_time >= TIMESTAMP '{start}' AND click_time < TIMESTAMP '{end}'
  )
  GROUP BY ds, campaign_id
)
SELECT /*+ REBALANCE(ds), BROADCAST(acquired), BROADCAST(campaigns) */
  ds, campaign_id, campaign_name, channel, impressions, clicks, spend,
  CAST(clicks AS DOUBLE) / nullif(impressions, 0) AS ctr,
  CAST(spend / nullif(clicks, 0) AS DECIMAL(18, 6)) AS cpc,
  coalesce(conversions, 0) AS conversions,
  CAST(spend / nullif(conversions, 0) AS DECIMAL(18, 6)) AS cost_per_acquisition
FROM ads
LEFT JOIN acquired USING (ds, campaign_id)
LEFT JOIN (SELECT campaign_id, campaign_name, channel FROM campaigns) AS campaigns USING (campaign_id)
"""

TRENDS = """
WITH monthly AS (
  SELECT CAST(date_trunc('MONTH', ds) AS DATE) AS month, campaign_id, max(campaign_name) AS campaign_name, channel,
    count(*) AS active_days, sum(impressions) AS impressions, sum(clicks) AS clicks,
    CAST(sum(spend) AS DECIMAL(18, 6)) AS spend,
    CAST(sum(clicks) AS DOUBLE) / nullif(sum(impressions), 0) AS ctr
  FROM delta.`{performance}`
  WHERE ds >= add_months(DATE '{start}', -1) AND ds < DATE '{end}'
  GROUP BY 1, 2, 4
)
SELECT /*+ REPARTITION(1), BROADCAST(before) */
  now.*,
  CAST(now.impressions - before.impressions AS DOUBLE) / nullif(before.impressions, 0) AS impressions_change,
  CAST(now.clicks - before.clicks AS DOUBLE) / nullif(before.clicks, 0) AS clicks_change,
  CAST(now.spend - before.spend AS DOUBLE) / CAST(nullif(before.spend, 0) AS DOUBLE) AS spend_change,
  now.ctr - before.ctr AS ctr_change
FROM monthly AS now
LEFT JOIN monthly AS before
  ON add_months(before.month, 1) = now.month AND before.campaign_id = now.campaign_id AND before.channel = now.channel
WHERE now.month >= DATE '{start}'
"""

ROI = """
WITH earned AS (
  SELECT ds, campaign_id, channel, sum(conversion_value) AS revenue
  FROM (
    SELECT conversion_id, CAST(click_time AS DATE) AS ds, campaign_id, channel,
      max(conversion_value) AS conversion_value
    FROM delta.`{data}/conversions`
    WHERE landed_on >= DATE '{start}' AND landed_on < DATE '{end}' + INTERVAL 14 DAYS
      AND CAST(click_time AS DATE) >= DATE '{start}' AND CAST(click_time AS DATE) < DATE '{end}'
    GROUP BY 1, 2, 3, 4
  )
  GROUP BY ds, campaign_id, channel
),
week AS (
  SELECT ds, campaign_id, campaign_name, channel, spend, conversions, cost_per_acquisition,
    CAST(sum(spend) OVER days AS DECIMAL(18, 6)) AS spend_7d,
    sum(conversions) OVER days AS conversions_7d,
    avg(CAST(cost_per_acquisition AS DOUBLE)) OVER days AS usual_cost
  FROM delta.`{performance}`
  WHERE ds >= DATE '{start}' - INTERVAL 6 DAYS AND ds < DATE '{end}'
  WINDOW days AS (
    PARTITION BY campaign_id, channel ORDER BY datediff(ds, DATE '2024-01-01') RANGE BETWEEN 6 PRECEDING AND CURRENT ROW
  )
)
SELECT /*+ REPARTITION({tasks}, ds), BROADCAST(earned) */
  ds, campaign_id, campaign_name, channel, spend, conversions,
  CAST(coalesce(revenue, 0) AS DECIMAL(18, 2)) AS revenue,
  CAST(CAST(coalesce(revenue, 0) AS DECIMAL(18, 2)) - spend AS DOUBLE)
    / CASE WHEN spend > 0 THEN CAST(spend AS DOUBLE) END AS roi,
  cost_per_acquisition, spend_7d, conversions_7d,
  CAST(spend_7d / CASE WHEN conversions_7d > 0 THEN conversions_7d END AS DECIMAL(18, 6)) AS cost_per_acquisition_7d,
  CAST(cost_per_acquisition AS DOUBLE) / CASE WHEN usual_cost > 0 THEN usual_cost END AS acquisition_cost_index
FROM week
LEFT JOIN earned USING (ds, campaign_id, channel)
WHERE ds >= DATE '{start}'
"""

CHANNEL = "channel NOT IN ('google_ads', 'facebook', 'email')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table to make: its query, its partition column, and for each audit the condition of a row that fails it."""

    name: str
    query: str
    day: str
    required: tuple[str, ...]
    wrong: tuple[str, ...]


PERFORMANCE_TABLE = Table(
    name="campaign_performance",
    query=PERFORMANCE,
    day="ds",
    required=("ds", "campaign_id", "campaign_name", "channel", "impressions", "clicks", "spend", "conversions"),
    wrong=(CHANNEL, "impressions < 0", "spend < 0", "ctr < 0 OR ctr > 1"),
)
TRENDS_TABLE = Table(
    name="campaign_trends_monthly",
    query=TRENDS,
    day="month",
    required=("month", "campaign_id", "campaign_name", "channel", "active_days", "impressions", "clicks", "spend"),
    wrong=(CHANNEL, "active_days < 1 OR active_days > 31", "spend < 0", "ctr < 0 OR ctr > 1"),
)
ROI_TABLE = Table(
    name="roi_analysis",
    query=ROI,
    day="ds",
    required=("ds", "campaign_id", "channel", "spend", "conversions", "revenue", "spend_7d", "conversions_7d"),
    wrong=(CHANNEL, "revenue < 0", "roi < -1"),
)


class Job:
    """Makes and audits the tables under one folder, and knows how long each step took."""

    def __init__(self, spark: SparkSession, data: Path, warehouse: Path, performance: Path | None = None) -> None:
        self.spark, self.data, self.warehouse = spark, data.resolve(), warehouse.resolve()
        self.performance = performance or self.warehouse / PERFORMANCE_TABLE.name
        self.tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
        self.seconds: dict[str, float] = {}
        schema = (
            "campaign_id int, campaign_name string, channel string, objective string, start_day date, stop_day date, "
            "budget decimal(18,2)"
        )
        campaigns = spark.read.schema(schema).option("header", "true").csv(f"{self.data}/campaigns")
        campaigns.createOrReplaceTempView("campaigns")

    def write(self, table: Table, start: date, end: date, *, replace: str | None = None) -> None:
        """Compute a range and write it over the whole table, or over what the condition `replace` says."""
        text = table.query.format(
            data=self.data, performance=self.performance, start=start, end=end, tasks=1 if replace else self.tasks
        )
        writer = self.spark.sql(text).write.format("delta").mode("overwrite").partitionBy(table.day)
        if replace:
            writer = writer.option("replaceWhere", replace)
        writer.save(f"{self.warehouse}/{table.name}")

    def audit(self, table: Table, units: int, *, where: str = "true") -> None:
        """Every audit in one scan, a row a partition; exits when one fails. `units` partitions must have rows."""
        conditions = [" OR ".join(f"{c} IS NULL" for c in table.required), *table.wrong]
        inner = ", ".join(f"count_if({c}) AS bad_{i}" for i, c in enumerate(conditions))
        outer = ", ".join(f"sum(bad_{i}) AS bad_{i}" for i in range(len(conditions)))
        found = self.spark.sql(
            f"SELECT {table.day}, sum(n) AS rows, sum(n - 1) AS repeated, {outer} FROM ("
            f"  SELECT {table.day}, campaign_id, channel, count(*) AS n, {inner}"
            f"  FROM delta.`{self.warehouse}/{table.name}` WHERE {where} GROUP BY {table.day}, campaign_id, channel"
            f") GROUP BY {table.day}"
        ).collect()
        bad = [row for row in found if any(row[2:])]
        if bad or len(found) != units:
            sys.exit(f"{table.name}: {len(found)} of {units} partitions have rows; failing audits: {bad[:5]}")

    def timed(self, name: str, step: Callable[[], None]) -> None:
        began = time.perf_counter()
        step()
        self.seconds[name] = round(time.perf_counter() - began, 3)


def everything(job: Job) -> None:
    """All three tables, complete and audited."""
    days, months = (END - START).days, 17

    def finish(table: Table, end: date, units: int) -> None:
        job.timed(f"write {table.name}", lambda: job.write(table, START, end))
        job.timed(f"audit {table.name}", lambda: job.audit(table, units))

    job.timed(f"write {PERFORMANCE_TABLE.name}", lambda: job.write(PERFORMANCE_TABLE, START, END))
    with ThreadPoolExecutor(3) as pool:
        steps = [
            pool.submit(finish, ROI_TABLE, END, days),
            pool.submit(finish, TRENDS_TABLE, LAST_MONTH_END, months),
            pool.submit(job.timed, f"audit {PERFORMANCE_TABLE.name}", lambda: job.audit(PERFORMANCE_TABLE, days)),
        ]
        for step in steps:
            step.result()


def open_session(warehouse: Path) -> SparkSession:
    """A session with the configuration of SPARK_CONF_DIR; BENCH_JARS are Delta's jars, on the class path, BENCH_SPARK
    (JSON) what else is set."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("by hand").config("spark.sql.warehouse.dir", f"{warehouse.resolve()}/spark")
    if jars := os.environ.get("BENCH_JARS"):
        builder = builder.config("spark.jars.packages", "").config("spark.driver.extraClassPath", jars)
    for name, value in json.loads(os.environ.get("BENCH_SPARK", "{}")).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    spawned = psutil.Process().create_time()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--warehouse", type=Path, required=True)
    chosen = parser.parse_args()
    import pyspark.sql  # noqa: F401  (timed)

    imported = time.time()
    spark = open_session(chosen.warehouse)
    opened = time.time()
    job = Job(spark, chosen.data, chosen.warehouse)
    everything(job)
    before = {"process start and imports": round(imported - spawned, 3), "session": round(opened - imported, 3)}
    print(json.dumps({**before, **job.seconds}))


if __name__ == "__main__":
    main()
