"""How does `backfill apply` with default settings compare with one job by hand, where each batch reads every source?

    python bench/tpch.py --scale 10 --rounds 1

A row for each order of TPC-H, by the day of the order, with its lines joined: neither table is laid out by day, so that
each batch reads all of both. In each round `backfill apply` of a project whose header says nothing about batches, and
the job by hand, each in a process of its own and a fresh warehouse. Aborts unless both make equal tables. See
`bench/README.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
from _demo import BACKFILL, environment
from _measure import Run, adopt_orphans, machine, median, run, spread, verdict
from deltalake import DeltaTable

from backfill_assets.adapters.machine import conf_dir, delta_jars
from backfill_assets_tests.local_cluster import a_spark_home

HERE = Path(__file__).resolve().parent
MODEL = "order_values"
MEMORY = 4096
"""MiB of an executor."""
COLUMNS = "ds, order_key, customer_key, priority, lines, quantity, revenue"

SOURCES = """\
sources:
  - name: raw.orders
    format: parquet
    path: {data}/orders.parquet
    time_column: o_orderdate
  - name: raw.lineitem
    format: parquet
    path: {data}/lineitem.parquet
"""
QUERY = """\
/*
description: One row per order, with what its lines add up to.
owner: sales@example.com
cadence: daily
start: 1992-01-01
end: 1998-08-03
grain: [ds, order_key]
{size}audits:
  - range: {{column: revenue, min: 0}}
  - not_null: revenue
*/
SELECT
  o_orderdate AS ds, o_orderkey AS order_key, o_custkey AS customer_key, o_orderpriority AS priority,
  count(*) AS lines, CAST(sum(l_quantity) AS DECIMAL(18, 2)) AS quantity,
  CAST(sum(l_extendedprice * (1 - l_discount)) AS DECIMAL(18, 4)) AS revenue
FROM raw.orders JOIN raw.lineitem ON l_orderkey = o_orderkey
WHERE o_orderdate >= :start AND o_orderdate < :end
GROUP BY ALL
"""


class Bench:
    """The folders of one run and the commands in them. `size`: intervals a batch; None: what a plan finds. `executors`:
    processes of one core each beside the driver, for both; 0: Spark runs in the driver, with all cores."""

    def __init__(self, work: Path, scale: float, size: int | None, executors: int = 0) -> None:
        self.work = work.resolve()
        self.data = make_data(self.work / f"tpch-{scale:g}", scale)
        self.project = make_project(self.work / "tpch", self.data, size)
        self.spark_home = {}
        self.ours, self.hand = self.work / "tpch-ours", self.work / "tpch-hand"
        conf = conf_dir(self.project)
        jars = os.pathsep.join(str(jar) for jar in delta_jars(conf))
        self.by_hand = dict(os.environ) | {"SPARK_CONF_DIR": str(conf), "BENCH_JARS": jars}
        if executors:
            spark = {
                "spark.master": f"local-cluster[{executors},1,{MEMORY}]",
                "spark.executor.memory": f"{MEMORY}m",
                "spark.executor.extraClassPath": jars,
            }
            (self.project / "backfill.yml").write_text(json.dumps({"name": "tpch", "spark": spark}))
            shutil.rmtree(self.work / "spark-home", ignore_errors=True)
            self.spark_home = {"SPARK_HOME": str(a_spark_home(self.work))}
            self.by_hand |= self.spark_home | {"BENCH_SPARK": json.dumps(spark)}

    def apply(self, *options: str) -> Run:
        """A build of a fresh warehouse."""
        self._begin()
        return self._ours("apply", "--json", *options)

    def plan(self) -> Run:
        """What a plan says of a fresh warehouse."""
        self._begin()
        return self._ours("plan")

    def handwritten(self) -> Run:
        shutil.rmtree(self.hand, ignore_errors=True)
        command = [sys.executable, HERE / "tpch_by_hand.py", "--data", self.data, "--warehouse", self.hand]
        return run(command, env=self.by_hand, log=self.work / "logs" / "tpch_by_hand.log")

    def compare(self, applied: dict) -> str:
        """What both made, in a line; exits when it differs."""
        mine = content(self.ours / MODEL / applied["models"][MODEL]["version"])
        other = content(self.hand / MODEL)
        if mine != other or not applied["complete"]:
            sys.exit(f"{MODEL} differs: {mine} by backfill, {other} by hand")
        return f"{mine[0]:,} rows of {mine[1]:,} days"

    def _begin(self) -> None:
        shutil.rmtree(self.ours, ignore_errors=True)
        (self.project / ".backfill" / "warehouses.json").unlink(missing_ok=True)

    def _ours(self, *command: str) -> Run:
        log = self.work / "logs" / f"tpch_{command[0]}.log"
        env = environment(self.project, self.ours) | self.spark_home
        return run([BACKFILL, *command], env=env, log=log, allowed=(0, 3))


def make_data(folder: Path, scale: float) -> Path:
    """TPC-H's orders and their lines as Parquet files, in the order of their keys; generated once."""
    if not (folder / "done").exists():
        beside = Path(sys.executable).with_name("tpchgen-cli")
        tool = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
        if tool is None:
            sys.exit("TPC-H is generated by tpchgen-cli: pip install tpchgen-cli")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([tool, "parquet", "-s", f"{scale:g}", "-T", "orders,lineitem", "-o", folder, "-q"], check=True)
        (folder / "done").touch()
    size = sum(f.stat().st_size for f in folder.glob("*.parquet"))
    print(f"data: TPC-H at scale {scale:g}, {size / 1e6:,.0f} MB")
    return folder


def make_project(folder: Path, data: Path, size: int | None) -> Path:
    """A project of one model, with the settings that everybody begins with."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "models").mkdir(parents=True)
    (folder / "backfill.yml").write_text("name: tpch\n")
    (folder / "sources.yml").write_text(SOURCES.format(data=data))
    said = f"batch_size: {size}\n" if size else ""
    (folder / "models" / f"{MODEL}.sql").write_text(QUERY.format(size=said))
    return folder


def content(table: Path) -> tuple[int, int, str]:
    """Rows, days, and a checksum of all values, whatever their order and files."""
    files = DeltaTable(str(table)).file_uris()
    values = f"count(*), count(DISTINCT ds), sum(hash({COLUMNS}))::VARCHAR"
    asked = f"SELECT {values} FROM read_parquet($1, hive_partitioning = true)"
    return duckdb.execute(asked, [files]).fetchall()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="TPC-H's scale factor (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--batch-size", type=int, help="what the header says; without it, what the plan finds")
    parser.add_argument("--executors", type=int, default=0, help="processes of one core each, 0: the driver alone")
    parser.add_argument("--work", type=Path, default=Path(".backfill/bench"), help="default: %(default)s")
    parser.add_argument("--check", action="store_true", help="exit with 1 when the target is missed")
    chosen = parser.parse_args()
    adopt_orphans()
    print(machine())
    bench = Bench(chosen.work, chosen.scale, chosen.batch_size, chosen.executors)
    ours: list[Run] = []
    hand: list[Run] = []
    for number in range(1, chosen.rounds + 1):
        if number == 1:
            print(bench.plan().output)
        ours.append(bench.apply())
        hand.append(bench.handwritten())
        applied = json.loads(ours[-1].output)
        same = bench.compare(applied)
        model = applied["models"][MODEL]
        print(f"round {number}: ours {ours[-1].wall:.1f} s, by hand {hand[-1].wall:.1f} s, equal: {same}")
        print(f"  ours by phase: {model['seconds']}; by hand: {hand[-1].output.strip()}", flush=True)
    for name, runs in (("ours", ours), ("by hand", hand)):
        cpu, peak = median(r.cpu for r in runs), max(r.peak for r in runs)
        print(f"  {name}: {spread([r.wall for r in runs])}, {cpu:.0f} CPU s, the largest process {peak:,.0f} MiB")
    met = verdict("ours / by hand", median(r.wall for r in ours) / median(r.wall for r in hand), 1.25)
    if chosen.check and not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
