"""Spark's own cluster of processes on this machine: executors that share no process with the driver."""

from __future__ import annotations

import json
import os
from pathlib import Path

from backfill_assets.adapters.machine import conf_dir, delta_jars
from backfill_assets_tests.projects import SMALL_SPARK

LOCAL_CLUSTER = {
    "spark.master": "local-cluster[1,1,512]",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "1",  # Spark itself would try again
    "spark.sql.shuffle.partitions": "1",
}


def on_a_local_cluster(root: Path) -> None:
    """Let the project of a folder run there, in a process with `a_spark_home`."""
    jars = os.pathsep.join(map(str, delta_jars(conf_dir(root))))
    settings = root / "backfill.yml"
    spark = {"spark": SMALL_SPARK | LOCAL_CLUSTER | {"spark.executor.extraClassPath": jars}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | spark))


def a_spark_home(folder: Path) -> Path:
    """PySpark's own files, in a place where workers may write: they keep their executors' folders there."""
    import pyspark

    home = folder / "spark-home"
    home.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        (home / part.name).symlink_to(part)
    return home
