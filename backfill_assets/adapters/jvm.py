"""Is the JVM behind the process's Spark session there? And how is one let go of that is not?

PySpark keeps the context, the gateway and the session in class attributes, and has no way to start over.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

LOCK = threading.Lock()
"""Held by whoever opens a session or lets go of one."""


def current_jvm() -> object | None:
    """The gateway of the process's JVM; None where there is none, or the session is a remote one."""
    return _context()._gateway


def jvm_answers(jvm: object | None = None) -> bool:
    """Whether the process's JVM is there, and still the one that is meant. Of a remote session it is not known."""
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


def forget_session() -> None:
    """Let go of a session whose JVM died, so that the next one is opened in a new JVM; what is left of it is killed."""
    from pyspark.sql import SparkSession

    session: Any = SparkSession
    with LOCK:
        context = _context()
        gateway, server = context._gateway, getattr(context._active_spark_context, "_accumulatorServer", None)
        session._instantiatedSession = session._activeSession = None
        context._active_spark_context = context._gateway = context._jvm = None
        if server is not None:
            server.shutdown()
        if (process := getattr(gateway, "proc", None)) is not None:
            process.kill()
            process.wait()
            with suppress(OSError):
                process.stdin.close()


def _context() -> Any:
    from pyspark import SparkContext

    return SparkContext
