"""Prod views in a metastore that every Spark client shares: promoted by one process, read by others (A3).

`spark-conf/metastore/` is used as it ships, with a PostgreSQL server that the test starts.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets_tests.projects import (
    CHECKOUT,
    backfill,
    clean_environment,
    eventually,
    finish,
    kill,
    script,
    start,
)
from backfill_assets_tests.stories.releases import JOINED, ROWS, build_releases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONFIGURATION = CHECKOUT / "spark-conf" / "metastore"

PROMOTER = """
    # One release, and when the reader reads, the other one, and a rollback.
    import sys, time
    from pathlib import Path
    from backfill_assets.app.context import Context
    from backfill_assets.app.promote import promote_plan
    from backfill_assets.app.rollback import roll_back
    from backfill_assets_tests.projects import approve

    first, second, promoted, go = map(Path, sys.argv[1:])
    for project in (first, second):
        place = Context.open(project)
        if project == second:
            approve(place)
        verdict = promote_plan(place).verdict
        assert verdict.open and {p.model for p in verdict.pointers} == {"daily", "running"}, verdict
        promoted.touch()
        while not go.exists():
            time.sleep(0.05)
    back = roll_back(Context.open(second), None, follow=lambda *_: sys.exit("nothing is to be built")).ended
    assert back.moved is not None and {m.model for m in back.moved.pointers.values()} == {"daily", "running"}, back
"""

READER = """
    # A client without any of the project's code: plain PySpark with SPARK_CONF_DIR.
    import sys
    from pathlib import Path
    from pyspark.sql import SparkSession

    query, seen, stop = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    spark = SparkSession.builder.config("spark.driver.memory", "1g").enableHiveSupport().getOrCreate()
    assert not [name for name in sys.modules if name.startswith("backfill_assets")]
    with seen.open("a") as out:
        while not stop.exists():
            for row in spark.sql(query).collect():
                print(*row, file=out, flush=True)
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The JDBC URL of an empty database in a server of its own."""
    programs = programs_of_postgres()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # pytest's own folders are closed to the server's user
    port = free_port()
    as_other = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}

    def run(program: str, *arguments: str) -> None:
        said = subprocess.run(
            [programs / program, *arguments],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            **as_other,
        )
        assert said.returncode == 0, f"{program}: {said.stdout}{said.stderr}"

    data = folder / "data"
    data.mkdir(mode=0o700)
    if as_other:
        shutil.chown(data, "postgres", "postgres")
        shutil.chown(folder, "postgres", "postgres")
    run("initdb", "-D", str(data), "-A", "trust", "-U", "metastore", "--no-sync")
    # Its output goes to a file: a server that inherits our pipes would keep `run` waiting.
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "metastore", "metastore")
        yield f"jdbc:postgresql://127.0.0.1:{port}/metastore"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)


def test_views_in_a_shared_metastore(spark: SparkSession, tmp_path: Path, postgres: str) -> None:
    """Promotions and a rollback persist the views; other processes read them, and see one release a query meanwhile.

    `backfill sql` uses them as well, and makes none of its own.
    """
    releases = build_releases(tmp_path, "prod")
    environment = clean_environment(SPARK_CONF_DIR=str(CONFIGURATION), BACKFILL_METASTORE_URL=postgres)
    first, second = releases.one.project.root, releases.two.project.root

    promoted, go, seen, stop = (tmp_path / name for name in ("promoted", "go", "seen", "stop"))

    def queries() -> list[str]:
        return seen.read_text().splitlines() if seen.exists() else []

    promoter = start(*script(PROMOTER, first, second, promoted, go), cwd=tmp_path, env=environment)
    reader = None
    try:
        eventually(promoted.exists, while_=lambda: promoter.poll() is None)
        reader = start(*script(READER, JOINED.format("prod"), seen, stop), cwd=tmp_path, env=environment)
        reads = lambda: reader.poll() is None  # noqa: E731
        eventually(lambda: len(queries()) >= 3, while_=reads)
        before = len(queries())
        go.touch()
        said = finish(promoter)
        assert said.code == 0, said.out
        after = len(queries())
        eventually(lambda: len(queries()) >= after + 3, while_=reads)
        stop.touch()
        said = finish(reader)
        assert said.code == 0, said.out
    finally:
        for process in (promoter, reader):
            if process is not None and process.poll() is None:
                print(kill(process))

    assert after - before >= 5, "too few queries ran during the promotions"
    assert set(queries()) == {f"1 1 1 1 {ROWS}", f"2 2 2 2 {ROWS}"}
    assert queries()[-1].startswith("1 ")

    # the other release's project: were the views made on the spot, nothing would differ; so look at who owns them
    asked = backfill("sql", "--json", "SHOW VIEWS IN prod", project=second, env=environment)
    assert asked.code == 0, asked.err
    assert {row["viewName"]: row["isTemporary"] for row in asked.json} == {"daily": False, "running": False}


def programs_of_postgres() -> Path:
    """Where Debian's packages put the server's programs; a test without them is no test."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")) or [
        Path(p).resolve() for p in (shutil.which("pg_ctl"),) if p
    ]
    if not found:
        pytest.fail("no PostgreSQL server on this machine; install it with: apt-get install -y postgresql")
    return found[-1].parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
