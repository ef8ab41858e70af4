"""How Spark's files come to a local disk: with the permissions that Hadoop gives them, without a process for each."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from backfill_assets_tests.own_jars import JARS, has_compiler, make


def file_system(spark: SparkSession, name: str) -> Any:
    """Hadoop's own, or ours."""
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    found = getattr(jvm, "org.apache.hadoop.fs").RawLocalFileSystem() if name == "hadoop" else ours(spark).getRaw()
    found.setConf(spark._jsc.hadoopConfiguration())  # type: ignore[attr-defined]
    return found


def ours(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    uri, conf = jvm.java.net.URI("file:///"), spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    return jvm.org.apache.hadoop.fs.FileSystem.get(uri, conf)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_permissions_are_those_that_hadoop_gives(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Whatever there was before: a folder keeps the bit by which what is made in it is of its group."""
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    found: dict[str, list[str]] = {}
    for name in ("hadoop", "ours"):
        system = file_system(spark, name)
        for before in (0o600, 0o644, 0o664, 0o755, 0o2775, 0o1777):
            for wanted in (0o644, 0o755, 0o700, 0o1777):
                place = tmp_path / f"{name} {before:o} {wanted:o}"
                place.mkdir() if kind == "folder" else place.write_text("x")
                place.chmod(before)
                path = jvm.org.apache.hadoop.fs.Path(str(place))
                system.setPermission(path, jvm.org.apache.hadoop.fs.permission.FsPermission(f"{wanted:o}"))
                found.setdefault(name, []).append(f"{before:o} {wanted:o}: {place.stat().st_mode & 0o7777:o}")
    assert found["ours"] == found["hadoop"]
    assert ("2775 755: 2755" in found["ours"]) == (kind == "folder")


@contextmanager
def started(spark: SparkSession, kept: Path) -> Generator[list[str]]:
    """The commands of the processes that the JVM starts meanwhile, as its flight recorder has them in this file."""
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    commands: list[str] = []
    recording, path = jvm.jdk.jfr.Recording(), jvm.java.io.File(str(kept)).toPath()
    recording.enable("jdk.ProcessStart")
    recording.start()
    try:
        yield commands
        recording.stop()
        recording.dump(path)
    finally:
        recording.close()
    commands += [event.getString("command") for event in jvm.jdk.jfr.consumer.RecordingFile.readAllEvents(path)]


def test_no_process_is_started(spark: SparkSession, tmp_path: Path) -> None:
    """For a table of 200 files; Hadoop's own classes start a thousand for it."""
    with started(spark, tmp_path / "ours.jfr") as commands:
        frame = spark.range(400).selectExpr("id", "int(id % 200) AS part")
        frame.write.format("delta").partitionBy("part").save(str(tmp_path / "table"))
        frame.write.format("delta").mode("append").save(str(tmp_path / "table"))  # a commit renames its log's entry
    assert len([*(tmp_path / "table").rglob("*.parquet")]) >= 200
    # The JVM collects sessions of other tests whenever it likes; Spark removes what such a one kept with `rm`.
    assert [command for command in commands if "/artifacts-" not in command] == []
    assert spark.read.format("delta").load(str(tmp_path / "table")).count() == 800
    made = {oct(p.stat().st_mode & 0o777) for p in (tmp_path / "table").rglob("*")}
    assert made <= {"0o644", "0o755"}


def test_started_processes_are_seen(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop's own class starts one to set a file's permissions."""
    place = tmp_path / "file"
    place.touch()
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    with started(spark, tmp_path / "hadoop.jfr") as commands:
        file_system(spark, "hadoop").setPermission(
            jvm.org.apache.hadoop.fs.Path(str(place)), jvm.org.apache.hadoop.fs.permission.FsPermission("600")
        )
    assert ["chmod" in command for command in commands] == [True]


@pytest.mark.skipif(not has_compiler(), reason="only javac 17 makes the same bytes")
@pytest.mark.parametrize("jar", JARS, ids=lambda jar: jar.path.name)
def test_jars_are_made_of_their_sources(jar: Any, tmp_path: Path) -> None:
    """By javac 17; and they are those whose hashes are checked before a JVM loads them."""
    make(jar, tmp_path / "made.jar")
    assert (tmp_path / "made.jar").read_bytes() == jar.checked().read_bytes()
