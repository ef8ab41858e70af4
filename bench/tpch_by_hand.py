"""How fast can a row for each order of TPC-H be made by hand? One tuned Spark job over all of its 2,406 days at once.

    python bench/tpch_by_hand.py --data DATA --warehouse WAREHOUSE

What `bench/tpch.py` compares with: the same rows, partitioned by day, a day one file, and the same audits. It keeps no
record, resumes nothing and overwrites what is there. Spark's configuration is that of `spark-conf/`; prints its seconds
by step as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import psutil
from handwritten_job import open_session

QUERY = """
SELECT /*+ REBALANCE(ds) */
  o_orderdate AS ds, o_orderkey AS order_key, o_custkey AS customer_key, o_orderpriority AS priority,
  count(*) AS lines, CAST(sum(l_quantity) AS DECIMAL(18, 2)) AS quantity,
  CAST(sum(l_extendedprice * (1 - l_discount)) AS DECIMAL(18, 4)) AS revenue
FROM parquet.`{data}/orders.parquet` JOIN parquet.`{data}/lineitem.parquet` ON l_orderkey = o_orderkey
GROUP BY ALL
"""
AUDITS = """
SELECT count(*) AS days, sum(wrong) AS wrong FROM (
  SELECT ds, count(*) - count(DISTINCT order_key) + count_if(revenue IS NULL OR revenue < 0) AS wrong
  FROM delta.`{table}` GROUP BY ds
)
"""


def main() -> None:
    spawned = psutil.Process().create_time()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--warehouse", type=Path, required=True)
    chosen = parser.parse_args()
    spark = open_session(chosen.warehouse)
    opened = time.time()
    table = f"{chosen.warehouse}/order_values"
    rows = spark.sql(QUERY.format(data=chosen.data))
    rows.write.format("delta").partitionBy("ds").mode("overwrite").save(table)
    written = time.time()
    (found,) = spark.sql(AUDITS.format(table=table)).collect()
    if found["wrong"] or not found["days"]:
        sys.exit(f"{found['wrong']} wrong rows in {found['days']} days")
    print(json.dumps({"start": opened - spawned, "write": written - opened, "audit": time.time() - written}))


if __name__ == "__main__":
    main()
