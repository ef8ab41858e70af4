"""What does a diff cost, compared with the join that somebody would write? Both in processes of their own, cold.

    python bench/diff.py --rows 2000000 --days 540 --rounds 3

Two version tables of eleven columns, partitioned by day: the new one lacks some rows, has some more, and a decimal
column differs in a fifth of the rows of the last `--changed` days. "By hand" is one full outer join that counts by day
what was added and removed, and the changed values of every column. Both must find the same. Prints medians with the
extremes: wall and CPU time of the whole command, the JVM's start included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from _measure import adopt_orphans, machine, run, spread

from backfill_assets.adapters.diff import diff_model
from backfill_assets.adapters.session import spark_session
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.compare.questions import ask
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.core.model import Model
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import Settings

START = utc("2024-01-01")
COLUMNS = {
    "ds": "date",
    "id": "bigint",
    "channel": "string",
    "campaign_id": "bigint",
    "clicks": "bigint",
    "impressions": "bigint",
    "spend": "decimal(18,6)",
    "score": "double",
    "name": "string",
    "active": "boolean",
    "at": "timestamp",
}
KEY = ("ds", "id")
VALUES = [c for c in COLUMNS if c not in KEY]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--days", type=int, default=540)
    parser.add_argument("--changed", type=int, help="how many of the days differ (default: all)")
    parser.add_argument("--slice", action="store_true", help="compare by channel as well")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=["ours", "by hand"])
    parser.add_argument("--work", type=Path, help="keep the tables here (default: a folder that goes away)")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    changed = chosen.days if chosen.changed is None else chosen.changed
    folder = chosen.work or Path(tempfile.mkdtemp(prefix="diff-"))
    if chosen.way:
        print(json.dumps(way(chosen.way, folder.resolve(), chosen.rows, chosen.days, changed, chosen.slice)))
        return
    try:
        adopt_orphans()
        measure(folder.resolve(), chosen, changed)
    finally:
        if chosen.work is None:
            shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, chosen: argparse.Namespace, changed: int) -> None:
    size = ["--rows", str(chosen.rows), "--days", str(chosen.days), "--changed", str(changed), "--work", str(folder)]
    size += ["--slice"] if chosen.slice else []

    def command(name: str) -> Any:
        log = folder / "logs" / f"{name.replace(' ', '-')}.log"
        return run([sys.executable, __file__, *size, "--way", name], env=os.environ, log=log)

    command("make")
    print(f"{machine()}; 2 × {chosen.rows:,} rows in {chosen.days} days, {changed} of them differ")
    took: dict[str, list[Any]] = {name: [] for name in chosen.ways}
    said: dict[str, Any] = {}
    for _ in range(chosen.rounds):
        for name in chosen.ways:
            took[name].append(command(name))
            said[name] = json.loads(took[name][-1].output)
            if said[name] != said[chosen.ways[0]]:
                sys.exit(f"{name} found something else: see {folder / 'logs'}")
    for name, runs in took.items():
        print(f"  {name:<8} {spread([r.wall for r in runs])}, CPU {spread([r.cpu for r in runs])}, "
              f"{max(r.peak for r in runs):,.0f} MiB")  # fmt: skip


def way(name: str, folder: Path, rows: int, days: int, changed: int, by_channel: bool) -> dict[str, Any]:
    """Added and removed rows, and changed values of each column, by day."""
    spark = spark_session(folder, Settings(warehouse=str(folder)))
    if name == "make":
        make(spark, folder / "table", rows, days, changed)
        return {}
    if name == "by hand":
        return by_hand(spark, folder)
    log = DeltaTableLog(str(folder))
    model = Model(name="table", path=Path("table.sql"), language="sql", code="", start=START, grain=KEY)
    sides = [
        Pointer(
            model="table",
            time_column="ds",
            timestamps=False,
            columns=tuple(COLUMNS.items()),
            segments=(
                Segment(
                    version=version,
                    commit=log.head("table", version),
                    interval=Interval(START, Cadence.DAILY.shift(START, days)),
                ),
            ),
        )
        for version in ("old", "new")
    ]
    question = ask(model, sides[0], sides[1], log, slices=["channel"] if by_channel else [])
    diff = diff_model(question, lambda: spark, str(folder), lambda: b"salt", sample=3)
    found: dict[str, Any] = {}
    for day in diff.days:
        values = [m.changed if (m := day.move(c)) else 0 for c in VALUES]
        if not day.rows.same:
            found[day.name or ""] = [day.rows.added, day.rows.removed, *values]
    return found


def by_hand(spark: Any, folder: Path) -> dict[str, Any]:
    on = " AND ".join(f"o.{c} = n.{c}" for c in KEY)
    counts = ", ".join(f"count_if(o.id IS NOT NULL AND n.id IS NOT NULL AND NOT o.{c} <=> n.{c})" for c in VALUES)
    sides = [f"delta.`{folder}/table/{version}`" for version in ("old", "new")]
    found = spark.sql(
        f"SELECT CAST(coalesce(o.ds, n.ds) AS STRING), count_if(o.id IS NULL), count_if(n.id IS NULL), {counts} "
        f"FROM {sides[0]} o FULL OUTER JOIN {sides[1]} n ON {on} GROUP BY 1 ORDER BY 1"
    ).collect()
    return {row[0]: list(row[1:]) for row in found if any(row[1:])}


def make(spark: Any, folder: Path, rows: int, days: int, changed: int) -> None:
    if (folder / f"made-{rows}-{days}-{changed}").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    made = spark.range(rows).selectExpr(
        f"date_add(DATE '{START:%Y-%m-%d}', CAST(id % {days} AS INT)) AS ds",
        f"id DIV {days} AS id",
        "substr('abcdefgh', CAST(1 + pmod(xxhash64(id), 8) AS INT), 1) AS channel",
        "pmod(xxhash64(id, 1), 500) AS campaign_id",
        "pmod(xxhash64(id, 2), 100) AS clicks",
        "100 + pmod(xxhash64(id, 3), 1000) AS impressions",
        "CAST(pmod(xxhash64(id, 4), 10000000) / 1000000 AS DECIMAL(18, 6)) AS spend",
        "pmod(xxhash64(id, 5), 1000000) / 7D AS score",
        "concat('campaign ', pmod(xxhash64(id, 1), 500)) AS name",
        "xxhash64(id, 6) > 0 AS active",
        f"timestamp_seconds({int(START.timestamp())} + id) AS at",
    )
    differs = f"ds >= date_add(DATE '{START:%Y-%m-%d}', {days - changed})"
    other = made.where(f"NOT ({differs} AND id % 1000 = 1)").selectExpr(
        "ds",
        f"IF({differs} AND id % 1000 = 2, id + {rows}, id) AS id",
        *[c for c in VALUES if c != "spend"][:4],
        f"CAST(IF({differs} AND id % 5 = 0, spend * 1.01, spend) AS DECIMAL(18, 6)) AS spend",
        *[c for c in VALUES if c != "spend"][4:],
    )
    for version, frame in (("old", made), ("new", other)):
        path = str(folder / version)
        frame.repartition("ds").write.format("delta").partitionBy("ds").save(path)
    (folder / f"made-{rows}-{days}-{changed}").touch()


if __name__ == "__main__":
    main()
