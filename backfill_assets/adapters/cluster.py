"""Is Spark's configuration one of a cluster, and can its executors work with this process? Asked before a session is
opened, and, by `doctor`, of the executors themselves."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Mapping
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.machine import cluster_of
from backfill_assets.adapters.spark_errors import causes, spark_reason
from backfill_assets.core.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHIN = 120.0
"""Seconds in which an executor has to answer `doctor`. YARN and Kubernetes start them as they are needed."""
_VARIABLE = re.compile(r"\$\{env:(\w+)\}")
_HERE = ("127.", "localhost", "::1", "[::1]")


def check_driver(conf: Mapping[str, str]) -> None:
    """Raise SettingsError where executors of a cluster could not reach the driver, which is this process: Spark itself
    would wait for ever."""
    if (master := cluster_of(conf)) is None:
        return
    for name, value in sorted(conf.items()):
        for variable in _VARIABLE.findall(value):
            if variable not in os.environ:
                raise SettingsError(
                    f"the environment variable {variable} is not set",
                    why=f"`{name}` is {value} in the configuration of Spark on {master}",
                    fix=f"set {variable}, or write a value; see `backfill docs clusters`",
                )
    host, bound = (_known(conf.get(f"spark.driver.{name}", "")) for name in ("host", "bindAddress"))
    named = re.sub(r"^spark://", "", master)
    for name, value in (("spark.driver.host", host), ("spark.driver.bindAddress", bound)):
        if value.startswith(_HERE) and not named.startswith(_HERE):
            raise SettingsError(
                "executors cannot reach this process",
                why=f"`{name}` is {value}, and Spark's master is {master}",
                fix="use the configuration of clusters, SPARK_CONF_DIR=…/spark-conf/standalone (or yarn, kubernetes), "
                f"or give `{name}` an address of this machine that executors reach; see `backfill docs clusters`",
            )


def _known(value: str) -> str:
    return _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), value)


def python_of_executors(conf: Mapping[str, str]) -> str:
    """The Python that executors start: `spark.pyspark.python`, else the path of this process's own."""
    return conf.get("spark.pyspark.python") or sys.executable


def probe_executors(spark: SparkSession, *, within: float = WITHIN) -> str:
    """Let executors run a little Python; who they are. Raises SettingsError where none comes, or its Python cannot do
    what this process sends."""
    session: Any = spark
    context, tag, over = session.sparkContext, f"doctor-{uuid.uuid4().hex}", Event()

    def give_up() -> None:
        wait = within
        while not over.wait(wait):  # again: the job may not have been there yet
            late.set()
            context.cancelJobsWithTag(tag)
            wait = 1.0

    def who(_: object) -> list[tuple[str, str, str]]:  # sent by value: executors need not have this package
        import importlib.util
        import socket
        import sys

        lacks = " ".join(name for name in ("pandas", "pyarrow") if importlib.util.find_spec(name) is None)
        return [(socket.gethostname(), sys.version.split()[0], lacks)]

    late = Event()
    Thread(target=give_up, name=tag, daemon=True).start()
    context.addJobTag(tag)
    try:
        found: list[tuple[str, str, str]] = context.parallelize(range(_TASKS), _TASKS).mapPartitions(who).collect()
    except Exception as error:
        raise _silent(context, within) if late.is_set() else _other(error) from None
    finally:
        over.set()
        context.removeJobTag(tag)
    hosts, pythons, lacks = (sorted({one[i] for one in found}) for i in range(3))
    if lacking := sorted({name for one in lacks for name in one.split()}):
        raise SettingsError(
            f"executors' Python lacks {', '.join(lacking)}",
            why=f"executors on {', '.join(hosts)} run Python models and UDFs with it",
            fix=_PYTHON,
        )
    return f"executors on {', '.join(hosts)} answer, with Python {', '.join(pythons)}"


_TASKS = 4
_PYTHON = (
    "install the same Python, with the packages of this project, at one path of all nodes, and name it by "
    "PYSPARK_PYTHON or `spark.pyspark.python`; see `backfill docs clusters`"
)


def _silent(context: Any, within: float) -> SettingsError:
    conf = context.getConf()
    return SettingsError(
        f"no executor of {context.master} worked within {within:.0f} s",
        why="none has free cores and the memory that `spark.executor.memory` wants, or none reaches this process at "
        f"{_known(conf.get('spark.driver.host'))}:{conf.get('spark.driver.port')}",
        fix="look at the master's page and at the executors' logs; see `backfill docs clusters`",
    )


def _other(error: Exception) -> SettingsError:
    if found := re.search(r"\[PYTHON_VERSION_MISMATCH\]([^\n]*)", str(error)):
        return SettingsError("executors have another Python", why=found[1].strip(), fix=_PYTHON)
    return SettingsError("executors cannot run Python", why=spark_reason(causes(error)), fix=_PYTHON)
