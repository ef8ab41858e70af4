"""Two processes that commit the same number in S3, at the same moment: who of them is told that it won?

Each is a JVM with Hadoop's client and a log store, without Spark; then two Spark drivers that append to one table.
COLLISIONS=200 forces as many of the former, DRIVER_COLLISIONS=20 of the latter.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from backfill_assets.adapters import commit_log
from backfill_assets.project.object_store import delta_options
from backfill_assets_tests.buckets import BUCKET, keys, object_store
from backfill_assets_tests.projects import clean_environment, finish, script, start

pytestmark = pytest.mark.spark

COLLISIONS = int(os.environ.get("COLLISIONS", "20"))
DRIVER_COLLISIONS = int(os.environ.get("DRIVER_COLLISIONS", "2"))
NAMES = ("one", "another")
DELTAS_OWN = "io.delta.storage.S3SingleDriverLogStore"
TAKEN = "java.nio.file.FileAlreadyExistsException"

WRITER = """
    import json, sys
    from pathlib import Path
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
    from py4j.protocol import Py4JJavaError
    from backfill_assets.adapters.commit_log import LOG_STORE_JAR, WRITER
    from backfill_assets.adapters.machine import delta_jars
    from backfill_assets.project.object_store import CREDENTIALS, access
    from backfill_assets_tests.own_jars import CONF

    name, folder, rounds, alone = sys.argv[1:]
    jars = Path(pyspark.__file__).parent / "jars"
    known = ":".join(map(str, [jars / "*", LOG_STORE_JAR.path, *delta_jars(CONF)]))
    port = launch_gateway(jarpath=str(next(jars.glob("py4j*.jar"))), classpath=known, die_on_exit=True)
    jvm = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    settings = {key.removeprefix("spark.hadoop."): said for key, said in access("s3://lake").hadoop("lake").items()}
    settings |= {"fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem", "fs.s3a.aws.credentials.provider": CREDENTIALS}
    for key, said in settings.items():
        conf.set(key, said)

    def outcome(store, table, number, line, writer):
        lines = jvm.java.util.ArrayList()
        lines.add(line or name)
        conf.set(WRITER, writer)
        path = jvm.org.apache.hadoop.fs.Path(f"s3://lake/{table}/_delta_log/{number:020}.json")
        try:
            getattr(jvm, store)(conf).write(path, lines.iterator(), False, conf)
        except Py4JJavaError as error:
            kind, said = error.java_exception.getClass().getName(), error.java_exception.getMessage()
            return kind if "FileAlreadyExists" in kind else f"{kind}: {said}"
        return "won"

    Path(folder, name).write_text(json.dumps([outcome(*each) for each in json.loads(rounds)]))
    if name == "one":
        Path(folder, "fenced").write_text(json.dumps([outcome(*each) for each in json.loads(alone)]))
"""
DRIVER = """
    import sys
    from pathlib import Path
    from backfill_assets.adapters.session import spark_session
    from backfill_assets.core.settings import Settings
    from backfill_assets_tests.projects import SMALL_SPARK

    name, root, times = sys.argv[1:]
    settings = Settings(warehouse="s3://lake/house", spark=SMALL_SPARK)
    spark = spark_session(Path(root), settings)
    for number in range(int(times)):
        rows = spark.range(1).selectExpr(f"'{name} {number}' AS who").coalesce(1)
        rows.write.format("delta").mode("append").save("s3://lake/meet/drivers")
    spark.stop()
"""


METADATA = '{{"metaData":{{"configuration":{{"delta.checkpointInterval":"50","backfill.writer":"{}"}}}}}}'


def entry(
    folder: str, number: int, *, line: str = "", writer: str = "", store: str = commit_log.LOG_STORE
) -> list[Any]:
    """What a process is told to write: by which log store, as which writer; "" for the line: its name."""
    return [store, folder, number, line, writer]


def fenced(folder: str) -> list[list[Any]]:
    """One process is the writer of a table, then another one takes over: that writes on, the first one does not."""
    return [
        entry(folder, 0, line=METADATA.format("first")),
        entry(folder, 1, line="{}", writer="first"),
        entry(folder, 2, line=METADATA.format("second")),
        entry(folder, 2, line="{}", writer="first"),
        entry(folder, 3, line="{}", writer="first"),
        entry(folder, 3, line="{}", writer="second"),
        entry(folder, 4, line="{}", writer="first"),
        entry(folder, 4, line="{}", writer="second"),
    ]


def in_two_processes(text: str, *arguments: str | Path) -> None:
    """Each is told its name, and has a folder of that name below the first argument."""
    there = clean_environment(BACKFILL_CACHE=os.environ["BACKFILL_CACHE"])
    started = [start(*script(text, name, *arguments), env=there) for name in NAMES]
    for said in [finish(process) for process in started]:
        assert said.code == 0, said.out[-6000:]


def test_of_two_that_write_one_commit_one_is_refused(tmp_path: Path) -> None:
    """Nothing is lost: the entry is that of the one that was told so. With Delta's own log store both are told so."""
    rounds = [
        *(entry("meet/theirs", number, store=DELTAS_OWN) for number in range(2)),
        *(entry("meet/ours", number) for number in range(COLLISIONS)),
    ]
    with object_store(racing=True) as client:
        in_two_processes(WRITER, tmp_path, json.dumps(rounds), json.dumps(fenced("fenced")))
        told = [json.loads((tmp_path / name).read_text()) for name in NAMES]
        both = list(zip(*told, strict=True))
        assert both[:2] == 2 * [("won", "won")]
        for number, outcomes in enumerate(both[2:]):
            assert sorted(outcomes) == [TAKEN, "won"], number
            stored = client.get_object(Bucket=BUCKET, Key=f"meet/ours/_delta_log/{number:020}.json")
            assert stored["Body"].read().decode() == NAMES[outcomes.index("won")] + "\n"
        refused = "java.io.IOException: another process has taken over s3://lake/fenced with commit 2"
        alone = [said.partition(": nothing")[0] for said in json.loads((tmp_path / "fenced").read_text())]
        assert alone == ["won", "won", "won", TAKEN, refused, "won", refused, "won"]


@pytest.mark.extended
def test_of_two_drivers_that_append_at_once_both_appends_are_there(tmp_path: Path) -> None:
    """The second of two that meet looks again, and commits after the first."""
    with object_store(racing=True, MEET_FOR="3") as client:
        table = f"s3://{BUCKET}/meet/drivers"
        empty = pa.table({"who": pa.array([], pa.string())})
        write_deltalake(table, empty, storage_options=delta_options(table))
        in_two_processes(DRIVER, tmp_path, str(DRIVER_COLLISIONS))
        rows = DeltaTable(table, storage_options=delta_options(table)).to_pyarrow_table()["who"].to_pylist()
        assert sorted(rows) == sorted(f"{name} {n}" for name in NAMES for n in range(DRIVER_COLLISIONS))
        assert len([key for key in keys(client, "meet/drivers/_delta_log/") if key.endswith(".json")]) == 1 + len(rows)
