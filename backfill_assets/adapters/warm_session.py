"""How do commands share one JVM? One process keeps it (`serve`); commands of the same project and settings `join` it.

One command at a time has it, with a session, a catalog and Python workers of its own, and says when it is done. One
that ends without a word (killed, interrupted) takes the JVM with it, as it would its own: nothing is written later.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import signal
import socket
import stat
import struct
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.jvm import current_jvm, jvm_answers, lent_by
from backfill_assets.core.digest import digest
from backfill_assets.core.errors import StateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DONE = b"done\n"
_PATIENCE = 30.0
"""Seconds that the other side may take to answer, on a machine that has much to do."""
_COUNTS = ("AWS_", "HADOOP_", "JAVA_", "JDK_", "LANG", "LC_", "PYSPARK_", "PYTHON", "SPARK_")
"""Beginnings of the names of environment variables that a JVM and its Python workers go by."""
_SET_BY_US = frozenset({"PYSPARK_PYTHON", "SPARK_CONF_DIR", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"})


def key_of(folder: Path, config: Mapping[str, str]) -> str:
    """What a session is of: commands with another key do not use it. `config`: what is set beside the files of the
    folder of Spark's configuration."""
    files = {f.name: f.read_bytes().hex() for f in folder.iterdir() if f.is_file()}
    given = {k: v for k, v in os.environ.items() if k.startswith(_COUNTS) and k not in _SET_BY_US}
    return digest(sys.executable, str(folder), files, dict(config), given)


def serve(session: SparkSession, home: Path, of: str, *, idle: float, ready: Callable[[], None]) -> str:
    """Let commands use the session's JVM until it was unused for `idle` seconds, or it is gone; why it ended.

    `home`: the folder that holds the project's state. Raises StateError when another process serves it already, and
    where no socket can be that only this account reaches.
    """
    place = socket_place(home)
    try:
        with suppress(FileExistsError):
            place.parent.mkdir(mode=0o700)
        if not _is_ours_alone(place.parent):
            raise StateError(
                f"{place.parent} is not this account's alone",
                why="whoever can enter it could use this account's Spark session",
                fix=f"remove it, or `chmod 700 {place.parent}`; or name another folder by TMPDIR",
            )
        server = _listening(place)
    except OSError as error:
        fix = "name a folder that can be written, of a short path, by TMPDIR; of commands, too"
        raise StateError(f"no session can be kept at {place}", why=error.strerror or str(error), fix=fix) from None
    with server:
        try:
            _clean(session)
            ready()
            server.settimeout(idle)
            return _serve_all(session, server, of) or f"nobody used it for {idle / 60:g} minutes"
        finally:
            with suppress(OSError):
                place.unlink()


def _serve_all(session: SparkSession, server: socket.socket, of: str) -> str:
    """Serve one command after the other; why it cannot go on, or "" when nobody came for too long."""
    while True:
        try:
            client, _ = server.accept()
        except TimeoutError:
            return ""
        with client:
            if not _serve_one(session, server, client, of):
                return "a command that used it was interrupted, or its JVM died"


def _serve_one(session: Any, server: socket.socket, client: socket.socket, of: str) -> bool:
    """Lend the JVM to one command, until it is done; whether it can be lent again. Others are told that it is busy."""
    import select

    client.settimeout(_PATIENCE)
    if not _is_own(client):
        return True
    try:
        asked = json.loads(_line(client))
    except (OSError, ValueError):
        return True
    if asked != {"key": of}:
        _say(client, {"refused": "other settings"})
        return True
    if not jvm_answers():
        _say(client, {"refused": "its JVM died"})
        return False
    gateway: Any = current_jvm()
    parameters = gateway.gateway_parameters
    if not _say(client, {"port": parameters.port, "secret": parameters.auth_token}):
        return True
    client.settimeout(None)
    while True:
        ready, _, _ = select.select([client, server], [], [])
        if server in ready:
            with suppress(OSError):
                other, _ = server.accept()
                with other:
                    _say(other, {"refused": "busy"})
        if client in ready:
            last = b""
            with suppress(OSError):
                last = client.recv(len(_DONE))
            if last == _DONE:
                return _clean(session)
            gateway.proc.kill()  # what it began must not be written after it is gone
            gateway.proc.wait()
            return False


def _clean(session: Any) -> bool:
    """Make the catalog that of a JVM that just started: one command sees no view that another one made. Whether the
    JVM lived through it.

    It is done before a command comes, and not while it waits: the first use of a catalog takes seconds.
    """
    try:
        _drop_all(session)
    except Exception:
        if jvm_answers():
            raise
        return False
    return True


def _drop_all(session: Any) -> None:
    catalog = session.catalog
    for database in [d.name for d in catalog.listDatabases()]:
        if database != "default":
            session.sql(f"DROP DATABASE `{database}` CASCADE")
    for name in ("default", "global_temp"):
        for table in catalog.listTables(name):
            kind = "TABLE" if table.tableType in ("MANAGED", "EXTERNAL") else "VIEW"
            session.sql(f"DROP {kind} IF EXISTS `{name}`.`{table.name}`")
    catalog.clearCache()


def join(home: Path, of: str) -> SparkSession | None:
    """A session in the JVM that is kept for this project; None when there is none, or it is busy or of other settings.

    Processes of Dagster live long, and would keep it from everybody else: they never join.
    """
    if "dagster" in sys.modules:
        return None
    place, connection, session = socket_place(home), socket.socket(socket.AF_UNIX), None
    try:
        if not place.exists() or not _is_ours_alone(place.parent):
            return None
        connection.settimeout(_PATIENCE)
        connection.connect(str(place))
        if not _is_own(connection) or not _say(connection, {"key": of}):
            return None
        answer = json.loads(_line(connection))
        if "port" not in answer:
            return None
        session = _session(answer["port"], answer["secret"])
    except (OSError, ValueError):
        return None
    finally:
        if session is None:
            connection.close()
    lent_by(connection)
    atexit.register(_give_back, connection)
    return session


def _give_back(connection: socket.socket) -> None:
    """Tell that the command is done. One that is interrupted does not get here."""
    with suppress(OSError), connection:
        connection.sendall(_DONE)


def _session(port: int, secret: str) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    names = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(names)
    try:
        gateway: Any = launch_gateway()
    finally:
        for name in names:
            del os.environ[name]
    jvm = gateway.jvm
    inner = jvm.org.apache.spark.SparkContext.getOrCreate()
    java: Any = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(inner)
    interrupted = signal.getsignal(signal.SIGINT)
    context: Any = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=inner.getConf()))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupted)  # not PySpark's, after which the command would say that it is done
    # Spark keeps Python workers by their environment: this one's are its own, as what they imported may have changed.
    context.environment["BACKFILL_COMMAND"] = uuid.uuid4().hex
    made: Any = SparkSession
    kept = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    return made(context, kept.newSession())


def _listening(place: Path) -> socket.socket:
    """A socket there. Raises StateError when another process listens on it, OSError where none can be."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.connect(str(place))
        raise StateError(
            "a session is kept for this project already",
            why="one is enough: commands use it one at a time",
            fix="go on; Ctrl-C in its terminal ends it",
        )
    with suppress(FileNotFoundError):
        place.unlink()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind(str(place))
        server.listen()
    except OSError:
        server.close()
        raise
    return server


def socket_place(home: Path) -> Path:
    """The socket's path: short, as the name of a socket must be, in a folder that only this account can enter."""
    name = hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:24]
    return Path(tempfile.gettempdir()) / f"backfill-{os.getuid()}" / f"{name}.sock"


def _is_ours_alone(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _is_own(connection: socket.socket) -> bool:
    """Whether the other side is a process of this account."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder is this account's alone
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid == os.getuid()


def _say(connection: socket.socket, message: Mapping[str, object]) -> bool:
    try:
        connection.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        return False
    return True


def _line(connection: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"\n") and len(found) < 10_000:
        if not (part := connection.recv(4096)):
            raise ConnectionResetError
        found += part
    return found
