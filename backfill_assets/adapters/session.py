"""Where does a process's one Spark session come from? Opened on first use, from `spark-conf/` and the settings."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.jvm import LOCK, current_jvm, errors_reach_people_as_ours, own_words
from backfill_assets.adapters.machine import check_java, check_room, conf_dir, delta_jars, read_conf
from backfill_assets.adapters.spark_errors import causes, spark_reason
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.project.object_store import access, bucket_of, is_s3
from backfill_assets.project.settings import state_root
from backfill_assets.project.source_places import source_places
from backfill_assets.project.spark_settings import SESSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_machine(root: Path, settings: Settings) -> None:
    """Raise SettingsError when no session could be opened here: no Java, an old one, no room on disk. Opens none."""
    folder = conf_dir(root, s3=is_s3(settings.warehouse))
    if os.environ.get("SPARK_REMOTE") or (read_conf(folder) | settings.spark).get("spark.remote"):
        return
    if "pyspark" in sys.modules and current_jvm() is not None:
        return
    check_java()
    check_room(settings.warehouse)


def spark_session(root: Path, settings: Settings) -> SparkSession:
    """The process's session; later calls give the same one. It reaches the warehouse, and the project's sources.

    Raises SettingsError when Java, the jars or disk room are missing, or a bucket cannot be reached, before any JVM is
    started; and when Spark's configuration has no way to one.
    """
    with LOCK:
        errors_reach_people_as_ours()
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        places = [place for place in (settings.warehouse, *source_places(root)) if is_s3(place)]
        folder = conf_dir(root, s3=bool(places))
        conf = read_conf(folder) | settings.spark
        remote = os.environ.get("SPARK_REMOTE") or conf.get("spark.remote")
        given = settings.spark | SESSION
        builder = SparkSession.builder.appName(f"backfill {settings.name}")
        if remote:
            builder = builder.remote(remote)
        else:
            check_java()
            check_room(settings.warehouse)
            os.environ["SPARK_CONF_DIR"] = str(folder)
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            if conf.get("spark.master", "local[*]").startswith("local"):
                # Known jars on the class path start seconds faster than packages to resolve and copy.
                jars = os.pathsep.join(str(jar) for jar in delta_jars(folder))
                own = conf.get("spark.driver.extraClassPath")
                given["spark.driver.extraClassPath"] = os.pathsep.join(p for p in (own, jars) if p)
                builder = builder.config("spark.jars.packages", "")
            if "spark.sql.warehouse.dir" not in conf:
                builder = builder.config(
                    "spark.sql.warehouse.dir", str(state_root(root) / ".backfill" / "spark-warehouse")
                )
            if conf.get("spark.sql.catalogImplementation") == "hive":
                builder = builder.enableHiveSupport()
        buckets: dict[str, str] = {}
        for place in places:
            try:
                buckets |= access(place).hadoop(bucket_of(place))
            except SettingsError:
                if place == settings.warehouse:  # a source is told by what reads it, if anything does
                    raise
        for key, value in (buckets | given).items():
            builder = builder.config(key, value)
        log = state_root(root) / ".backfill" / "spark.log"
        try:
            with own_words(log):
                session = builder.getOrCreate()
        except PySparkException as error:
            raise SettingsError(
                "Spark did not start",
                why=str(error).strip().splitlines()[0],
                fix=f"run `backfill doctor`; Spark's own words are in {log}",
            ) from None
        if places and not remote:
            _check_way(session, wanted=is_s3(settings.warehouse))
        return session


def _check_way(session: SparkSession, *, wanted: bool) -> None:
    """Let `s3://` be what `s3a://` is to Spark, where it is nothing. Raises SettingsError when both are (`wanted`)."""
    from py4j.protocol import Py4JError

    inner: Any = session
    known, conf = inner._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass, inner._jsc.hadoopConfiguration()
    with suppress(Py4JError):
        known("s3", conf)
        return
    try:
        conf.set("fs.s3.impl", known("s3a", conf).getName())
    except Py4JError as error:
        if not wanted:  # a source is told by what reads it, if anything does
            return
        raise SettingsError(
            "Spark cannot reach s3://",
            why=spark_reason(causes(error)),
            fix="take the jars and the lines `spark.hadoop.fs.` of spark-conf/s3/ into your own configuration, or use "
            "that folder: SPARK_CONF_DIR=…/spark-conf/s3; see docs/object-stores.md",
        ) from None
