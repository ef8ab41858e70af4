"""What is a session of a Spark Connect server? One with what the engine asks of a session and the client leaves out.

Imported only where a server is named: it needs gRPC, which the extra `connect` brings.
"""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import grpc
import pyspark.sql.connect.proto as proto
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession as ConnectSession

from backfill_assets.sql.binding import bound
from backfill_assets.sql.parsing import SqlError, splice
from backfill_assets.sql.text import quoted

_RETRIES = 5
"""Attempts at a call that the server did not answer: some ten seconds. The client's own default is ten minutes."""
_FIRST_RETRIES = 2
"""The same for the first call, where more likely than not there is no server."""
ANSWERS_WITHIN = 60.0
"""Seconds for a call that computes nothing: settings, interruptions, the end of a session."""
_COMPUTES = "/AnalyzePlan"
"""The call of one answer that may take longer: a plan is looked at, with the files that it reads."""
_PINGS = [
    ("grpc.keepalive_time_ms", 310_000),  # a server of gRPC for Java hangs up on who pings more often than every 300 s
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
]
"""A server that is paused, or behind a network that swallows packets, is noticed by a ping: without, a query waits for
ever. After that the client's attempts are made, and end."""
_KIND = "SPARK_CONNECT_MODE_ENABLED"
"""The variable that says to `pyspark.sql.functions` which kind of columns to make."""
_ASKED = "spark.sql.session.timeZone"
STAYS = 600.0
"""Seconds after which a session is asked for something, so that it stays: a server ends one that nobody used for an
hour, as that of a model is that waits for others."""


class RemoteSession(ConnectSession):
    """A session of its own on the server: settings and temporary views are seen by no other one.

    - Parameters of a query become literals: the server's parser drops them (delta-io/delta #7640).
    - What an environment shows are temporary views, which queries call by its name: the server's catalog, where others
      would see them, is left alone.
    """

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        """Raises PySparkException when there is no server, or it does not take a session."""
        channel: Any = DefaultChannelBuilder(url, _PINGS)
        channel.add_interceptor(AnswersSoon())
        super().__init__(connection=channel)
        self.url, self._settings = url, dict(settings)
        self.warehouses: set[str] = set()
        """Those that the server is known to see."""
        self._shown: dict[str, str] = {}
        self._others: list[RemoteSession] = []
        self._closing = threading.Lock()
        self.ended = threading.Event()
        self._client.set_retry_policies(_policies(_FIRST_RETRIES))
        # After the client's own, so before it: that one asks the server once more, and a channel that is closed as the
        # interpreter ends is waited for for ever.
        atexit.register(self.stop)
        pairs = [proto.KeyValue(key=name, value=value) for name, value in settings.items()]
        try:  # static ones are the server's: it warns of them, and what they are is looked at (server.py)
            self._client.config(proto.ConfigRequest.Operation(set=proto.ConfigRequest.Set(pairs=pairs, silent=True)))
        except BaseException:
            self.stop()
            raise
        self._client.set_retry_policies(_policies(_RETRIES))

    def newSession(self) -> RemoteSession:
        """Another session on the same server, which is closed with this one."""
        made = RemoteSession(self.url, self._settings)
        self._others.append(made)
        return made

    def sql(self, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:
        """As every session's, over the views that are shown here."""
        if self._shown:
            with suppress(SqlError):  # a command, or no SQL at all: Spark says what is wrong
                sqlQuery = splice(sqlQuery, self._shown)
        if isinstance(args, Mapping):
            sqlQuery, args = bound(sqlQuery, args), None
        return super().sql(sqlQuery, args, **kwargs)

    def table(self, tableName: str) -> Any:
        """As every session's, over the views that are shown here."""
        return super().table(self._shown.get(tableName.replace("`", "").lower(), tableName))

    def show(self, schema: str, name: str, query: str) -> None:
        """Let the session's queries read `query` as `schema.name`."""
        view = f"{schema}__{name}"
        super().sql(query).createOrReplaceTempView(view)
        self._shown[f"{schema}.{name}".lower()] = quoted(view)

    def stay(self) -> None:
        """Let the server know that the session, and those that it made, are wanted. What it answers tells others."""
        for session in (self, *self._others):
            with suppress(Exception):
                session.conf.get(_ASKED)

    def computed(self, frame: Any) -> Any:
        """The frame's rows, computed once and kept by the server while what is returned is."""
        active: Any = ConnectSession._active_session
        before = getattr(active, "session", None)
        active.session = self  # the client takes what comes back for the thread's active session's
        try:
            return frame.localCheckpoint()
        finally:
            active.session = before

    def answers(self) -> bool:
        """Whether the server is there, and knows the session still."""
        if self.is_stopped:
            return False
        try:
            self._client.set_retry_policies([])  # what is in doubt was tried often enough
            self.conf.get(_ASKED)
        except Exception:
            return False
        self._client.set_retry_policies(_policies(_RETRIES))
        return True

    def stop(self) -> None:
        """End the session, and those that it made: the server interrupts what it does for them. Nothing happens the
        second time. Of a server that does not answer, only the first is ended: it ends the others in an hour."""
        with self._closing:
            if self.ended.is_set():
                return
            self.ended.set()
            there = True
            for session in (*self._others, self):
                session._client.set_retry_policies([])
                session.release_session_on_close = False
                with suppress(Exception):
                    if there and not session.is_stopped:
                        there = False
                        session._client.release_session()
                        there = True
                ConnectSession.stop(session)
                atexit.unregister(session.stop)
            if self in _OPEN:
                os.environ.pop(_KIND, None)

    def __del__(self) -> None:
        """Nothing: the client's own closes the channel, in whatever thread collects garbage; `stop` does it before."""


def _policies(attempts: int) -> list[Any]:
    return [DefaultPolicy(max_retries=attempts, max_backoff=5000)]


class AnswersSoon(grpc.UnaryUnaryClientInterceptor):
    """Calls that compute nothing have a deadline."""

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        if client_call_details.timeout is None and not client_call_details.method.endswith(_COMPUTES):
            client_call_details = client_call_details._replace(timeout=ANSWERS_WITHIN)
        return continuation(client_call_details, request)


_OPEN: list[RemoteSession] = []
"""The process's session: one, or none yet."""


def remote_session(url: str, settings: Mapping[str, str]) -> RemoteSession:
    """Open the process's session. Raises PySparkException when there is no server, or it does not take one."""
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # an error says it
    session = RemoteSession(url, settings)
    try:
        session.range(1).collect()
    except PySparkException:
        session.stop()
        raise
    for old in _OPEN:  # it was let go of, or its server was started again
        old.stop()
    known: Any = ConnectSession
    known._set_default_and_active_session(session)
    _OPEN[:] = [session]
    os.environ[_KIND] = "1"
    threading.Thread(target=_stay, args=(session,), name="spark-connect-stays", daemon=True).start()
    return session


def _stay(session: RemoteSession) -> None:
    while not session.ended.wait(STAYS):
        session.stay()


def open_session() -> RemoteSession | None:
    """The process's session, where one was opened and not ended."""
    return next((session for session in _OPEN if not session.is_stopped), None)


def opened() -> RemoteSession | None:
    """The process's session, if it has one that is a server's, whether or not the server is still there."""
    return next((session for session in _OPEN if not session.ended.is_set()), None)
