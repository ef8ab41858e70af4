"""Are the settings that ship ones that Spark and Delta know? A misspelt one does nothing."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from backfill_assets.adapters.cluster import probe_executors
from backfill_assets.adapters.machine import read_conf
from backfill_assets.adapters.session import engine_session, spark_session
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.project.spark_settings import SPARKS_OWN
from backfill_assets_tests.projects import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHIPPED = Path(__file__).parents[2] / "spark-conf"
FOLDERS = sorted(file.parent.name for file in SHIPPED.rglob("spark-defaults.conf"))
FREE = ("spark.hadoop.", "spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.sql.", "spark.databricks.")
"""Beginnings of settings that end as one likes, or are looked at by the next test."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_settings_of_spark_are_known(spark: SparkSession, folder: str) -> None:
    """Those of Kubernetes as well, which is in PySpark's jars."""
    apache: Any = spark._jvm.org.apache.spark  # pyright: ignore
    apache.deploy.k8s.Config.KUBERNETES_NAMESPACE()  # its settings are known once the class is loaded
    names = [n for n in read_conf(_folder(folder)) if not n.startswith(FREE) and n != "spark.master"]
    assert len(names) > 4 and apache.internal.config.ConfigEntry.findEntry("spark.nonsense") is None
    assert [n for n in names if apache.internal.config.ConfigEntry.findEntry(n) is None] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_settings_of_sql_are_known(spark: SparkSession, folder: str) -> None:
    static = {"spark.sql.extensions", "spark.sql.catalogImplementation", "spark.sql.catalog.spark_catalog"}
    delta: Any = spark._jvm.org.apache.spark.sql.delta.sources.DeltaSQLConf  # pyright: ignore
    delta.DELTA_LOG_CACHE_SIZE()  # Delta's settings are known once the class is loaded
    names = [n for n in read_conf(_folder(folder)) if n.startswith(("spark.sql.", "spark.databricks."))]
    assert len(names) > 4
    assert [n for n in names if n not in static and not spark.conf.isModifiable(n)] == []


@pytest.mark.parametrize("name", SPARKS_OWN)
def test_what_spark_has_of_its_own(spark: SparkSession, name: str) -> None:
    """A configuration that says the same decides nothing. The shared session sets but one of them, as it is anyway."""
    assert spark.conf.get(name) == SPARKS_OWN[name]


def test_local_time_is_utc(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the machine's zone: what a UDF and whoever collects rows get of an instant, and what a datetime without
    a zone is taken for. One version would hold rows of two zones."""
    from pyspark.sql import functions as F

    at = datetime(2024, 1, 2, 9, 7)
    spark.sparkContext.environment.pop("TZ", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/Los_Angeles")
        time.tzset()
        assert at.astimezone().utcoffset() == timedelta(hours=-8)
        settings = Settings(warehouse=str(tmp_path))
        assert spark_session(tmp_path, settings) is spark and os.environ["TZ"] != "UTC", "who reads keeps their time"
        assert engine_session(tmp_path, settings, long=False) is spark
        assert at.astimezone().utcoffset() == timedelta(0) and os.environ["TZ"] == "UTC"
        assert spark.sparkContext.environment["TZ"] == "UTC"
        hour = F.udf(lambda t: t.hour, "int")
        rows = spark.sql("SELECT TIMESTAMP '2024-01-02 09:07:00' AS t")
        assert [tuple(r) for r in rows.select("t", hour("t"), F.col("t") == F.lit(at)).collect()] == [(at, 9, True)]
    os.environ["TZ"] = "UTC"
    time.tzset()


def _folder(name: str) -> Path:
    return SHIPPED if name == SHIPPED.name else SHIPPED / name


def test_few_tables_are_kept_in_memory(spark: SparkSession) -> None:
    """Some 2 MB of heap each: a session of a long run, over many tables, would fill with them."""
    conf: Any = spark._jvm.org.apache.spark.sql.delta.sources.DeltaSQLConf  # pyright: ignore
    assert int(spark.conf.get(conf.DELTA_LOG_CACHE_SIZE().key())) <= 100


def test_executors_tell_who_they_are(spark: SparkSession) -> None:
    """As `doctor` asks those of a cluster; where none is free, it does not wait for ever."""
    assert f"with Python {sys.version.split()[0]}" in probe_executors(spark)
    context = spark.sparkContext
    cores = context.defaultParallelism
    busy = Thread(target=lambda: context.parallelize(range(cores), cores).foreach(lambda _: time.sleep(4)))
    busy.start()
    eventually(lambda: len(context.statusTracker().getActiveStageIds()) > 0, within=60)
    with pytest.raises(SettingsError, match="no executor of local"):
        probe_executors(spark, within=0.5)
    busy.join()
