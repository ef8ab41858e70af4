"""What do ten audits cost against one scan? The same rows in a warm session: scanned, audited at once, and one by one.

    python bench/audits.py --rows 4000000 --days 90 --rounds 5

The rows lie in a Delta table partitioned by day. "One scan" reads all audited columns, grouped by day; "grain" is what
every model is audited for anyway. Prints medians with the extremes, and the ratios to one scan.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _measure import machine, median, spread

from backfill_assets.adapters.session import spark_session
from backfill_assets.audits.relations import AuditedTable, Row
from backfill_assets.audits.scan import scan_audits
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Audit, Model
from backfill_assets.core.settings import Settings
from backfill_assets.sql.text import as_text, interval_start, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = utc("2024-01-01")
COLUMNS = ("id", "channel", "campaign_id", "clicks", "impressions", "spend")
GRAIN = Audit(name="unique_grain", kind="unique_grain")
TEN = (
    GRAIN,
    Audit(name="filled", kind="not_null", arguments={"columns": ["id", "channel", "clicks"]}),
    Audit(name="rate", kind="null_rate", arguments={"column": "spend", "max_percent": 5}),
    Audit(name="unique_id", kind="unique", arguments={"columns": ["id"]}),
    Audit(name="bounds", kind="range", arguments={"column": "spend", "min": 0, "max": 100}),
    Audit(name="channels", kind="accepted_values", arguments={"column": "channel", "values": ["a", "b", "c"]}),
    Audit(name="rule", kind="expression", arguments={"expression": "clicks <= impressions"}),
    Audit(name="all_channels", kind="entities", arguments={"column": "channel", "values": ["a", "b", "c"]}),
    Audit(name="total", kind="aggregate", arguments={"metric": "sum(spend)", "min": 0}),
    Audit(
        name="campaigns", kind="relationships", arguments={"columns": ["campaign_id"], "to": "known", "fields": ["id"]}
    ),
)  # fmt: skip


class Tables:
    """Relations over the bench's two tables."""

    def __init__(self, spark: SparkSession, count: int) -> None:
        self._spark, self._count = spark, count

    def rows(self) -> str:
        return "bench_rows"

    def count(self) -> int:
        return self._count

    def shown(self) -> None:
        return None

    def around(self) -> None:
        return None

    def table(self, name: str) -> AuditedTable:
        return AuditedTable(view=f"bench_{name}", columns=["id"])

    def failures(self, audit: Audit, part: Interval) -> AuditedTable:
        raise NotImplementedError(audit.kind, part)

    def ask(self, query: str) -> Sequence[Row]:
        return [row.asDict() for row in self._spark.sql(query).collect()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    print(f"{machine()}; {chosen.rows:,} rows in {chosen.days} days")
    folder = Path(tempfile.mkdtemp(prefix="audits-"))
    try:
        spark = spark_session(folder, Settings(warehouse=str(folder)))
        make_rows(spark, folder, chosen.rows, chosen.days)
        measure(Tables(spark, chosen.rows), chosen.days, chosen.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_rows(spark: SparkSession, folder: Path, rows: int, days: int) -> None:
    (
        spark.range(rows)
        .selectExpr(
            f"date_add(DATE '{START:%Y-%m-%d}', CAST(id % {days} AS INT)) AS ds",
            "id",
            "substr('abc', CAST(1 + pmod(xxhash64(id, 3), 3) AS INT), 1) AS channel",
            "id % 500 AS campaign_id",
            "pmod(xxhash64(id), 100) AS clicks",
            "100 + pmod(xxhash64(id, 1), 1000) AS impressions",
            "CAST(pmod(xxhash64(id, 2), 10000) / 100 AS DECIMAL(10, 2)) AS spend",
        )
        .repartition("ds")
        .write.format("delta")
        .partitionBy("ds")
        .save(str(folder / "rows"))
    )
    spark.read.format("delta").load(str(folder / "rows")).createOrReplaceTempView("bench_rows")
    spark.range(500).createOrReplaceTempView("bench_known")


def measure(tables: Tables, days: int, rounds: int) -> None:
    model = a_model(())
    over = Ranges((Interval(START, Cadence.DAILY.shift(START, days)),))
    touched = ", ".join(f"max({quoted(c)})" for c in COLUMNS)
    start = interval_start(model)

    def audit(*audits: Audit) -> dict[datetime, Any]:
        found = scan_audits(replace(model, audits=audits), over, tables)
        assert len(found) == days and not any(n for c in found.values() for n in c.failures.values())
        return found

    ways: dict[str, Callable[[], object]] = {
        "one scan": lambda: tables.ask(
            f"SELECT {as_text(start)}, count(*), {touched} FROM {tables.rows()} GROUP BY {start}"
        ),
        "grain": lambda: audit(GRAIN),
        "ten audits": lambda: audit(*TEN),
        "ten, one by one": lambda: [audit(one) for one in TEN],
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if number:  # the first round warms the session up
                took[name].append(time.perf_counter() - began)
    for name, seconds in took.items():
        print(f"  {name:<16} {spread(seconds)}  {median(seconds) / median(took['one scan']):.2f} × one scan")


def a_model(audits: tuple[Audit, ...]) -> Model:
    grain = ("ds", "id", "channel")
    return Model(name="bench", path=Path("bench.sql"), language="sql", code="", start=START, grain=grain, audits=audits)


if __name__ == "__main__":
    main()
