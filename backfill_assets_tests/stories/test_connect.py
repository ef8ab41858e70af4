"""A project whose Spark is a Spark Connect server: built, promoted, compared, restated, rolled back; with others on the
same server, who see nothing of it and change nothing of it; and a server that goes away."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from subprocess import Popen

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from backfill_assets.adapters import remote_session
from backfill_assets.adapters.machine import delta_jars
from backfill_assets.adapters.remote_session import RemoteSession
from backfill_assets.adapters.session_kind import open_remote
from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets_tests.postgres import free_port
from backfill_assets_tests.projects import (
    BACKFILL,
    CHECKOUT,
    DAILY,
    Said,
    backfill_here,
    built_daily,
    clean_environment,
    eventually,
    expected_daily,
    kill,
    path_of,
    say_yes,
    start,
    write_events,
    write_project,
)

pytestmark = pytest.mark.spark

CONFIGURATION = CHECKOUT / "spark-conf"
SCORED = """\
from backfill_assets import model
from pyspark.sql import functions as F

from lib.scores import score

scored_by = F.udf(score, "bigint")


@model(start="2024-01-01", grain=["ds", "id"], batch_size=3, owner="ana@example.com", upstream={"events": "raw.events"})
def scored(events, interval):
    rows = events.where((F.col("at") >= F.lit(interval.start)) & (F.col("at") < F.lit(interval.end)))
    return rows.select(F.to_date("at").alias("ds"), "id", scored_by("id").alias("score"))
"""
SCORES = "def score(x):\n    return {factor} * x\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A Spark Connect server of the tests' own."""

    url: str
    process: Popen[str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The one that PySpark's package holds, with the configuration that ships, as docs/connect.md starts it; its jars
    are on the class path, which needs no Ivy."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.memory": "1g",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, delta_jars(CONFIGURATION))),
        "spark.jars.packages": "",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    process = start(
        Path(pyspark.__path__[0]) / "bin" / "spark-submit",
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        "spark-internal",
        cwd=folder,
        env=clean_environment(SPARK_CONF_DIR=str(CONFIGURATION), PYSPARK_PYTHON=sys.executable),
    )

    def listens() -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    eventually(listens, within=120, while_=lambda: process.poll() is None)
    yield Server(url=f"sc://127.0.0.1:{port}", process=process)
    if (session := open_remote()) is not None:
        session.stop()
    if process.poll() is None:
        kill(process)


def run(root: Path, *arguments: str, code: int = 0) -> Said:
    said = backfill_here(*arguments, project=root)
    assert said.code == code, said.out + said.err
    return said


def shown(root: Path, query: str) -> list[dict[str, object]]:
    return json.loads(run(root, "sql", "--json", query).out)


def scores(place: Context) -> pd.DataFrame:
    table = open_table(path_of(place, "scored"))
    assert table is not None
    return table.to_pandas().sort_values("id", ignore_index=True)


def expected_scores(root: Path, factor: int) -> pd.DataFrame:
    """What `scored` should hold, by pandas from the files alone."""
    files = sorted((root / "data" / "events").glob("*.csv"))
    events = pd.concat([pd.read_csv(file) for file in files]).sort_values("id", ignore_index=True)
    ds = pd.to_datetime(events["at"]).dt.date
    return pd.DataFrame({"ds": ds, "id": events["id"], "score": factor * events["id"]})


@pytest.mark.extended
def test_a_file_of_another_type(server: Server, tmp_path: Path) -> None:
    """The server reads it as little as a session of one's own; the other days are built."""
    (tmp_path / "data" / "ev").mkdir(parents=True)
    for day, values in ((1, pa.array([5], pa.int32())), (2, pa.array([Decimal("12.50")], pa.decimal128(9, 2)))):
        rows = pa.table(
            {"at": pa.array([datetime(2024, 1, day, 9, tzinfo=UTC)], pa.timestamp("us", "UTC")), "n": values}
        )
        pq.write_table(rows, tmp_path / "data" / "ev" / f"{day}.parquet", store_decimal_as_integer=True)
    header = "/*\nstart: 2024-01-01\nowner: ana@example.com\ngrain: [ds]\n*/\n"
    query = "SELECT CAST(at AS DATE) AS ds, max(n) AS n FROM raw.ev WHERE at >= :start AND at < :end GROUP BY 1"
    sources = "sources:\n  - {name: raw.ev, format: parquet, path: data/ev, time_column: at}\n"
    spark = {"spark.remote": server.url}
    root = write_project(tmp_path, {"daily.sql": header + query}, sources=sources, clock="2024-01-03", spark=spark)
    said = run(root, "apply", code=3)
    assert "daily  1 of 2 days green" in said.out
    assert "why: n is decimal(9,2) in 2.parquet of raw.ev, and int is read of all its files" in said.out
    table = open_table(path_of(Context.open(root), "daily"))
    assert table is not None and table.to_pandas()["n"].tolist() == [5]


def test_a_project_on_a_server(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are right, whatever else the server does; what it shows is nobody else's to see or to change."""
    monkeypatch.setattr(remote_session, "_RETRIES", 1)
    write_events(tmp_path, days=3)
    files = {"daily.sql": DAILY.format(batch_size=3, batch_concurrency=1), "scored.py": SCORED}
    root = write_project(tmp_path, files, clock="2024-01-04", spark={"spark.remote": server.url})
    (root / "lib").mkdir()
    (root / "lib" / "scores.py").write_text(SCORES.format(factor=2))

    run(root, "apply", "--promote")
    place = Context.open(root)
    assert built_daily(place) == expected_daily(root)
    pd.testing.assert_frame_equal(scores(place), expected_scores(root, 2), check_dtype=False)

    # Another one's views have the same names, in the catalog that all sessions of the server share.
    count = "SELECT count(*) AS n FROM prod.daily"
    assert shown(root, count) == [{"n": 6}]
    other = RemoteSession(server.url, {})
    assert other.sql("SHOW TABLES").collect() == [] and other.sql("SHOW DATABASES LIKE 'prod'").collect() == []
    other.sql("CREATE DATABASE prod")
    other.sql("CREATE VIEW prod.daily AS SELECT 1 AS one")
    other.sql("SELECT 2 AS two").createOrReplaceTempView("prod__daily")
    assert shown(root, count) == [{"n": 6}]
    assert [row.one for row in other.table("prod.daily").collect()] == [1]
    literals(other)
    other.stop()

    # A day of which more rows came: computed again, compared, approved, promoted; and back.
    total, before = "SELECT CAST(sum(total) * 100 AS BIGINT) AS cents FROM prod.daily", expected_daily(root)
    with (root / "data" / "events" / "2024-01-02.csv").open("a") as file:
        file.write("99,2024-01-02T05:00:00Z,a,5.00\n")
    said = run(root, "apply", "--restate", "daily:2024-01-02").out
    assert "2 rows → 2; 1 changed (50.0 % of those on both sides); 1 unchanged" in said, said
    assert shown(root, total) == [{"cents": sum(row[3] for row in before)}]
    plan = re.search(r"backfill approve (\w+)", said)
    assert plan is not None, said
    say_yes(Context.open(root), plan[1])
    run(root, "promote", plan[1])
    assert shown(root, total) == [{"cents": sum(row[3] for row in before) + 500}]
    run(root, "rollback")
    assert shown(root, total) == [{"cents": sum(row[3] for row in before)}]

    # A changed helper, built by a step of Dagster's.
    (root / "lib" / "scores.py").write_text(SCORES.format(factor=3))
    materialize(root, "scored", "2024-01-01...2024-01-03")
    pd.testing.assert_frame_equal(scores(Context.open(root)), expected_scores(root, 3), check_dtype=False)

    checks = {check["check"]: check for check in json.loads(run(root, "doctor", "--json").out)}
    assert "java" not in checks and f"Spark {pyspark.__version__} with Delta" in checks["spark server"]["found"]

    kill(server.process)
    said = run(root, "sql", count, code=1)
    assert f"no session can be opened on {server.url}" in said.err and "Connection refused" in said.err, said.err


def materialize(root: Path, model: str, days: str) -> None:
    """In a process of Dagster's own."""
    home = root / "dagster_home"
    home.mkdir()
    done = subprocess.run(
        [
            *(BACKFILL.with_name("dagster"), "asset", "materialize", "-m", "backfill_assets.definitions"),
            *("--select", model, "--partition-range", days),
        ],
        env=clean_environment(BACKFILL_PROJECT=str(root), DAGSTER_HOME=str(home)),
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0 and "RUN_SUCCESS" in done.stderr, done.stdout + done.stderr


def literals(session: RemoteSession) -> None:
    """Spark reads the literal of a parameter as the value that was meant, with its type."""
    values = {
        "text": "it's \\n \\\\ \"`ä€😀${a} -- /* :n",
        "n": -(2**40),
        "yes": True,
        "nothing": None,
        "x": 5e-324,
        "nan": float("nan"),
        "money": Decimal("-0.0012"),
        "raw": b"\x00'\\",
        "day": date(2024, 2, 29),
        "at": datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=UTC),
    }
    row = session.sql(f"SELECT {', '.join(f':{name} AS {name}' for name in values)}", args=values).collect()[0].asDict()
    assert math.isnan(row.pop("nan")) and row.pop("raw") == values.pop("raw") and values.pop("nan")
    at = row.pop("at")
    assert at.astimezone(UTC) == values.pop("at")
    assert row == values
