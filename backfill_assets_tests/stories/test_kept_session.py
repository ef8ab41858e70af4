"""`backfill session`: commands use the JVM that it keeps, one at a time, with the same results as without it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from backfill_assets.app.context import Context
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.projects import (
    BACKFILL,
    backfill,
    built_daily,
    clean_environment,
    eventually,
    expected_daily,
    finish,
    kill,
    script,
    small_project,
    start,
)

pytestmark = pytest.mark.spark

COUNT = "SELECT count(*) AS n FROM prod.daily"
WORKER = """
import os, sys
from pathlib import Path
from backfill_assets.app.context import Context
spark = Context.open(Path(sys.argv[1])).spark
spark.sql("CREATE DATABASE of_this_command")
spark.sql("CREATE GLOBAL TEMP VIEW of_all AS SELECT 1 AS n")
seen = [d.name for d in spark.catalog.listDatabases()]
from pyspark.sql.functions import udf
pid = udf(lambda _: f"{os.getpid()} {os.environ['BACKFILL_COMMAND']}")
print("|".join([*sorted(seen), spark.range(1).select(pid("id")).first()[0]]))
"""

SPARED = """
import sys
from pathlib import Path
from backfill_assets.adapters.jvm import sql_with
from backfill_assets.app.context import Context
[row] = sql_with(Context.open(Path(sys.argv[1])).spark, "SELECT :n + 1 AS n", {"n": 1}).collect()
print(row["n"], *sorted({"pandas", "pyspark.testing"} & sys.modules.keys()))
"""


def java(process: int) -> list[psutil.Process]:
    """The JVMs below a process."""
    return [p for p in psutil.Process(process).children(recursive=True) if p.name() == "java"]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[tuple[Path, int, psutil.Process]]:
    """A project with all of its days in prod, the process that keeps its session, and the JVM."""
    root = small_project(tmp_path / "p", days=3)
    process = start(BACKFILL, "--project", root, "session", "--minutes", "5")
    try:
        assert process.stdout is not None
        said = ""
        while "Spark is ready" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        [jvm] = java(process.pid)
        yield root, process.pid, jvm
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.extended
def test_commands_use_it_one_at_a_time(kept: tuple[Path, int, psutil.Process]) -> None:
    """apply, promote and sql start no JVM, and give what the files say. Who comes while it is used, or with other
    settings, has a JVM of its own. No command finds what another one left: views, databases, Python workers. An
    interrupted one takes the JVM along."""
    root, keeper, jvm = kept
    without = {"JAVA_HOME": str(root / "no-java")}  # a command that started a JVM would fail
    assert backfill("apply", "--promote", project=root).code == 0
    place = Context.open(root)
    assert built_daily(place) == expected_daily(root)
    used = jvm.cpu_times().user
    assert backfill("sql", COUNT, "--json", project=root).json == [{"n": len(expected_daily(root))}]
    assert jvm.cpu_times().user > used and java(keeper) == [jvm]

    said = [finish(start(*script(WORKER, root))).out.strip().splitlines()[-1].split("|") for _ in range(2)]
    assert [s[:-1] for s in said] == [["default", "of_this_command"]] * 2
    (first, mine), (second, other) = (s[-1].split() for s in said)
    assert first != second and mine != other
    assert finish(start(*script(SPARED, root))).out.strip().splitlines()[-1] == "2"

    other_settings = backfill("sql", "SELECT 1 AS n", "--json", project=root, env=clean_environment(**without))
    assert other_settings.code == 1 and "Java" in other_settings.err

    twice = backfill("session", project=root)
    assert twice.code == 1 and "kept for this project already" in twice.err

    slow = start(BACKFILL, "--project", root, "sql", "SELECT count(*) AS n FROM range(1e14)")
    eventually(lambda: not slow.poll() and jvm.cpu_percent(0.5) > 50, while_=lambda: slow.poll() is None)
    busy = start(BACKFILL, "--project", root, "sql", "SELECT 7 AS n", "--json")
    eventually(lambda: java(busy.pid), while_=lambda: busy.poll() is None)
    assert '"n": 7' in finish(busy).out
    os.killpg(slow.pid, signal.SIGINT)
    assert finish(slow).code == 130
    eventually(lambda: not psutil.pid_exists(keeper) or psutil.Process(keeper).status() == "zombie", within=30)
    assert not jvm.is_running()


def test_a_command_that_is_killed_writes_nothing_more(kept: tuple[Path, int, psutil.Process]) -> None:
    """kill -9 for an apply in the middle: the JVM that it used goes as well, and the next apply builds the rest."""
    root, _, jvm = kept
    place = Context.open(root)
    applying = start(BACKFILL, "--project", root, "apply")
    try:
        eventually(lambda: list(place.control.ledger.entries(["daily"])), while_=lambda: applying.poll() is None)
        assert not java(applying.pid)
    finally:
        kill(applying)
    eventually(lambda: not jvm.is_running() or jvm.status() == "zombie", within=10)
    assert backfill("apply", project=root).code == 0
    assert built_daily(place) == expected_daily(root)
    assert sum(e.kind is Kind.BUILT for e in place.control.ledger.entries(["daily"])) >= 3
