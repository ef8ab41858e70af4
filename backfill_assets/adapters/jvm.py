"""Is the JVM behind the process's Spark session there? And how is one let go of that is not?

PySpark keeps the context, the gateway and the session in class attributes, and has no way to start over.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.session_kind import is_remote, open_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_WORDS = 10_000_000
"""Bytes that the file of JVMs' own words may have before the next one begins it anew."""
OUT_OF_MEMORY = (52, 3)
"""How Spark ends its JVM (`SparkExitCode.OOM`), and a JVM itself that is told to (`-XX:+ExitOnOutOfMemoryError`)."""
ENDS_WITHIN = 10
"""Seconds that a JVM which does not answer may take to end."""
LOCK = threading.Lock()
"""Held by whoever opens a session or lets go of one."""


def current_jvm() -> object | None:
    """The gateway of the process's JVM; None where there is none, or the session is a remote one."""
    return _context()._gateway


def errors_reach_people_as_ours() -> None:
    """Keep Spark's clients from logging errors that are raised anyway: a page of JSON for each that PySpark raises, and
    a traceback, through the root logger, where a connection to a JVM that died is reset."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True
    logging.getLogger().addFilter(_said_anyway)


def spare_test_tools() -> None:
    """Let PySpark tell numpy's values among the arguments of calls without its test tools, which it imports to learn
    whether there is a numpy, and pandas with them: half a second of each process."""
    from pyspark.sql import types

    module: Any = types
    module.NumpyScalarConverter.can_convert = partial(_is_numpy, "generic")
    module.NumpyArrayConverter.can_convert = partial(_is_numpy, "ndarray")


def sql_with(session: SparkSession, query: str, arguments: Mapping[str, object]) -> DataFrame:
    """`session.sql` with named arguments, for a session with a JVM. PySpark's own makes columns of them by its `lit`,
    which imports its test tools, too."""
    from pyspark.sql.classic.dataframe import DataFrame as Frame

    inner: Any = session
    literal = inner._jvm.org.apache.spark.sql.functions.lit
    columns = {name: literal(value) for name, value in arguments.items()}
    return Frame(inner._jsparkSession.sql(query, columns), session)


def _is_numpy(kind: str, value: Any) -> bool:
    there = isinstance(value, getattr(sys.modules.get("numpy"), kind, ()))
    return there and (kind == "generic" or value.ndim == 1)


def _said_anyway(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command."


@contextmanager
def own_words(file: Path) -> Generator[None]:
    """What a JVM that is started meanwhile writes to standard error goes to the end of a file: warnings about its own
    modules, and log lines. Where no such file can be written, the terminal gets them."""
    from pyspark import java_gateway

    module: Any = java_gateway
    start = module.Popen
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        yield
        return
    if os.fstat(log).st_size > MOST_WORDS:
        os.truncate(log, 0)
    module.Popen = partial(start, stderr=log)
    try:
        yield
    finally:
        module.Popen = start
        os.close(log)


def jvm_answers(jvm: object | None = None) -> bool:
    """Whether the process's JVM is there, and still the one that is meant. A server is asked whether it is there."""
    if (remote := jvm if is_remote(jvm) else open_remote()) is not None:
        return remote.answers()
    gateway: Any = current_jvm()
    if jvm is not None and gateway is not jvm:
        return False
    if gateway is None:
        return True
    try:
        process = getattr(gateway, "proc", None)
        if process is not None and process.poll() is not None:
            return False
        gateway.jvm.java.lang.System.nanoTime()
    except Exception:
        return False
    return True


def ran_out_of_memory(jvm: object | None = None) -> bool:
    """Whether a JVM that does not answer any more ended itself because its heap was full, as its exit code says."""
    if is_remote(jvm):
        return False
    gateway: Any = jvm or current_jvm()
    if (process := getattr(gateway, "proc", None)) is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        return process.wait(ENDS_WITHIN) in OUT_OF_MEMORY
    return False


def lent_by(connection: socket.socket) -> None:
    """The process's JVM is another one's, which ends it when this connection is closed without a word."""
    _context()._gateway.lent_by = connection


def forget_session() -> None:
    """Let go of a session whose JVM died, so that the next one is opened in a new JVM; what is left of it is killed.

    A server's session is ended: what the server still does for it is interrupted, if it can be reached.
    """
    from pyspark.sql import SparkSession

    session: Any = SparkSession
    with LOCK:
        if (remote := open_remote()) is not None:
            remote.stop()
            return
        context = _context()
        gateway, server = context._gateway, getattr(context._active_spark_context, "_accumulatorServer", None)
        session._instantiatedSession = session._activeSession = None
        context._active_spark_context = context._gateway = context._jvm = None
        if server is not None:
            server.shutdown()
        if gateway is not None and (connection := vars(gateway).get("lent_by")) is not None:  # it has any attribute
            connection.close()
        if (process := getattr(gateway, "proc", None)) is not None:
            process.kill()
            process.wait()
            with suppress(OSError):
                process.stdin.close()


def _context() -> Any:
    from pyspark import SparkContext

    return SparkContext
