"""Where does a process's one Spark session come from? Opened on first use, from `spark-conf/` and the settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.jvm import LOCK, current_jvm, errors_reach_people_as_ours, own_words
from backfill_assets.adapters.machine import check_java, check_room, conf_dir, delta_jars, read_conf
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.project.settings import state_root
from backfill_assets.project.spark_settings import SESSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_machine(root: Path, settings: Settings) -> None:
    """Raise SettingsError when no session could be opened here: no Java, an old one, no room on disk. Opens none."""
    if os.environ.get("SPARK_REMOTE") or (read_conf(conf_dir(root)) | settings.spark).get("spark.remote"):
        return
    if "pyspark" in sys.modules and current_jvm() is not None:
        return
    check_java()
    check_room(settings.warehouse)


def spark_session(root: Path, settings: Settings) -> SparkSession:
    """The process's session; later calls give the same one.

    Raises SettingsError when Java, the jars or disk room are missing, before any JVM is started.
    """
    with LOCK:
        errors_reach_people_as_ours()
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        folder = conf_dir(root)
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
        for key, value in given.items():
            builder = builder.config(key, value)
        log = state_root(root) / ".backfill" / "spark.log"
        try:
            with own_words(log):
                return builder.getOrCreate()
        except PySparkException as error:
            raise SettingsError(
                "Spark did not start",
                why=str(error).strip().splitlines()[0],
                fix=f"run `backfill doctor`; Spark's own words are in {log}",
            ) from None
