"""Where does a process's one Spark session come from? Opened on first use, from `spark-conf/` and the settings."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.class_archive import before_folders, sharing
from backfill_assets.adapters.cluster import check_driver, python_of_executors
from backfill_assets.adapters.commit_log import LOG_STORE_JAR, log_store_settings
from backfill_assets.adapters.jvm import LOCK, current_jvm, errors_reach_people_as_ours, own_words, spare_test_tools
from backfill_assets.adapters.local_disk import LOCAL_FILES_JAR, local_files_settings, umask_settings
from backfill_assets.adapters.machine import (
    JAVA_OPTIONS,
    all_compilers,
    check_java,
    check_room,
    check_versioned,
    cluster_of,
    delta_jars,
    java_build,
    read_conf,
    server_of,
    session_conf,
    ships,
    spark_conf,
)
from backfill_assets.adapters.server import session_of_server
from backfill_assets.adapters.spark_errors import causes, spark_reason
from backfill_assets.adapters.warm_session import join, key_of, serve
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.project.object_store import access, bucket_of, is_s3
from backfill_assets.project.settings import state_root
from backfill_assets.project.source_places import source_places
from backfill_assets.project.spark_settings import SESSION, SPARKS_OWN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_machine(root: Path, settings: Settings) -> None:
    """Raise SettingsError when no session could be opened here: a configuration by which rows would be others than
    versions say, no Java, an old one, no room on disk. Opens none."""
    folder = session_conf(root, settings)
    check_versioned(folder, settings)
    if server_of(read_conf(folder) | settings.spark) is not None:
        return
    if "pyspark" not in sys.modules or current_jvm() is None:
        check_java()
    check_room(settings.warehouse)


def spark_session(root: Path, settings: Settings, *, long: bool = False) -> SparkSession:
    """The process's session; later calls give the same one. It reaches the warehouse, and the project's sources. One
    that is opened for `long` work has the JVM's optimizing compiler, unless the project's configuration is its own.

    Raises SettingsError when Java, the jars or disk room are missing, or a bucket cannot be reached, before any JVM is
    started; when Spark's configuration has no way to one, or decides rows; and for a server that is away, or would give
    other rows.
    """
    with LOCK:
        errors_reach_people_as_ours()
        folder = session_conf(root, settings)
        check_versioned(folder, settings)
        if (server := server_of(conf := read_conf(folder) | settings.spark)) is not None:
            return session_of_server(server, conf, settings)
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        spare_test_tools()
        wanted = _wanted(root, settings)
        builder = SparkSession.builder.appName(f"backfill {settings.name}")
        os.environ.setdefault("PYSPARK_PYTHON", python_of_executors(conf))
        if (kept := join(state_root(root), wanted.key)) is not None:
            return kept
        os.environ["SPARK_CONF_DIR"] = str(wanted.folder)
        if wanted.hive:
            builder = builder.enableHiveSupport()
        config = dict(wanted.config)
        if long and (options := all_compilers(wanted.folder, settings)):
            config[JAVA_OPTIONS] = options
        if wanted.archive is not None:
            java, path, given = wanted.archive
            options = config.get(JAVA_OPTIONS, given)
            if more := sharing(java, path, options):
                config[JAVA_OPTIONS] = f"{options} {more}".strip()
        for key, value in config.items():
            builder = builder.config(key, value)
        log = state_root(root) / ".backfill" / "spark.log"
        try:
            with own_words(log):
                session = builder.getOrCreate()
                _check_own(session, settings)
        except PySparkException as error:
            raise SettingsError(
                "Spark did not start",
                why=str(error).strip().splitlines()[0],
                fix=f"run `backfill doctor`; Spark's own words are in {log}",
            ) from None
        if wanted.buckets:
            _check_way(session, wanted=is_s3(settings.warehouse))
        return session


def engine_session(root: Path, settings: Settings, *, long: bool) -> SparkSession:
    """The same for a process that builds, compares or shows: UTC is its local time from here on, and that of its Python
    workers, wherever they are. Spark takes a datetime without a zone for one of local time, and gives TIMESTAMPs so, to
    UDFs as to whoever collects rows. (Workers of a server of Spark Connect have its local time.)"""
    _in_utc()
    session = spark_session(root, settings, long=long)
    context: Any = getattr(session, "sparkContext", None)
    if context is not None:
        context.environment["TZ"] = "UTC"
    return session


def _in_utc() -> None:
    os.environ["TZ"] = "UTC"
    time.tzset()


def _check_own(session: SparkSession, settings: Settings) -> None:
    """Raise SettingsError where a variable, or another file, made a session that was just opened decide rows otherwise
    than the project says."""
    wanted = {**SPARKS_OWN, **{n: v for n, v in settings.spark.items() if n in SPARKS_OWN}}
    for name, value in wanted.items():
        if (there := str(session.conf.get(name))).lower() != value.lower():
            session.stop()
            raise SettingsError(
                f"the Spark session has {name} = {there}: that can change results, and is in no model's version",
                why="a variable such as PYSPARK_SUBMIT_ARGS, or a file of Spark's, sets it",
                fix=f"remove it there; or write `{name}: {there}` below `spark:` in backfill.yml, which makes new "
                "versions of all models",
            )


def keep_session(root: Path, settings: Settings, *, idle: float, ready: Callable[[], None]) -> str:
    """Open a session, call `ready`, and let this project's commands use it until nobody did for `idle` seconds; why it
    ended. Raises SettingsError as `spark_session` does, and for sessions that cannot be shared; StateError when another
    process keeps one."""
    _in_utc()
    cannot = "no session is kept for this project"
    if server_of(spark_conf(root, settings)) is not None:
        raise SettingsError(cannot, why="its Spark is a server's, which runs anyway", fix="go on without")
    wanted = _wanted(root, settings)
    if wanted.hive:
        raise SettingsError(cannot, why="its catalog is shared with others", fix="go on without")
    session = spark_session(root, settings)
    return serve(session, state_root(root), wanted.key, idle=idle, ready=ready)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """How a project wants its session."""

    folder: Path
    """Of Spark's configuration."""
    config: Mapping[str, str]
    hive: bool
    buckets: bool
    """Whether it reads or writes some."""
    key: str
    """What a session that is kept for it is of."""
    archive: tuple[str, str, str] | None
    """What an archive of classes is of: Java's build, the class path, the JVM's options. None: it has none."""


def _wanted(root: Path, settings: Settings) -> _Wanted:
    places = [place for place in (settings.warehouse, *source_places(root)) if is_s3(place)]
    folder = session_conf(root, settings)
    conf = read_conf(folder) | settings.spark
    given = settings.spark | SESSION
    archive: tuple[str, str, str] | None = None
    check_driver(conf)
    java = java_build()
    check_room(settings.warehouse, to_write=False)  # whoever builds was asked before (`check_machine`); `sql` reads
    store = log_store_settings(conf) if is_s3(settings.warehouse) else {}
    given |= store | umask_settings(conf, settings.warehouse)
    jars = [str(LOG_STORE_JAR.checked())] if store else []
    if cluster_of(conf) is None:
        if local := local_files_settings(conf):
            given |= local
            jars.append(str(LOCAL_FILES_JAR.checked()))
        # Known jars on the class path start seconds faster than packages to resolve and copy.
        path = os.pathsep.join((*map(str, delta_jars(folder)), *jars))
        if own := conf.get("spark.driver.extraClassPath"):  # it may have folders
            path = os.pathsep.join(p for p in (own, path) if p)
        else:
            path = before_folders(path)
            archive = (java, path, conf.get(JAVA_OPTIONS, ""))
        given["spark.driver.extraClassPath"] = path
        given.setdefault("spark.jars.packages", "")
    else:  # executors get them from this process; what else it names, Spark fetches at each start
        if ships(folder) and "spark.jars.packages" not in settings.spark:
            jars = [*map(str, delta_jars(folder)), *jars]
            given["spark.jars.packages"] = ""
        if jars:
            given["spark.jars"] = ",".join(p for p in (conf.get("spark.jars"), *jars) if p)
    if "spark.sql.warehouse.dir" not in conf:
        given["spark.sql.warehouse.dir"] = str(state_root(root) / ".backfill" / "spark-warehouse")
    buckets: dict[str, str] = {}
    for place in places:
        try:
            buckets |= access(place).hadoop(bucket_of(place))
        except SettingsError:
            if place == settings.warehouse:  # a source is told by what reads it, if anything does
                raise
    config = buckets | given
    return _Wanted(
        folder=folder,
        config=config,
        hive=conf.get("spark.sql.catalogImplementation") == "hive",
        buckets=bool(places),
        archive=archive,
        key=key_of(folder, config),
    )


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
            "that folder: SPARK_CONF_DIR=…/spark-conf/s3; see `backfill docs object-stores`",
        ) from None
