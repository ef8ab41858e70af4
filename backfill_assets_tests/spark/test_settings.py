"""Are the settings that ship ones that Spark and Delta know? A misspelt one does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill_assets.adapters.machine import read_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHIPPED = Path(__file__).parents[2] / "spark-conf"


@pytest.mark.parametrize("folder", [".", "metastore", "s3"])
def test_settings_of_sql_are_known(spark: SparkSession, folder: str) -> None:
    static = {"spark.sql.extensions", "spark.sql.catalogImplementation", "spark.sql.catalog.spark_catalog"}
    delta: Any = spark._jvm.org.apache.spark.sql.delta.sources.DeltaSQLConf  # pyright: ignore
    delta.DELTA_LOG_CACHE_SIZE()  # Delta's settings are known once the class is loaded
    names = [n for n in read_conf(SHIPPED / folder) if n.startswith(("spark.sql.", "spark.databricks."))]
    assert len(names) > 4
    assert [n for n in names if n not in static and not spark.conf.isModifiable(n)] == []


def test_few_tables_are_kept_in_memory(spark: SparkSession) -> None:
    """Some 2 MB of heap each: a session of a long run, over many tables, would fill with them."""
    conf: Any = spark._jvm.org.apache.spark.sql.delta.sources.DeltaSQLConf  # pyright: ignore
    assert int(spark.conf.get(conf.DELTA_LOG_CACHE_SIZE().key())) <= 100
